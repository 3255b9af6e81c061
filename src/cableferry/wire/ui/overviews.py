"""All that goes on at a glance, in the words of the protocol."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from cableferry.wire.emx2.words import WORDS


class Queue(msgspec.Struct, frozen=True):
    """How many jobs of one processor wait and since when the oldest does, are with a worker, and have ended."""

    processor: str
    pending: int
    held: int
    ended: int
    oldest_at: datetime | None


class Point(msgspec.Struct, frozen=True):
    """How many jobs were in each status at a moment."""

    at: datetime
    counts: Mapping[str, int]


class TrafficPoint(msgspec.Struct, frozen=True):
    """How many bytes of files came and went in one step of time."""

    at: datetime
    received: int
    sent: int


class SweepItem(msgspec.Struct, frozen=True):
    """What the process that answers did by itself: when last, how long it took, how much it did then and in all."""

    name: str
    ran_at: datetime
    took_seconds: float
    did: int
    runs: int
    did_in_all: int
    failed_at: datetime | None


class OverviewBody(msgspec.Struct, frozen=True):
    """`history` has a point for every `step_seconds` in which the server lived; `causes` are those of late failures."""

    now: datetime
    counts: Mapping[str, int]
    queues: Sequence[Queue]
    oldest_pending_at: datetime | None
    workers_alive: int
    workers_silent: int
    causes: Mapping[str, int]
    artifacts: int
    artifact_bytes: int
    blobs: int
    blob_bytes: int
    database_bytes: int
    history: Sequence[Point]
    step_seconds: int
    traffic: Sequence[TrafficPoint]
    sweeps: Sequence[SweepItem]


def empty_counts() -> dict[str, int]:
    return dict.fromkeys(WORDS.values(), 0)


def points(told: Sequence[tuple[datetime, str, int]]) -> list[Point]:
    """(moment, status, jobs) in the order of time, joined to one point for each moment."""
    found: defaultdict[datetime, dict[str, int]] = defaultdict(empty_counts)
    for at, word, jobs in told:
        found[at][word] = jobs
    return [Point(at, counts) for at, counts in found.items()]
