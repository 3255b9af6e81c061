"""The truth beside the hints: a slow look at a shared database for what no news came of."""

import asyncio
from collections.abc import Collection

import msgspec
import structlog

from cableferry.core.jobs import State
from cableferry.server.live import READY, Live
from cableferry.store import jobs, lanes
from cableferry.store.failures import StoreFailure
from cableferry.store.tx import News, Store, Tx

log = structlog.get_logger()

SECONDS = 2.0
_JOB = "job:"


class Glance(msgspec.Struct, frozen=True):
    """Which lanes have ready jobs, and the revisions of the jobs that somebody waits for."""

    ready: list[str]
    revisions: dict[str, int]


async def watch(store: Store, live: Live, pools: Collection[str]) -> None:
    """Look every other second while somebody waits, until cancelled."""
    known: dict[str, int] = {}
    while True:
        await asyncio.sleep(SECONDS)
        if live.count:
            known = await _look(store, live, pools, known)


async def _look(store: Store, live: Live, pools: Collection[str], known: dict[str, int]) -> dict[str, int]:
    wanted = [key.removeprefix(_JOB) for key in live.waited_for() if key.startswith(_JOB)]
    try:
        seen = await store.aread(lambda tx: glance(tx, pools, wanted))
    except StoreFailure as failure:
        log.warning("look at the database failed", detail=str(failure))
        return known
    live.tell([News(READY, lane, f"lane {lane}") for lane in seen.ready])
    live.tell([News("job", job) for job in wanted if job not in known or seen.revisions.get(job) != known[job]])
    return seen.revisions


def glance(tx: Tx, pools: Collection[str], wanted: Collection[str]) -> Glance:
    ready = [(pool, tally) for pool in pools for tally in lanes.tallies(tx, pool) if tally.state is State.READY]
    found = jobs.find_many(tx, wanted) if wanted else {}
    return Glance(
        [f"{pool}/{tally.processor}/{tally.profile or ''}" for pool, tally in ready],
        {job.id: job.revision for job in found.values()},
    )
