"""Why what waits does not run: lane by lane, by the job of each that comes next."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from cableferry.core.explain import Explanation
from cableferry.core.jobs import Job, State, Waiting
from cableferry.core.policy import Rules
from cableferry.engine import explain
from cableferry.store import jobs, lanes, workers
from cableferry.store.lanes import Tally
from cableferry.store.tx import Tx

MOST_LANES = 50


class Queue(msgspec.Struct, frozen=True):
    """A lane in which jobs wait: how many, since when the oldest does, which comes next, and why it waits."""

    processor: str
    profile: str | None
    jobs: int
    oldest_at: datetime
    next: Job
    why: Explanation


def longest(tx: Tx, rules: Rules) -> list[Tally]:
    """The lanes in which jobs wait, the fullest first."""
    ready = [tally for tally in lanes.tallies(tx, rules.pool) if tally.state is State.READY and tally.jobs > 0]
    return sorted(ready, key=lambda tally: (-tally.jobs, tally.processor, tally.profile or ""))


def queues(tx: Tx, rules: Rules, waiting_in: Callable[[Job], Waiting]) -> Sequence[Queue]:
    """The fullest lanes, each with why its next job waits."""
    known = workers.of_pool(tx, rules.pool)
    found: list[Queue] = []
    for tally in longest(tx, rules)[:MOST_LANES]:
        for job in _next(tx, rules, tally):
            why = explain.of(tx, rules, job, known, waiting_in)
            found.append(Queue(tally.processor, tally.profile, tally.jobs, since(tx, rules, tally, job), job, why))
    return found


def since(tx: Tx, rules: Rules, tally: Tally, next: Job) -> datetime:
    """Since when the oldest job of a lane waits; of one whose jobs are all kept for workers, the next."""
    return lanes.oldest_of(tx, rules.pool, (tally.processor, tally.profile)) or next.created_at


def _next(tx: Tx, rules: Rules, tally: Tally) -> list[Job]:
    """None, when it was taken since it was counted."""
    key = lanes.first(tx, rules.pool, (tally.processor, tally.profile))
    return jobs.by_keys(tx, [key]) if key is not None else []
