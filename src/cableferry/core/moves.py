"""What a job becomes: each function takes a job as it is and gives the change as a value."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from cableferry.core import policy
from cableferry.core.jobs import FINAL, Cause, Job, Payload, State, Transition
from cableferry.core.policy import Timeouts


class Change(msgspec.Struct, frozen=True, gc=False):
    """A job before and after, and the row of its history that says so."""

    before: Job
    after: Job
    transition: Transition


_STAMPS = {State.CLAIMED: "claimed_at", State.SUBMITTED: "submitted_at", State.RUNNING: "started_at"}


def claimed(job: Job, worker: str, actor: str, timeouts: Timeouts, now: datetime) -> Change:
    """The job under a new lease; the raised epoch fences off every earlier holder."""
    ends = policy.ends_by(job, timeouts, now)
    after = replace(
        job,
        state=State.CLAIMED,
        epoch=job.epoch + 1,
        revision=job.revision + 1,
        worker=worker,
        moved_at=now,
        touched_at=now,
        claimed_at=now,
        ends_by=ends,
        due_at=policy.due_at(job, State.CLAIMED, timeouts, now, ends),
    )
    return _change(job, after, Payload(worker=worker, detail=f"Claimed by worker {worker}"), None, actor)


def moved(
    job: Job, state: State, payload: Payload, cause: Cause | None, actor: str | None, timeouts: Timeouts, now: datetime
) -> Change:
    """The job in its next state, with what the report said."""
    times = {"ended_at": now} if state in FINAL else {_STAMPS[state]: now} if state in _STAMPS else {}
    ends = None if state in FINAL else job.ends_by
    after = replace(
        job,
        state=state,
        cause=cause,
        revision=job.revision + 1,
        moved_at=now,
        touched_at=now,
        ends_by=ends,
        due_at=policy.due_at(job, state, timeouts, now, ends),
        **_said(payload),
        **times,
    )
    return _change(job, after, payload, cause, actor)


def noted(job: Job, payload: Payload, actor: str | None, timeouts: Timeouts, now: datetime) -> Change:
    """The job where it was, with what its worker said of it and a new time of silence."""
    after = replace(
        job,
        revision=job.revision + 1,
        touched_at=now,
        due_at=policy.due_at(job, job.state, timeouts, now, job.ends_by),
        **_said(payload),
    )
    return _change(job, after, payload, None, actor)


def reopened(job: Job, detail: str, actor: str | None, now: datetime) -> Change:
    """The job back in the queue as its next attempt, nobody holding it."""
    after = replace(
        job,
        state=State.READY,
        cause=None,
        wish=None,
        attempt=job.attempt + 1,
        epoch=job.epoch + 1,
        revision=job.revision + 1,
        worker=None,
        slurm_job_id=None,
        detail=detail,
        phase=None,
        message=None,
        progress=None,
        moved_at=now,
        touched_at=now,
        claimed_at=None,
        submitted_at=None,
        started_at=None,
        ended_at=None,
        due_at=None,
        ends_by=None,
    )
    return _change(job, after, Payload(worker=job.worker, detail=detail), None, actor)


def _said(payload: Payload) -> dict[str, str | float]:
    """What a report leaves on the job: all it says, but never another worker."""
    said = {name: getattr(payload, name) for name in _SAYABLE}
    return {name: value for name, value in said.items() if value is not None}


_SAYABLE = ("detail", "slurm_job_id", "output_artifact_id", "log_artifact_id", "phase", "message", "progress")


def _change(before: Job, after: Job, payload: Payload, cause: Cause | None, actor: str | None) -> Change:
    transition = Transition(
        before.key,
        after.revision,
        after.attempt,
        after.epoch,
        before.state,
        after.state,
        cause,
        actor,
        after.touched_at,
        payload,
    )
    return Change(before, after, transition)
