"""What the server does by itself, again and again."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

import msgspec
import structlog

from cableferry.core.policy import Rules
from cableferry.engine import sweeps
from cableferry.server.metrics import Metrics
from cableferry.store.tx import Store, Tx

log = structlog.get_logger()

JITTER = 0.2


class Sweep(msgspec.Struct, frozen=True):
    """One use case of the engine and how often it runs; it is safe in several processes at once."""

    name: str
    seconds: float
    run: Callable[[Tx], object]


def roll_call(rules: Rules, sweep_seconds: float) -> tuple[Sweep, ...]:
    # a gap of a few missed beats is a busy server, a longer one is a server that was down
    tolerance = timedelta(seconds=max(15.0, 4 * sweep_seconds))
    return (
        Sweep("stalled", sweep_seconds, partial(sweeps.resolve_stalled, rules=rules, tolerance=tolerance)),
        Sweep("purge", 60, sweeps.purge),
        Sweep("tallies", 5, sweeps.fold_tallies),
    )


async def run(sweeps: Sequence[Sweep], store: Store, metrics: Metrics) -> None:
    """Run every sweep until cancelled."""
    async with asyncio.TaskGroup() as group:
        for sweep in sweeps:
            group.create_task(_repeat(sweep, store, metrics))


async def _repeat(sweep: Sweep, store: Store, metrics: Metrics) -> None:
    while True:
        await _once(sweep, store, metrics)
        await asyncio.sleep(sweep.seconds * (1 - JITTER + 2 * JITTER * random.random()))  # noqa: S311  # no secret


async def _once(sweep: Sweep, store: Store, metrics: Metrics) -> None:
    """One that fails is tried again when its time comes."""
    try:
        await store.awrite(sweep.run)
    except Exception:
        log.exception("sweep failed", sweep=sweep.name)
        metrics.swept(sweep.name, "failed")
    else:
        metrics.swept(sweep.name, "done")
