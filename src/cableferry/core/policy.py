"""How long a job may stay where it is, and what happens when it stays longer."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from cableferry.core.jobs import Cause, Job, Preference, State, Wish
from cableferry.core.machine import Machine
from cableferry.core.workers import Offer


class Stalled(StrEnum):
    """What becomes of a claimed job that was not submitted in time."""

    FAIL = "fail"
    CANCEL = "cancel"
    PENDING = "pending"


class Limits(msgspec.Struct, frozen=True):
    """Seconds a job may be silent in each state; None leaves the question to the next wider rule."""

    claimed_seconds: float | None = None
    submitted_seconds: float | None = None
    started_seconds: float | None = None
    after_claimed: Stalled | None = None


class Timeouts(msgspec.Struct, frozen=True):
    """Limits by profile, by processor and for all; the job's own timeout comes before them.

    `unheard_seconds` is how long the first word of a claimed job may take, where that is less.
    """

    default: Limits
    profiles: Mapping[str, Limits] = {}
    processors: Mapping[str, Limits] = {}
    grace_seconds: float = 60
    most_attempts: int = 5
    unheard_seconds: float | None = None


class Repeats(StrEnum):
    """Which report counts as one that was made before: the very same one, or whatever says where the job is."""

    OF_REPORT = "of-report"
    OF_STATE = "of-state"


Word = Callable[[State, Wish | None, Cause | None], str]
"""How a contract spells where a job is."""


class Rules(msgspec.Struct, frozen=True):
    """What one contract's jobs may do, as its server is configured.

    `stopping` are the moves of a job that somebody wishes to stop, where those are others; `skipped` says
    which state a report may leave out. `offers` is what every worker offers, where workers say nothing of it.
    """

    pool: str
    moves: Machine[State]
    timeouts: Timeouts
    word: Word
    session_ttl: timedelta = timedelta(seconds=90)
    worker_silence: timedelta = timedelta(seconds=300)
    ends_running_on_delete: bool = True
    stopping: Machine[State] | None = None
    skipped: Mapping[tuple[State, State], State] = {}
    repeats: Repeats = Repeats.OF_REPORT
    offers: tuple[Offer, ...] = ()
    offline_after: timedelta | None = None
    has_preferences: bool = False
    preference_grace: timedelta = timedelta(0)
    is_projected: bool = False

    def moves_of(self, job: Job) -> Machine[State]:
        return self.stopping if self.stopping and job.wish is Wish.STOP else self.moves

    def forbids_going_on(self, job: Job) -> bool:
        """Whether a worker may not even say that the job goes on as it was."""
        return self.stopping is not None and job.wish is Wish.STOP


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a waiting job stands: whom it prefers, for whom alone it is kept, and until when without a pin."""

    preference: Preference | None = None
    kept_for: str | None = None
    due_at: datetime | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What the sweep does with an overdue job; no state means back to the queue."""

    state: State | None
    cause: Cause | None
    detail: str


_FIELDS = {
    State.CLAIMED: "claimed_seconds",
    State.SUBMITTED: "submitted_seconds",
    State.RUNNING: "started_seconds",
    State.SUSPECT: "started_seconds",
}


def ends_by(job: Job, timeouts: Timeouts, now: datetime) -> datetime | None:
    """When a job claimed now has used up its own timeout, its daemon having had time to say so first."""
    if job.timeout_seconds is None:
        return None
    grace = min(max(job.timeout_seconds / 10, 5), timeouts.grace_seconds)
    return now + timedelta(seconds=job.timeout_seconds + grace)


def due_at(job: Job, state: State, timeouts: Timeouts, now: datetime, ends: datetime | None) -> datetime | None:
    """When the sweep must look at a job that is heard of now, None for never."""
    seconds = limit(job, state, timeouts)
    silent = None if seconds is None else now + timedelta(seconds=seconds)
    known = [moment for moment in (silent, ends if state in _FIELDS else None) if moment is not None]
    return min(known, default=None)


def first_due_at(job: Job, timeouts: Timeouts, now: datetime, ends: datetime | None) -> datetime | None:
    """When the sweep must look at a job that is claimed now: its worker's first word may be due earlier."""
    due = due_at(job, State.CLAIMED, timeouts, now, ends)
    if timeouts.unheard_seconds is None:
        return due
    first = now + timedelta(seconds=timeouts.unheard_seconds)
    return first if due is None else min(first, due)


