"""Bytes that clients exchange with the store of bytes itself: where they may put them, and what came of it.

Whoever holds an address may use it again until it expires. So what came is copied to a place that nobody has an
address of, the copy is hashed, and only the copy is attached.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from cableferry.core.access import Caller
from cableferry.core.artifacts import File
from cableferry.core.errors import Conflict, Invalid, Kind
from cableferry.core.uploads import Draft, Manner, Part, Upload, Whole
from cableferry.engine import files, reading, uploads
from cableferry.engine.reading import Depot
from cableferry.store import uploads as rows
from cableferry.store.blobs import Stored
from cableferry.store.failures import BlobFailure, BlobMissing
from cableferry.store.files import Piece
from cableferry.store.tx import Tx

PART_BYTES = 512 * 1024 * 1024
# of one request and of one copy, in every kind of object storage
MOST_PART_BYTES = 5 * 1024**3
MOST_PARTS = 10_000


class Address(msgspec.Struct, frozen=True):
    """Where a run of bytes goes, or comes from, until the address expires."""

    number: int
    offset: int
    size_bytes: int
    url: str


class Gathered(msgspec.Struct, frozen=True):
    """Copies of what clients brought, and what they add up to; nothing, if that was done before."""

    whole: Whole | None
    parts: tuple[Stored, ...] = ()


def is_possible(depot: Depot, seconds: int) -> bool:
    try:
        return seconds > 0 and depot.blobs.signed_url(depot.blobs.new_place(), seconds, "PUT") is not None
    except BlobFailure:
        return False


def planned(depot: Depot, size_bytes: int, part_bytes: int) -> list[Piece]:
    """New places for a file of this size."""
    if size_bytes > part_bytes * MOST_PARTS:
        raise Invalid(f"a file comes in {MOST_PARTS} parts at most: take larger ones", Kind.TOO_MANY_PARTS)
    starts = range(0, size_bytes, part_bytes)
    return [Piece(depot.blobs.new_place(), min(part_bytes, size_bytes - start)) for start in starts]


def begin(tx: Tx, artifact_id: str, draft: Draft, caller: Caller, plan: tuple[timedelta, Sequence[Piece]]) -> Upload:
    """Note which places are to be filled, so that nobody takes them for orphans."""
    lifetime, pieces = plan
    upload = uploads.create(tx, artifact_id, replace(draft, manner=Manner.DIRECT), caller, lifetime)
    for number, piece in enumerate(pieces, 1):
        rows.put_part(tx, upload, Part(number, piece.place, piece.size_bytes, "", tx.now))
    return upload


def addresses(depot: Depot, pieces: Sequence[Piece], seconds: int, method: str) -> list[Address]:
    """Refused where the store has none to give, or the settings say that it must not."""
    return list(_addresses(depot, pieces, seconds, method))


def _addresses(depot: Depot, pieces: Sequence[Piece], seconds: int, method: str) -> Iterator[Address]:
    offset = 0
    for number, piece in enumerate(pieces, 1):
        url = depot.blobs.signed_url(piece.place, seconds, method) if seconds else None
        if url is None:
            raise Conflict("bytes come and go by this server only: use the file's own address", Kind.NOT_DIRECT)
        yield Address(number, offset, piece.size_bytes, url)
        offset += piece.size_bytes


def expected(depot: Depot, upload_id: str, caller: Caller) -> tuple[Upload, list[Piece]]:
    """A direct upload, and the places that its client is to fill."""
    upload, parts = depot.store.read(lambda tx: _seen(tx, upload_id, caller))
    return upload, [Piece(part.place, part.size_bytes) for part in parts]


def gather(depot: Depot, upload_id: str, caller: Caller) -> Gathered:
    """Copy and hash what is there; slow, and so outside any transaction."""
    upload, pieces = expected(depot, upload_id, caller)
    if upload.completed_at is not None:
        return Gathered(None)
    sha256 = hashlib.sha256()
    stored = tuple(_sealed(depot, number, piece, sha256.update) for number, piece in enumerate(pieces, 1))
    size = sum(piece.size_bytes for piece in pieces)
    return Gathered(Whole(upload.revision, sha256.hexdigest(), size), stored)


def complete(tx: Tx, upload_id: str, gathered: Gathered, caller: Caller) -> File:
    """Attach the copies; done before, it gives the same file."""
    upload = uploads.get(tx, upload_id, caller)
    if gathered.whole is None:
        return files.get(tx, upload.artifact_id, upload.path).file
    for number, stored in enumerate(gathered.parts, 1):
        upload = uploads.put_part(tx, upload_id, number, stored, caller)
    return uploads.complete(tx, upload_id, replace(gathered.whole, revision=upload.revision), caller)


def artifact_of(tx: Tx, upload_id: str, caller: Caller) -> str:
    return uploads.get(tx, upload_id, caller).artifact_id


def _seen(tx: Tx, upload_id: str, caller: Caller) -> tuple[Upload, list[Part]]:
    upload = uploads.get(tx, upload_id, caller)
    if upload.manner is not Manner.DIRECT:
        raise Conflict(f"upload {upload_id} comes by this server: go on with it there", Kind.NOT_DIRECT)
    return upload, uploads.parts(tx, upload)


def _sealed(depot: Depot, number: int, piece: Piece, update: Callable[[bytes], object]) -> Stored:
    try:
        place, size = depot.blobs.seal(piece.place)
    except BlobMissing:
        raise Invalid(f"part {number} is not here: put it at its address first", Kind.UNKNOWN_PART) from None
    if size != piece.size_bytes:
        raise Invalid(
            f"part {number} is to have {piece.size_bytes} bytes and has {size}: put it again", Kind.INCONSISTENT_LENGTH
        )
    own = hashlib.sha256()
    for chunk in reading.chunks(depot.blobs, place, size):
        own.update(chunk)
        update(chunk)
    return Stored(place, own.hexdigest(), size)
