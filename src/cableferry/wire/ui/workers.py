"""Workers as our own pages show them: who is alive, and how much of what each offers is in use."""

from collections.abc import Collection
from datetime import datetime

import msgspec

from cableferry.core import workers
from cableferry.core.workers import Load, Offer, Worker


class OfferItem(msgspec.Struct, frozen=True):
    """What a worker says it can run; `used` are the jobs that it holds of that, and no `slots` means no limit."""

    processor: str
    profile: str | None
    slots: int | None
    used: int


class SessionItem(msgspec.Struct, frozen=True):
    """The daemon that is the worker now."""

    host: str | None
    pid: int | None
    started_at: datetime | None
    seen_at: datetime | None


class WorkerItem(msgspec.Struct, frozen=True):
    worker_id: str
    hostname: str | None
    is_alive: bool
    registered_at: datetime
    heard_at: datetime
    session: SessionItem | None
    offers: list[OfferItem]
    holds: int


class Crew(msgspec.Struct, frozen=True):
    """Every worker; `pending` are the jobs that wait for one, and `why` says why nothing runs when none is alive."""

    items: list[WorkerItem]
    count: int
    alive: int
    pending: int
    why: str | None


def item(value: Worker, loads: Collection[Load], *, is_alive: bool) -> WorkerItem:
    return WorkerItem(
        worker_id=value.id, hostname=value.hostname, is_alive=is_alive,
        registered_at=value.registered_at, heard_at=value.seen_at, session=_session(value),
        offers=[_offer(each, loads) for each in value.offers], holds=sum(load.count for load in loads),
    )  # fmt: skip


def _session(value: Worker) -> SessionItem | None:
    known = value.session
    return None if known is None else SessionItem(known.host, known.pid, known.started_at, value.session_seen_at)


def _offer(offer: Offer, loads: Collection[Load]) -> OfferItem:
    used = sum(load.count for load in loads if workers.fits(offer, load.processor, load.profile))
    return OfferItem(offer.processor, offer.profile, offer.max_concurrent_jobs, used)
