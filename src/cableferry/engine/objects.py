"""What S3's clients can do with the files of open artifacts: see what is to be replaced, copy, remove."""

from msgspec.structs import replace

from cableferry.core.access import Caller
from cableferry.core.artifacts import Description, File
from cableferry.core.buckets import Bucket, Key
from cableferry.core.errors import Conflict, Kind
from cableferry.engine import artifacts as owners
from cableferry.engine import buckets, files
from cableferry.store import artifacts as owner_rows
from cableferry.store import files as rows
from cableferry.store.files import Blob
from cableferry.store.tx import Tx


def current(tx: Tx, key: Key) -> File | None:
    """The file that a write to this key would replace."""
    return rows.get(tx, owners.get(tx, key.head).key, key.path)


def lock(tx: Tx, key: Key) -> File | None:
    """The same, with its artifact locked, so that what is decided by it still holds when it is written."""
    return rows.get(tx, owners.lock(tx, key.head).key, key.path)


def copy(tx: Tx, source: tuple[Bucket, Key], target: Key, said: Description | None, caller: Caller) -> File:
    """Let a path of an open artifact have the bytes of a stored file; without a word of its own it says the same."""
    file, _ = buckets.get(tx, *source)
    told = said or Description(target.path, file.role, file.content_type, file.headers)
    # no places: the bytes have theirs, and those given with bytes that are known are given up
    blob = Blob(file.sha256 or "", file.size_bytes or 0, (), file.etag)
    copied = files.attach(tx, target.head, replace(told, path=target.path), blob, caller)
    if copied.blob_key != file.blob_key:
        raise Conflict(f"the file {source[1].text[:200]} was removed meanwhile", Kind.CHANGED_MEANWHILE)
    return copied


def describe(tx: Tx, file: File, etag: str, headers: str | None) -> File:
    """Let S3's clients know a file by this, and get these headers back with it."""
    return rows.put(tx, replace(file, etag=etag, headers=headers))


def remove(tx: Tx, key: Key, caller: Caller) -> None:
    """Remove a file before the commit; one that is not there needs nothing."""
    artifact = owner_rows.get(tx, key.head)
    if artifact is not None and rows.get(tx, artifact.key, key.path) is not None:
        files.remove(tx, key.head, key.path, caller)
