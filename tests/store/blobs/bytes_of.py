"""Short ways to put bytes into a store and to get them back."""

import hashlib
from collections.abc import Iterable

from cableferry.store.blobs import Blobs, Found, Sink, Stored


async def put(blobs: Blobs, pieces: Iterable[bytes]) -> Stored:
    sink = blobs.sink()
    for piece in pieces:
        await sink.write(piece)
    stored = await sink.finish()
    sink.release()
    return stored


async def filled(sink: Sink, content: bytes, step: int = 1024 * 1024) -> Stored:
    for start in range(0, len(content), step):
        await sink.write(content[start : start + step])
    return await sink.finish()


async def get(blobs: Blobs, place: str, start: int, stop: int) -> bytes:
    return b"".join([piece async for piece in blobs.chunks(place, start, stop)])


async def places(blobs: Blobs) -> list[Found]:
    return [found async for found in blobs.places()]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def noise(size: int, seed: int = 1) -> bytes:
    return hashlib.shake_128(seed.to_bytes(8, "big")).digest(size)
