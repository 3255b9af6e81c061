"""Workers as our own pages show them: who is alive, how much of what each offers is in use, and why jobs wait."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from cableferry.core import workers
from cableferry.core.explain import Fact
from cableferry.core.workers import Load, Offer, Worker


class OfferItem(msgspec.Struct, frozen=True):
    """What a worker says it can run; `used` are the jobs that it holds of that, and no `slots` means no limit."""

    processor: str
    profile: str | None
    slots: int | None
    used: int


class SessionItem(msgspec.Struct, frozen=True):
    """The daemon that is the worker now."""

    id: str
    host: str | None
    pid: int | None
    started_at: datetime | None
    seen_at: datetime | None


class WorkerItem(msgspec.Struct, frozen=True):
    """A worker; `agent` is what its program calls itself, `trouble` what hinders it, as it says itself."""

    worker_id: str
    hostname: str | None
    is_alive: bool
    registered_at: datetime
    heard_at: datetime
    session: SessionItem | None
    offers: list[OfferItem]
    holds: int
    agent: str | None
    clock_ahead_seconds: float | None
    trouble: str | None
    drained_at: datetime | None
    drained_by: str | None


class Crew(msgspec.Struct, frozen=True):
    """Every worker; `pending` are the jobs that wait for one, and `why` says why nothing runs when none is alive."""

    items: list[WorkerItem]
    count: int
    alive: int
    pending: int
    why: str | None


class Ended(msgspec.Struct, frozen=True):
    """How many jobs of a worker ended in each step of time, the latest step last."""

    worker_id: str
    completed: Sequence[int]
    failed: Sequence[int]


class Throughput(msgspec.Struct, frozen=True):
    """What every worker brought to an end lately; `since` is where the first step begins."""

    items: Sequence[Ended]
    since: datetime
    step_seconds: int


class QueueItem(msgspec.Struct, frozen=True):
    """Jobs of one kind that wait; the job that comes next stands for them all."""

    processor: str
    profile: str | None
    jobs: int
    oldest_at: datetime
    next_job_id: str
    code: str
    sentence: str
    facts: Mapping[str, Fact]


class WaitingList(msgspec.Struct, frozen=True):
    """Why what waits does not run, the fullest queues first; `why` says it when that is so for all of them."""

    items: Sequence[QueueItem]
    pending: int
    why: str | None


def item(value: Worker, loads: Collection[Load], *, is_alive: bool) -> WorkerItem:
    return WorkerItem(
        worker_id=value.id, hostname=value.hostname, is_alive=is_alive,
        registered_at=value.registered_at, heard_at=value.seen_at, session=_session(value),
        offers=[_offer(each, loads) for each in value.offers], holds=sum(load.count for load in loads),
        agent=value.signs.agent, clock_ahead_seconds=_seconds(value.signs.clock_ahead), trouble=value.signs.trouble,
        drained_at=value.drained_at, drained_by=value.drained_by,
    )  # fmt: skip


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else round(span.total_seconds(), 1)


def _session(value: Worker) -> SessionItem | None:
    known = value.session
    return (
        None if known is None else SessionItem(known.id, known.host, known.pid, known.started_at, value.session_seen_at)
    )


def _offer(offer: Offer, loads: Collection[Load]) -> OfferItem:
    used = sum(load.count for load in loads if workers.fits(offer, load.processor, load.profile))
    return OfferItem(offer.processor, offer.profile, offer.max_concurrent_jobs, used)
