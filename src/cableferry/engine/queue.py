"""Which ready jobs come next, for a page of a list and for a worker that wants work."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import merge

import msgspec

from cableferry.core import workers
from cableferry.core.jobs import Filter, Job, State
from cableferry.core.paging import Page
from cableferry.core.policy import Rules
from cableferry.core.workers import Lane, Load, Offer, Worker
from cableferry.store import jobs as rows
from cableferry.store import lanes
from cableferry.store.lanes import Tally
from cableferry.store.tx import Row, Tx


class Listing(msgspec.Struct, frozen=True):
    """One page of jobs and how many there are in all."""

    jobs: list[Job]
    total: int


def find(tx: Tx, pool: str, wanted: Filter, page: Page) -> Listing:
    """A page of jobs: ready ones in the order of claiming, others by age."""
    total = _count(tx, pool, wanted)
    if page.offset >= total:
        return Listing([], total)  # without a search among all the jobs of other kinds
    page_of = _ready_page if wanted.state is State.READY else lanes.page
    return Listing(rows.by_keys(tx, page_of(tx, pool, wanted, page)), total)


def find_with_own(tx: Tx, pool: str, wanted: Filter, worker: str) -> Listing:
    """The first page, and behind it what else the worker holds, which is younger: it may know of no other page."""
    first = find(tx, pool, wanted, Page())
    shown = {job.id for job in first.jobs}
    missing = [job.id for job in rows.held_by(tx, worker) if job.state is wanted.state and job.id not in shown]
    own = rows.find_many(tx, missing).values() if missing else ()
    asked = [job for job in sorted(own, key=lambda job: job.key) if _is_asked_for(job, pool, wanted)]
    return Listing([*first.jobs, *asked], first.total)


def claimable(tx: Tx, rules: Rules, worker: Worker, most: int) -> list[Job]:
    """Up to `most` ready jobs the worker offers and has room for, by priority, then age; kept from other claims."""
    loads = loads_of(tx, worker)
    offers = [offer for offer in worker.offers if workers.room(offer, loads) != 0]
    keepers = (lanes.NOBODY, worker.id) if rules.has_preferences else (lanes.NOBODY,)
    heads = [
        (lane, lanes.lane_head_locked(tx, rules.pool, lane, most, kept_for))
        for lane in _offered(tx, rules.pool, offers)
        for kept_for in keepers
    ]
    return rows.by_keys(tx, _fitting(heads, worker, loads, most))


def loads_of(tx: Tx, worker: Worker) -> list[Load]:
    """What the worker holds, as far as it bounds what more it takes; an unbounded worker's jobs are not counted."""
    is_bounded = any(offer.max_concurrent_jobs is not None for offer in worker.offers)
    return rows.loads(tx, worker.id) if is_bounded else []


def tallies(tx: Tx, pool: str, processor: str | None, profile: str | None) -> list[Tally]:
    """How many jobs there are in each state, of these kinds."""
    counted = lanes.tallies(tx, pool)
    return [t for t in counted if processor in (None, t.processor) and profile in (None, t.profile)]


def _fitting(
    heads: Iterable[tuple[Lane, Sequence[Row]]], worker: Worker, loads: Sequence[Load], most: int
) -> list[int]:
    """Keys of the first jobs, in order, for which the worker has room."""
    taken: list[int] = []
    held = {(load.processor, load.profile): load.count for load in loads}
    for _, key, lane in merge(*([(-priority, key, lane) for key, priority in head] for lane, head in heads)):
        if len(taken) == most:
            break
        if _has_room(worker, held, lane):
            taken.append(key)
            held = workers.loads_after(held, lane)
    return taken


def _has_room(worker: Worker, held: Mapping[Lane, int], lane: Lane) -> bool:
    loads = [Load(processor, profile, count) for (processor, profile), count in held.items()]
    offers = (offer for offer in worker.offers if workers.fits(offer, *lane))
    return any(workers.room(offer, loads) != 0 for offer in offers)


def _is_asked_for(job: Job, pool: str, wanted: Filter) -> bool:
    lane = (wanted.processor in (None, job.processor), wanted.profile in (None, job.profile))
    return job.pool == pool and all(lane)


def _offered(tx: Tx, pool: str, offers: Sequence[Offer]) -> list[Lane]:
    """The lanes these offers may claim from; only an open offer needs to know which lanes there are."""
    ready = _ready_lanes(tx, pool) if any(map(workers.is_open, offers)) else []
    found: dict[Lane, None] = {}
    for offer in offers:
        if workers.is_open(offer):
            found.update((lane, None) for lane in ready if workers.fits(offer, *lane))
        else:
            found.update({(offer.processor, offer.profile): None, (offer.processor, None): None})
    return list(found)


def _ready_lanes(tx: Tx, pool: str) -> list[Lane]:
    return [(t.processor, t.profile) for t in lanes.tallies(tx, pool) if t.state is State.READY]


def _ready_page(tx: Tx, pool: str, wanted: Filter, page: Page) -> list[int]:
    """Keys of ready jobs in the order of claiming; a job without a profile is ready for every profile."""
    if wanted.processor is None:
        return lanes.queue_page(tx, pool, wanted.profile, page)
    if wanted.profile is None:
        chosen = [lane for lane in _ready_lanes(tx, pool) if lane[0] == wanted.processor]
    else:
        chosen = [(wanted.processor, wanted.profile), (wanted.processor, None)]
    if len(chosen) <= 2:
        return lanes.page_of_two(tx, pool, chosen, page)
    end = page.offset + page.limit
    return _in_order([lanes.lane_head(tx, pool, lane, end) for lane in chosen])[page.offset : end]


def _in_order(heads: Iterable[Sequence[Row]]) -> list[int]:
    """Keys of several lanes as one queue: by priority, then age."""
    queues = [[(-priority, key) for key, priority in head] for head in heads]
    return [key for _, key in merge(*queues)]


def _count(tx: Tx, pool: str, wanted: Filter) -> int:
    return sum(tally.jobs for tally in lanes.tallies(tx, pool) if _counts(tally, wanted))


def _counts(tally: lanes.Tally, wanted: Filter) -> bool:
    if wanted.state not in (None, tally.state) or wanted.processor not in (None, tally.processor):
        return False
    takes_unprofiled = wanted.state is State.READY and wanted.processor is not None
    return wanted.profile in (None, tally.profile) or (takes_unprofiled and tally.profile is None)
