"""Artifacts whose files have real bytes behind them."""

import asyncio
import hashlib

from cableferry.core.artifacts import Artifact, Description, Role
from cableferry.engine import files
from cableferry.engine.reading import Depot
from cableferry.store.files import Blob, Piece
from tests.engine.world import MANAGER, World


def bring(
    world: World, depot: Depot, artifact: Artifact, path: str, *contents: bytes, role: Role | None = None
) -> None:
    """A file whose bytes lie in one place each."""
    pieces = tuple(Piece(asyncio.run(stored(depot, content)), len(content)) for content in contents)
    whole = b"".join(contents)
    blob = Blob(sha256(whole), len(whole), pieces)
    world.write(files.attach, artifact.id, Description(path, role), blob, MANAGER)


async def stored(depot: Depot, content: bytes) -> str:
    sink = depot.blobs.sink()
    await sink.write(content)
    place = (await sink.finish()).place
    sink.release()
    return place


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
