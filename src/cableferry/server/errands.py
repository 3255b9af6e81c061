"""Collections that the server makes by itself and what it says of them, and the traffic that it notes."""

import structlog

from cableferry.engine import collecting, overviews
from cableferry.engine.collecting import Collected, Keeping
from cableferry.engine.reading import Depot
from cableferry.server.background import Errand
from cableferry.server.metrics import Metrics
from cableferry.store.tx import Store

log = structlog.get_logger()

TRAFFIC_SECONDS = 5


def collection(depot: Depot, keeping: Keeping, minutes: float) -> Errand:
    async def collect() -> int:
        done = await collecting.collect(depot, keeping)
        _tell(done)
        return len(done.due) + done.blobs + done.places_removed + done.orphans

    return Errand("collection", minutes * 60, collect)


def traffic(store: Store, numbers: Metrics) -> Errand:
    noted = numbers.traffic

    async def note() -> int:
        nonlocal noted
        now = numbers.traffic
        received, sent = now.received - noted.received, now.sent - noted.sent
        if received or sent:
            await store.awrite(lambda tx: overviews.count_traffic(tx, received, sent))
            noted = now
        return received + sent

    return Errand("traffic", TRAFFIC_SECONDS, note)


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
