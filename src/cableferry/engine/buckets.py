"""What S3's clients can look at: the keys of a bucket, and the file behind a key."""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from cableferry.core import buckets
from cableferry.core.artifacts import File
from cableferry.core.buckets import Bucket, Contents, Key, Shown, Wanted
from cableferry.core.errors import Kind, NotFound
from cableferry.store import buckets as rows
from cableferry.store import files
from cableferry.store.files import Piece
from cableferry.store.tx import Tx

_HEADS_AT_ONCE = 100


def contents(tx: Tx, bucket: Bucket, wanted: Wanted) -> Contents:
    """One page of keys; artifacts alone, when their files are folded anyway."""
    if wanted.delimiter == "/" and "/" not in wanted.prefix:
        found = rows.heads(tx, bucket, wanted.prefix, _head_behind(wanted.after), wanted.most + 1)
        return buckets.page([head for head, _ in found], wanted.most)
    return buckets.collect(partial(_keys, tx, bucket, wanted.prefix), wanted)


def get(tx: Tx, bucket: Bucket, key: Key) -> tuple[File, tuple[Piece, ...]]:
    """The file behind a key, and where its bytes are."""
    artifact = rows.artifact(tx, bucket, key.head)
    file = None if artifact is None else files.get(tx, artifact, key.path)
    if file is None or file.blob_key is None:
        raise NotFound(f"there is no file {key.text[:200]} in the bucket {bucket}", Kind.UNKNOWN_FILE)
    return file, files.pieces(tx, file.blob_key)


def _keys(tx: Tx, bucket: Bucket, prefix: str, after: str, limit: int) -> list[Shown]:
    """Some keys that begin with the prefix and come behind `after`."""
    head, slash, rest = prefix.partition("/")
    if slash:
        return _of_one(tx, bucket, Key(head, rest), after, limit)
    return list(islice(_of_many(tx, bucket, prefix, after, limit), limit))


def _of_one(tx: Tx, bucket: Bucket, prefix: Key, after: str, limit: int) -> list[Shown]:
    artifact, head = rows.artifact(tx, bucket, prefix.head), f"{prefix.head}/"
    if artifact is None or after > head + buckets.END:
        return []
    return rows.files(tx, artifact, prefix, after.removeprefix(head) if after.startswith(head) else "", limit)


def _of_many(tx: Tx, bucket: Bucket, prefix: str, after: str, limit: int) -> Iterator[Shown]:
    head, slash, path = after.partition("/")
    begun = rows.artifact(tx, bucket, head) if slash and head.startswith(prefix) else None
    if begun is not None:
        yield from rows.files(tx, begun, Key(head, ""), path, limit)
    place = _head_behind(after)
    while heads := rows.heads(tx, bucket, prefix, place, _HEADS_AT_ONCE):
        for each, artifact in heads:
            yield from rows.files(tx, artifact, Key(each.removesuffix("/"), ""), "", limit)
        place = heads[-1][0]


def _head_behind(after: str) -> str:
    """Behind which head the next one is to be looked for."""
    head, slash, _ = after.partition("/")
    return head + slash
