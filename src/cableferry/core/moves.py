"""What a job becomes: each function takes a job as it is and gives the change as a value."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from cableferry.core import policy
from cableferry.core.jobs import FINAL, Job, Payload, Report, State, Transition, Wish
from cableferry.core.policy import Place, Timeouts
from cableferry.core.workers import Speaker


class Change(msgspec.Struct, frozen=True, gc=False):
    """A job before and after, and the row of its history that says so."""

    before: Job
    after: Job
    transition: Transition


_STAMPS = {State.CLAIMED: "claimed_at", State.SUBMITTED: "submitted_at", State.RUNNING: "started_at"}


def claimed(job: Job, speaker: Speaker, timeouts: Timeouts, now: datetime) -> Change:
    """The job under a new lease; the raised epoch fences off every earlier holder."""
    ends = policy.ends_by(job, timeouts, now)
    after = replace(
        job,
        state=State.CLAIMED,
        epoch=job.epoch + 1,
        revision=job.revision + 1,
        worker=speaker.worker,
        moved_at=now,
        touched_at=now,
        claimed_at=now,
        ends_by=ends,
        due_at=policy.first_due_at(job, timeouts, now, ends),
        kept_for=job.kept_for if job.preference and job.preference.is_pinned else None,
        remarks=merged(job.remarks, speaker.remarks),
    )
    payload = Payload(worker=speaker.worker, detail=f"Claimed by worker {speaker.worker}")
    return _change(job, after, Report(job.id, after.state, payload, speaker.actor))


def moved(job: Job, report: Report, timeouts: Timeouts, now: datetime) -> Change:
    """The job in its next state, with what the report said."""
    state = report.state
    times = {"ended_at": now} if state in FINAL else {_STAMPS[state]: now} if state in _STAMPS else {}
    ends = None if state in FINAL else job.ends_by
    after = replace(
        job,
        state=state,
        cause=report.cause,
        revision=job.revision + 1,
        moved_at=now,
        touched_at=now,
        ends_by=ends,
        due_at=policy.due_at(job, state, timeouts, now, ends),
        **_said(report.payload),
        **_remarked(job, report.payload),
        **times,
    )
    return _change(job, after, report)


def noted(job: Job, report: Report, timeouts: Timeouts, now: datetime) -> Change:
    """The job where it was, with what its worker said of it and a new time of silence."""
    after = replace(
        job,
        wish=report.wish or job.wish,
        revision=job.revision + 1,
        touched_at=now,
        due_at=policy.due_at(job, job.state, timeouts, now, job.ends_by),
        **_said(report.payload),
        **_remarked(job, report.payload),
    )
    return _change(job, after, report)


def renewed(job: Job, timeouts: Timeouts, now: datetime) -> Job:
    """The job as it was, its worker heard of: no change, so nothing of it stands in the history."""
    return replace(job, touched_at=now, due_at=policy.due_at(job, job.state, timeouts, now, job.ends_by))


def says_something_new(job: Job, payload: Payload) -> bool:
    """Whether a report tells more than where the job is."""
    is_told = any(getattr(job, name) != value for name, value in _said(payload).items())
    return is_told or not _contents(payload.remarks).items() <= _contents(job.remarks).items()


def wished(job: Job, wish: Wish, report: Report, now: datetime) -> Change:
    """The job where it was, with what somebody wants of it; that is no word of its worker's."""
    after = replace(job, wish=wish, revision=job.revision + 1, touched_at=now, **_remarked(job, report.payload))
    return _change(job, after, report)


def annotated(job: Job, report: Report, now: datetime) -> Change:
    """The job as it ended, with what came of it later."""
    said = {name: value for name, value in _said(report.payload).items() if name != "detail"}
    return _change(job, replace(job, revision=job.revision + 1, touched_at=now, **said), report)


def placed(job: Job, place: Place, report: Report, now: datetime) -> Change:
    """A waiting job in another place of the queue's, or with another preference."""
    after = replace(
        job,
        revision=job.revision + 1,
        touched_at=now,
        preference=place.preference,
        kept_for=place.kept_for,
        due_at=place.due_at,
        **_remarked(job, report.payload),
    )
    return _change(job, after, report)


def reopened(job: Job, place: Place, report: Report, now: datetime) -> Change:
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
        detail=report.payload.detail,
        phase=None,
        message=None,
        progress=None,
        moved_at=now,
        touched_at=now,
        claimed_at=None,
        submitted_at=None,
        started_at=None,
        ended_at=None,
        due_at=place.due_at,
        ends_by=None,
        preference=place.preference,
        kept_for=place.kept_for,
        remarks=report.payload.remarks,
    )
    return _change(job, after, report)


def merged(old: msgspec.Raw | None, new: msgspec.Raw | None) -> msgspec.Raw | None:
    """What is known when both were said; the later word counts."""
    if old is None or new is None:
        return new if old is None else old
    return msgspec.Raw(msgspec.json.encode(_contents(old) | _contents(new)))


def _contents(remarks: msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    return {} if remarks is None else msgspec.json.decode(remarks, type=dict[str, msgspec.Raw])


def _remarked(job: Job, payload: Payload) -> dict[str, msgspec.Raw | None]:
    return {} if payload.remarks is None else {"remarks": merged(job.remarks, payload.remarks)}


def _said(payload: Payload) -> dict[str, str | float]:
    """What a report leaves on the job: all it says, but never another worker."""
    said = {name: getattr(payload, name) for name in _SAYABLE}
    return {name: value for name, value in said.items() if value is not None}


_SAYABLE = ("detail", "slurm_job_id", "output_artifact_id", "log_artifact_id", "phase", "message", "progress")


def _change(before: Job, after: Job, report: Report) -> Change:
    transition = Transition(
        before.key,
        after.revision,
        after.attempt,
        after.epoch,
        before.state,
        after.state,
        report.cause,
        report.actor,
        after.touched_at,
        report.payload,
    )
    return Change(before, after, transition)
