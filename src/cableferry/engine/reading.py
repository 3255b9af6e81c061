"""The bytes of stored files, read in the calling thread and outside any transaction."""

from collections.abc import Iterator
from itertools import accumulate

import msgspec

from cableferry.core.artifacts import File
from cableferry.engine.outside import Looking
from cableferry.store import files as rows
from cableferry.store.blobs import Blobs
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.tx import Store

# without settings for it, no other place is looked at
NOWHERE = Looking(Elsewhere({}))
SCHEMA_LIMIT = 256 * 1024 * 1024
_CHUNK = 4 * 1024 * 1024


class Depot(msgspec.Struct, frozen=True):
    """The store of bytes, with the database that knows what lies where."""

    store: Store
    blobs: Blobs
    posix_roots: tuple[str, ...] = ()
    looking: Looking = NOWHERE
    schema_limit_bytes: int = SCHEMA_LIMIT


def chunks(blobs: Blobs, place: str, size_bytes: int) -> Iterator[bytes]:
    """What lies in one place, in pieces of bounded size."""
    for start in range(0, size_bytes, _CHUNK):
        yield blobs.read(place, start, min(start + _CHUNK, size_bytes))


class StoredFile:
    """A file over all of its pieces."""

    def __init__(self, depot: Depot, file: File) -> None:
        key = file.blob_key
        self._blobs = depot.blobs
        self._pieces = () if key is None else depot.store.read(lambda tx: rows.pieces(tx, key))

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`."""
        return b"".join(self._parts(start, stop))

    def chunks(self) -> Iterator[bytes]:
        """All of it, in pieces of bounded size."""
        for piece in self._pieces:
            yield from chunks(self._blobs, piece.place, piece.size_bytes)

    def _parts(self, start: int, stop: int) -> Iterator[bytes]:
        ends = accumulate(piece.size_bytes for piece in self._pieces)
        for piece, end in zip(self._pieces, ends, strict=True):
            begin = end - piece.size_bytes
            first, last = max(start, begin), min(stop, end)
            if first < last:
                yield self._blobs.read(piece.place, first - begin, last - begin)
