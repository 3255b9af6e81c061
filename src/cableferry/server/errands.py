"""Collections that the server makes by itself, and what it says of them."""

import structlog

from cableferry.engine import collecting
from cableferry.engine.collecting import Collected, Keeping
from cableferry.engine.reading import Depot
from cableferry.server.background import Errand

log = structlog.get_logger()


def collection(depot: Depot, keeping: Keeping, minutes: float) -> Errand:
    async def collect() -> None:
        _tell(await collecting.collect(depot, keeping))

    return Errand("collection", minutes * 60, collect)


def _tell(done: Collected) -> None:
    for due in done.due:
        log.info("artifact kept no longer", artifact=due.artifact.id, became=due.becomes, reason=due.reason)
    if done.due or done.blobs or done.places_removed or done.orphans:
        log.info(
            "bytes collected",
            blobs=done.blobs,
            bytes=done.blob_bytes,
            places=done.places_removed,
            orphans=done.orphans,
            waiting=done.places_waiting,
        )