def limit(job: Job, state: State, timeouts: Timeouts) -> float | None:
    """How many seconds a job may be silent in a state: by profile, then processor, then for all."""
    field = _FIELDS.get(state)
    if field is None:
        return None
    values: list[float | None] = [getattr(limits, field) for limits in _wider(job, timeouts)]
    return next((value for value in values if value is not None), None)


def place(preference: Preference | None, grace: timedelta, now: datetime) -> Place:
    """Where a job stands that begins to wait now: a pin holds for good, a preference for the grace."""
    match preference:
        case None:
            return Place()
        case Preference(is_pinned=True):
            return Place(preference, preference.worker)
        case _ if grace:
            return Place(preference, preference.worker, now + grace)
        case _:
            return Place(preference)


def has_waited(job: Job, now: datetime) -> bool:
    """Whether a waiting job was kept for its preferred worker long enough."""
    return job.state is State.READY and job.due_at is not None and job.due_at <= now


def next_preference(job: Job, rules: Rules) -> Preference | None:
    """Whom a job prefers that comes back to the queue by itself: whom it did, or who had it last."""
    if job.preference is not None or not rules.has_preferences or job.worker is None:
        return job.preference
    return Preference(job.worker)


def stalled(job: Job, timeouts: Timeouts, now: datetime) -> Verdict | None:
    """What to do with a job at its due time, None if it is not overdue."""
    if job.due_at is None or job.due_at > now or not job.is_held:
        return None
    if job.ends_by is not None and job.ends_by <= now:
        return Verdict(
            State.FAILED,
            Cause.TIMEOUT,
            f"timeout: job timeout_seconds ({job.timeout_seconds}s) exceeded since its claim",
        )
    if job.state is State.CLAIMED and job.wish is not Wish.STOP:
        return _unsubmitted(job, timeouts)
    missing = "not started by" if job.state is State.SUBMITTED else "no report from"
    seconds = limit(job, job.state, timeouts) or 0
    return Verdict(State.FAILED, Cause.SILENT, f"timeout: {missing} worker {job.worker} within {seconds:g}s")


def abandoned(job: Job, timeouts: Timeouts) -> Verdict:
    """What to do with a held job whose worker has not been heard of for too long, whatever it said of the job."""
    detail = f"offline: worker {job.worker} was not heard of for too long"
    if job.state is State.CLAIMED and job.wish is not Wish.STOP:
        return _given_up(job, timeouts, detail, Cause.OFFLINE)
    return Verdict(State.FAILED, Cause.OFFLINE, detail)


def _unsubmitted(job: Job, timeouts: Timeouts) -> Verdict:
    first = timeouts.unheard_seconds if job.touched_at == job.claimed_at else None
    seconds = min((known for known in (limit(job, State.CLAIMED, timeouts), first) if known is not None), default=0)
    detail = f"timeout: worker {job.worker} did not submit within {seconds:g}s of its claim"
    return _given_up(job, timeouts, detail, Cause.NOT_SUBMITTED)


def _given_up(job: Job, timeouts: Timeouts, detail: str, cause: Cause) -> Verdict:
    """What becomes of a job that was claimed and never got further."""
    choices = (limits.after_claimed for limits in _wider(job, timeouts))
    match next((choice for choice in choices if choice is not None), Stalled.FAIL):
        case Stalled.PENDING if job.attempt < timeouts.most_attempts:
            return Verdict(None, None, detail)
        case Stalled.PENDING:
            return Verdict(State.FAILED, cause, f"{detail}, nor in {job.attempt - 1} attempts before")
        case Stalled.CANCEL:
            return Verdict(State.CANCELLED, None, detail)
        case Stalled.FAIL:
            return Verdict(State.FAILED, cause, detail)
        case never:
            assert_never(never)


def _wider(job: Job, timeouts: Timeouts) -> tuple[Limits, ...]:
    """The rules that apply to a job, the narrowest first."""
    rules = (
        timeouts.profiles.get(job.profile or ""),
        timeouts.processors.get(job.processor),
        timeouts.default,
    )
    return tuple(limits for limits in rules if limits is not None)
