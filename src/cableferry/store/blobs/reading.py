"""Bytes out of a store: in pieces of bounded size, the next one fetched while one is used."""

import hashlib
from collections.abc import AsyncIterator, Callable

from cableferry.store.blobs import Stored
from cableferry.store.blobs.threads import Threads

Read = Callable[[int, int], bytes]


async def ahead(threads: Threads, read: Read, span: tuple[int, int], step: int) -> AsyncIterator[bytes]:
    """What `read` gives from the start up to the stop."""
    start, stop = span
    coming = threads.wait(read, start, min(start + step, stop))
    while start < stop:
        piece = await coming
        start += len(piece)
        if start < stop:
            coming = threads.wait(read, start, min(start + step, stop))
        yield piece


async def measured(threads: Threads, place: str, chunks: AsyncIterator[bytes]) -> Stored:
    sha256 = hashlib.sha256()
    size_bytes = 0
    async for piece in chunks:
        await threads.compute(sha256.update, piece)
        size_bytes += len(piece)
    return Stored(place, sha256.hexdigest(), size_bytes)
