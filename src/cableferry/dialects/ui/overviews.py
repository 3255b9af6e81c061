"""What operators look at first."""

from collections import Counter
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core.access import Need
from cableferry.core.jobs import FINAL, HELD, State
from cableferry.dialects import contracts
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.engine import overviews
from cableferry.engine.overviews import Overview
from cableferry.store.tx import Tx
from cableferry.wire.emx2.words import WORDS
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import overviews as wire

_HELD, _ENDED = frozenset(HELD), frozenset(FINAL)


class OverviewQuery(msgspec.Struct, frozen=True):
    """How far the history goes back, and of which contract's jobs."""

    hours: Annotated[int, Meta(ge=1, le=168)] = 24
    contract: contracts.Name | None = None


def get(tx: Tx, call: Call) -> wire.OverviewBody:
    rules = contracts.chosen(desk(call).contracts, call.query.contract)
    found = overviews.overview(tx, rules, timedelta(hours=call.query.hours))
    counts = Counter[str]()
    for tally in found.tallies:
        counts[WORDS[tally.state]] += tally.jobs
    kept = found.kept
    return wire.OverviewBody(
        now=tx.now,
        counts=wire.empty_counts() | counts,
        queues=_queues(found),
        oldest_pending_at=found.oldest_ready,
        workers_alive=found.alive,
        workers_silent=found.silent,
        causes={cause or "unknown": jobs for cause, jobs in found.causes.items()},
        artifacts=kept.artifacts,
        artifact_bytes=kept.artifact_bytes,
        blobs=kept.blobs,
        blob_bytes=kept.blob_bytes,
        database_bytes=kept.database_bytes,
        history=wire.points([(each.at, WORDS[each.state], each.jobs) for each in found.history]),
        step_seconds=int(found.step.total_seconds()),
        traffic=[wire.TrafficPoint(each.at, each.received, each.sent) for each in found.traffic],
        sweeps=desk(call).sweeps(),
    )


def _queues(of: Overview) -> list[wire.Queue]:
    """By processor, the longest queue first."""
    kinds = {State.READY: "pending"} | dict.fromkeys(_HELD, "held") | dict.fromkeys(_ENDED, "ended")
    found: dict[str, Counter[str]] = {}
    for tally in of.tallies:
        found.setdefault(tally.processor, Counter())[kinds.get(tally.state, "")] += tally.jobs
    queues = [
        wire.Queue(name, jobs["pending"], jobs["held"], jobs["ended"], of.oldest.get(name))
        for name, jobs in found.items()
    ]
    return sorted(queues, key=lambda queue: (-queue.pending, -queue.held, queue.processor))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/overview", get, Need.READ, "Show what waits and runs, and how that went lately",
        answer=wire.OverviewBody, query=OverviewQuery, needs_protocol_headers=False,
    ),
)  # fmt: skip
