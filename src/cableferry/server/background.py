"""What the server does by itself, again and again."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

import msgspec
import structlog

from cableferry.core.policy import Rules
from cableferry.engine import overviews, sweeps
from cableferry.server.metrics import Metrics
from cableferry.store.tx import Store, Tx

T = TypeVar("T")

log = structlog.get_logger()

JITTER = 0.2
# often enough that no minute goes by without one
SAMPLE_SECONDS = 25
# more than one run ever does
ONE_PORTION = 1000


class Sweep(msgspec.Struct, frozen=True):
    """One use case of the engine and how often it runs; it is safe in several processes at once.

    It does at most a portion in one transaction, and says how much it did.
    """

    name: str
    seconds: float
    run: Callable[[Tx], int]
    portion: int


def roll_call(pools: Sequence[Rules], sweep_seconds: float) -> tuple[Sweep, ...]:
    # a gap of a few missed beats is a busy server, a longer one is a server that was down
    tolerance = timedelta(seconds=max(15.0, 4 * sweep_seconds))
    stalled = [partial(sweeps.resolve_stalled, rules=rules, tolerance=tolerance) for rules in pools]
    offline = [
        partial(sweeps.resolve_offline, rules=rules, tolerance=tolerance) for rules in pools if rules.offline_after
    ]
    sampled = [partial(overviews.sample, rules=rules) for rules in pools]
    return (
        *(Sweep("samples", SAMPLE_SECONDS, each, ONE_PORTION) for each in sampled),
        *(Sweep("stalled", sweep_seconds, each, sweeps.RESOLVED_AT_ONCE) for each in stalled),
        *(Sweep("offline", sweep_seconds, each, sweeps.RESOLVED_AT_ONCE) for each in offline),
        Sweep("purge", 60, sweeps.purge, sweeps.FORGOTTEN_AT_ONCE),
        Sweep("uploads", 60, sweeps.expire_uploads, sweeps.UPLOADS_AT_ONCE),
        Sweep("tallies", 1, sweeps.fold_tallies, sweeps.FOLDED_AT_ONCE),
    )


class Errand(msgspec.Struct, frozen=True):
    """Work of several transactions, with slow things between them; it too is safe in several processes at once."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]


async def run(sweeps: Sequence[Sweep], store: Store, metrics: Metrics, errands: Sequence[Errand] = ()) -> None:
    """Run every sweep and every errand until cancelled."""
    async with asyncio.TaskGroup() as group:
        for sweep in sweeps:
            group.create_task(_repeat(sweep, store, metrics))
        for errand in errands:
            group.create_task(_go(errand, metrics))


async def _repeat(sweep: Sweep, store: Store, metrics: Metrics) -> None:
    while True:
        while await _once(sweep, store, metrics) >= sweep.portion:
            pass  # a whole portion: there is more than one transaction should do
        await asyncio.sleep(sweep.seconds * (1 - JITTER + 2 * JITTER * random.random()))  # noqa: S311  # no secret


async def _go(errand: Errand, metrics: Metrics) -> None:
    """The first time at any moment of its period: servers that start together do not go together."""
    await asyncio.sleep(errand.seconds * random.random())  # noqa: S311  # no secret
    while True:
        await _tried(errand.name, errand.run(), metrics)
        await asyncio.sleep(errand.seconds)


async def _once(sweep: Sweep, store: Store, metrics: Metrics) -> int:
    """How much was done."""
    return await _tried(sweep.name, store.awrite(sweep.run), metrics) or 0


async def _tried(name: str, work: Awaitable[T], metrics: Metrics) -> T | None:
    """What it gave; one that fails is tried again when its time comes."""
    started = time.perf_counter()
    try:
        done = await work
    except Exception:
        log.exception("sweep failed", sweep=name)
        metrics.swept(name, "failed", time.perf_counter() - started)
        return None
    metrics.swept(name, "done", time.perf_counter() - started, done if isinstance(done, int) else 0)
    return done
