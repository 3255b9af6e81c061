"""What can be done with the files of an artifact: bring, declare, look at, remove."""

import msgspec
from msgspec.structs import replace

from cableferry.core import access, artifacts, contents
from cableferry.core.access import Caller
from cableferry.core.artifacts import Artifact, Declared, Description, File
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.paging import Page
from cableferry.engine import artifacts as owners
from cableferry.engine import ids
from cableferry.store import files as rows
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Tx


class Listing(msgspec.Struct, frozen=True):
    """One page of a list, and how many files the whole list has."""

    files: list[File]
    total: int


class Stored(msgspec.Struct, frozen=True):
    """A file with the places of its bytes."""

    artifact: Artifact
    file: File
    pieces: tuple[Piece, ...]


def check_open(tx: Tx, artifact_id: str, caller: Caller) -> Artifact:
    """Whether bytes may come at all, asked where the path is not known yet."""
    artifact = owners.get(tx, artifact_id)
    access.check_own(caller, artifact)
    artifacts.check_takes_bytes(artifact)
    return artifact


def check_takes(tx: Tx, artifact_id: str, path: str, caller: Caller) -> Artifact:
    """Whether bytes may come under this path, asked before the first one is read."""
    artifact = check_open(tx, artifact_id, caller)
    contents.check_path(path)
    return artifact


def attach(tx: Tx, artifact_id: str, said: Description, blob: Blob, caller: Caller) -> File:
    """Make durable bytes the content of a path, instead of what was there before."""
    artifact = owners.lock(tx, artifact_id)
    access.check_own(caller, artifact)
    artifacts.check_takes_bytes(artifact)
    return attach_blob(tx, artifact, said, blob, rows.keep_blob(tx, blob))


def attach_blob(tx: Tx, artifact: Artifact, said: Description, blob: Blob, blob_key: int) -> File:
    """Make a blob the content of a path in a locked artifact that takes bytes."""
    file = _new(tx, artifact, said)
    file = replace(file, sha256=blob.sha256, size_bytes=blob.size_bytes, blob_key=blob_key, etag=blob.etag)
    return _put(tx, artifact, file)


def declare(tx: Tx, artifact_id: str, said: Description, content: Declared, caller: Caller) -> File:
    """Note a file whose bytes lie elsewhere, or are still to come."""
    artifact = owners.lock(tx, artifact_id)
    access.check_own(caller, artifact)
    artifacts.check_open(artifact)
    file = _new(tx, artifact, said)
    sha256 = None if content.sha256 is None else contents.spelled(content.sha256)
    return _put(tx, artifact, replace(file, sha256=sha256, size_bytes=content.size_bytes))


def get(tx: Tx, artifact_id: str, path: str) -> Stored:
    """A file and where its bytes are; without bytes there are no pieces."""
    artifact = owners.get(tx, artifact_id)
    file = rows.get(tx, artifact.key, path)
    if file is None:
        raise _missing(artifact_id, path)
    pieces = () if file.blob_key is None else rows.pieces(tx, file.blob_key)
    return Stored(artifact, file, pieces)


def find(tx: Tx, artifact_id: str, prefix: str, page: Page) -> Listing:
    artifact = owners.get(tx, artifact_id)
    return Listing(rows.page(tx, artifact.key, prefix, page), rows.count(tx, artifact.key, prefix))


def all_of(tx: Tx, artifact_id: str) -> list[File]:
    return rows.of_artifact(tx, owners.get(tx, artifact_id).key)


def remove(tx: Tx, artifact_id: str, path: str, caller: Caller) -> None:
    artifact = owners.lock(tx, artifact_id)
    access.check_own(caller, artifact)
    artifacts.check_open(artifact)
    file = rows.get(tx, artifact.key, path)
    if file is None:
        raise _missing(artifact_id, path)
    rows.delete(tx, file)
    owners.save(tx, artifact, artifacts.touched(artifact, tx.now))


def no_content(file: File, artifact_id: str) -> NotFound:
    return NotFound(
        f"file {file.path[:200]} of artifact {artifact_id} has no content here: it was declared, not uploaded",
        Kind.NO_CONTENT,
    )


def _new(tx: Tx, artifact: Artifact, said: Description) -> File:
    contents.check_path(said.path)
    if artifact.revision > artifacts.MOST_FILES and rows.count(tx, artifact.key) >= artifacts.MOST_FILES:
        raise Conflict(
            f"artifact {artifact.id} holds {artifacts.MOST_FILES} files already: pack them, or use several artifacts",
            Kind.TOO_MANY_FILES,
        )
    return rows.new(artifact.key, ids.new(tx.now), said, artifact.revision + 1, tx.now)


def _put(tx: Tx, artifact: Artifact, file: File) -> File:
    owners.save(tx, artifact, artifacts.touched(artifact, tx.now))
    return rows.put(tx, file)


def _missing(artifact_id: str, path: str) -> NotFound:
    return NotFound(f"artifact {artifact_id[:64]} has no file {path[:200]}", Kind.UNKNOWN_FILE)
