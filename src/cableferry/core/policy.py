"""How long a job may stay where it is, and what happens when it stays longer."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from cableferry.core.jobs import Cause, Job, State
from cableferry.core.machine import Machine


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
    """Limits by profile, by processor and for all; the job's own timeout comes before them."""

    default: Limits
    profiles: Mapping[str, Limits] = {}
    processors: Mapping[str, Limits] = {}
    grace_seconds: float = 60
    most_attempts: int = 5


class Rules(msgspec.Struct, frozen=True):
    """What one contract's jobs may do, as its server is configured."""

    pool: str
    moves: Machine[State]
    timeouts: Timeouts
    words: Mapping[State, str]
    session_ttl: timedelta = timedelta(seconds=90)
    worker_silence: timedelta = timedelta(seconds=300)
    ends_running_on_delete: bool = True


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


def limit(job: Job, state: State, timeouts: Timeouts) -> float | None:
    """How many seconds a job may be silent in a state: by profile, then processor, then for all."""
    field = _FIELDS.get(state)
    if field is None:
        return None
    values: list[float | None] = [getattr(limits, field) for limits in _wider(job, timeouts)]
    return next((value for value in values if value is not None), None)


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
    if job.state is State.CLAIMED:
        return _unsubmitted(job, timeouts)
    missing = "not started by" if job.state is State.SUBMITTED else "no report from"
    seconds = limit(job, job.state, timeouts) or 0
    return Verdict(State.FAILED, Cause.SILENT, f"timeout: {missing} worker {job.worker} within {seconds:g}s")


def _unsubmitted(job: Job, timeouts: Timeouts) -> Verdict:
    seconds = limit(job, job.state, timeouts) or 0
    detail = f"timeout: worker {job.worker} did not submit within {seconds:g}s of its claim"
    choices = (limits.after_claimed for limits in _wider(job, timeouts))
    match next((choice for choice in choices if choice is not None), Stalled.FAIL):
        case Stalled.PENDING if job.attempt < timeouts.most_attempts:
            return Verdict(None, None, detail)
        case Stalled.PENDING:
            return Verdict(State.FAILED, Cause.NOT_SUBMITTED, f"{detail}, nor in {job.attempt - 1} attempts before")
        case Stalled.CANCEL:
            return Verdict(State.CANCELLED, None, detail)
        case Stalled.FAIL:
            return Verdict(State.FAILED, Cause.NOT_SUBMITTED, detail)
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
