"""A process that puts one stream after the other into a folder until it is killed: `writing FOLDER SEED`."""

import asyncio
import random
import sys
from pathlib import Path

from cableferry.store.blobs.local import LocalBlobs
from tests.store.blobs.bytes_of import filled, noise

LARGEST = 6_000_000


async def _write(folder: Path, chance: random.Random) -> None:
    blobs = LocalBlobs(folder)
    await asyncio.gather(*(_stream(blobs, chance) for _ in range(4)))


async def _stream(blobs: LocalBlobs, chance: random.Random) -> None:
    while True:
        size = chance.choice((chance.randrange(5000), chance.randrange(LARGEST)))
        sink = blobs.sink()
        stored = await filled(sink, noise(size, chance.randrange(2**60)), 256 * 1024)
        sink.release()
        print(stored.place, stored.size_bytes, flush=True)  # noqa: T201  # how the parent hears of it


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), random.Random(sys.argv[2])))
