"""All of a pool at a glance: what waits and runs, since when, on whom, and how that went lately."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from cableferry.core import workers
from cableferry.core.jobs import State
from cableferry.core.policy import Rules
from cableferry.engine import waiting
from cableferry.store import lanes, samples
from cableferry.store import workers as registered
from cableferry.store.lanes import Tally
from cableferry.store.samples import Kept, Sample, Traffic
from cableferry.store.tx import Tx

SAMPLES_KEPT = timedelta(days=8)
LATEST_FAILURES = 500
# about how many points a chart has
POINTS = 150
_STEPS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 30, 60, 120))


class Overview(msgspec.Struct, frozen=True):
    """What there is at this moment, and what there was."""

    tallies: Sequence[Tally]
    oldest_ready: datetime | None
    alive: int
    silent: int
    causes: Mapping[str | None, int]
    kept: Kept
    history: Sequence[Sample]
    step: timedelta
    traffic: Sequence[Traffic]
    oldest: Mapping[str, datetime]


def overview(tx: Tx, rules: Rules, span: timedelta) -> Overview:
    known = registered.of_pool(tx, rules.pool)
    alive = sum(workers.is_alive(worker, tx.now, rules.worker_silence) for worker in known)
    earlier, step = history(tx, rules, span)
    return Overview(
        tallies=lanes.tallies(tx, rules.pool),
        oldest_ready=lanes.oldest_ready(tx, rules.pool),
        alive=alive,
        silent=len(known) - alive,
        causes=samples.causes(tx, rules.pool, LATEST_FAILURES),
        kept=samples.kept(tx),
        history=earlier,
        step=step,
        traffic=samples.traffic(tx, tx.now - span, step),
        oldest=_oldest(tx, rules),
    )


def history(tx: Tx, rules: Rules, span: timedelta) -> tuple[Sequence[Sample], timedelta]:
    """How many jobs there were in each state, and how far apart in time these numbers are."""
    step = step_of(span)
    return samples.since(tx, rules.pool, tx.now - span, step), step


def _oldest(tx: Tx, rules: Rules) -> dict[str, datetime]:
    """Since when the oldest job of each processor waits, of those with the longest queues."""
    found: dict[str, datetime] = {}
    for tally in waiting.longest(tx, rules)[: waiting.MOST_LANES]:
        since = lanes.oldest_of(tx, rules.pool, (tally.processor, tally.profile))
        if since is not None:
            found[tally.processor] = min(since, found.get(tally.processor, since))
    return found


def count_traffic(tx: Tx, received: int, sent: int) -> None:
    """Note how many bytes of files came and went."""
    samples.count_traffic(tx, received, sent)
    samples.forget_traffic(tx, tx.now - SAMPLES_KEPT)


def step_of(span: timedelta) -> timedelta:
    """How far apart the points of a chart are."""
    return next((step for step in _STEPS if span / step <= POINTS), _STEPS[-1])


def sample(tx: Tx, rules: Rules) -> int:
    """Note how many jobs there are in each state; twice in one minute is once."""
    counts = Counter[State]()
    for tally in lanes.tallies(tx, rules.pool):
        counts[tally.state] += tally.jobs
    samples.forget(tx, rules.pool, tx.now - SAMPLES_KEPT)
    return samples.add(tx, rules.pool, counts) if counts else 0
