"""What a worker is, what it offers, and whether a job fits it."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import UNSET, UnsetType

from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import Job, State

WILDCARDS = frozenset({"*", "any"})

Lane = tuple[str, str | None]
"""The jobs of one (processor, profile)."""


class Offer(msgspec.Struct, frozen=True, gc=False):
    """A (processor, profile) a worker says it can run, and how many of them at once.

    `parameters_schema` is a JSON schema for people who fill in a form; nothing here looks into it.
    """

    processor: str
    profile: str | None = None
    max_concurrent_jobs: int | None = None
    parameters_schema: msgspec.Raw | UnsetType = UNSET


class Session(msgspec.Struct, frozen=True, gc=False):
    """One boot of one daemon; at most one session of a worker lives at a time."""

    id: str
    host: str | None = None
    pid: int | None = None
    started_at: datetime | None = None


class Signs(msgspec.Struct, frozen=True, gc=False):
    """What a worker's requests tell besides what they ask: its program, its clock, and what hinders it."""

    agent: str | None = None
    clock_ahead: timedelta | None = None
    trouble: str | None = None


NO_SIGNS = Signs()


class Worker(msgspec.Struct, frozen=True):
    """A registered claimant; one that is drained since some moment keeps its jobs and takes no more."""

    id: str
    pool: str
    hostname: str | None
    offers: tuple[Offer, ...]
    registered_at: datetime
    seen_at: datetime
    session: Session | None = None
    session_seen_at: datetime | None = None
    info: msgspec.Raw | None = None
    signs: Signs = NO_SIGNS
    drained_at: datetime | None = None
    drained_by: str | None = None


class Registration(msgspec.Struct, frozen=True):
    """What a worker says of itself."""

    id: str
    hostname: str | None = None
    offers: tuple[Offer, ...] = ()
    session: Session | None = None
    signs: Signs = NO_SIGNS


class Speaker(msgspec.Struct, frozen=True, gc=False):
    """The worker a request speaks for, its daemon's session if it keeps one, and who says so.

    `remarks` go with every job that it claims.
    """

    worker: str
    session: str | None
    actor: str
    remarks: msgspec.Raw | None = None
    signs: Signs = NO_SIGNS


class Load(msgspec.Struct, frozen=True, gc=False):
    """How many jobs of one (processor, profile) a worker holds."""

    processor: str
    profile: str | None
    count: int


def fits(offer: Offer, processor: str, profile: str | None) -> bool:
    """Whether the offer covers a job; a job without a profile fits every profile of its processor."""
    if offer.processor != processor and offer.processor not in WILDCARDS:
        return False
    return profile is None or offer.profile is None or offer.profile == profile or offer.profile in WILDCARDS


def is_open(offer: Offer) -> bool:
    """Whether the offer covers lanes it does not name."""
    return offer.processor in WILDCARDS or offer.profile is None or offer.profile in WILDCARDS


def room(offer: Offer, loads: Collection[Load]) -> int | None:
    """How many more jobs the offer takes, None for no limit."""
    if offer.max_concurrent_jobs is None:
        return None
    held = sum(load.count for load in loads if fits(offer, load.processor, load.profile))
    return max(0, offer.max_concurrent_jobs - held)


def check_claim(job: Job, worker: Worker, loads: Collection[Load]) -> None:
    """Refuse a claim the worker did not offer or has no room for."""
    offers = [offer for offer in worker.offers if fits(offer, job.processor, job.profile)]
    if not offers:
        raise Conflict(
            f"worker {worker.id} does not have a registered capability for processor {job.processor}"
            f" and profile {job.profile or '(none)'}: register it, or leave job {job.id} to another worker",
            Kind.NOT_OFFERED,
        )
    if all(room(offer, loads) == 0 for offer in offers):
        raise Conflict(
            f"worker {worker.id} has reached its max_concurrent_jobs limit for processor {job.processor}:"
            " finish a job or register a higher limit",
            Kind.NO_ROOM,
        )


def check_drained(worker: Worker) -> None:
    """Refuse a claim of a worker that is to take no more jobs."""
    if worker.drained_at is not None:
        raise Conflict(
            f"worker {worker.id} is being drained by {worker.drained_by}: it takes jobs again when somebody lets it",
            Kind.DRAINED,
        )


def check_ready(job: Job) -> None:
    """Refuse to hand out a job that is not waiting."""
    if job.state is State.READY:
        return
    kind = Kind.ALREADY_ENDED if job.is_final else Kind.ALREADY_CLAIMED
    holder = f" by {job.worker}" if job.worker and not job.is_final else ""
    word = "over" if job.is_final else f"already claimed{holder}"
    raise Conflict(f"job {job.id} is {word}", kind, current_state=job.state, holder=job.worker)


def is_alive(worker: Worker, now: datetime, silence: timedelta) -> bool:
    return now - worker.seen_at <= silence


def check_pool(worker: Worker, pool: str) -> None:
    """Refuse a worker that belongs to another contract: one name is one worker, whoever uses it."""
    if worker.pool != pool:
        raise Conflict(
            f"there is a worker {worker.id} already, which claims from pool {worker.pool}: take another name",
            Kind.NAME_TAKEN,
        )


def check_session(worker: Worker, session: str | None) -> None:
    """Refuse a daemon whose session another daemon has taken over; callers without a session pass."""
    if session is None or worker.session is None or worker.session.id == session:
        return
    raise Conflict(
        f"session {session} of worker {worker.id} was taken over by {_holder(worker.session)}:"
        " stop claiming and submitting",
        Kind.SESSION_REVOKED,
        holder=worker.session.host,
    )


def check_takeover(worker: Worker, session: Session, now: datetime, ttl: timedelta) -> None:
    """Refuse a second daemon while the first one's session lives; say who holds it and until when."""
    if worker.session is None or worker.session.id == session.id or worker.session_seen_at is None:
        return
    free_at = worker.session_seen_at + ttl
    if now >= free_at:
        return
    raise Conflict(
        f"worker {worker.id} is in use by {_holder(worker.session)}, last seen {worker.session_seen_at:%FT%TZ};"
        f" it can be taken over at {free_at:%FT%TZ} if it stays silent",
        Kind.SESSION_CONFLICT,
        holder=_holder(worker.session),
        last_seen_at=worker.session_seen_at.isoformat(),
        takeover_at=free_at.isoformat(),
    )


def _holder(session: Session) -> str:
    host = session.host or "an unnamed host"
    return f"{host} (pid {session.pid})" if session.pid is not None else host


def loads_after(loads: Mapping[Lane, int], lane: Lane) -> dict[Lane, int]:
    """The loads once the worker holds one more job of this lane."""
    return {**loads, lane: loads.get(lane, 0) + 1}
