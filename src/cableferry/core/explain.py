"""Why a job is where it is: one sentence for a person, a code and facts for a program."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from cableferry.core import workers
from cableferry.core.jobs import Job, State, Waiting
from cableferry.core.workers import Lane, Load, Worker

Fact = str | int | float | bool | None


class Code(StrEnum):
    """What kind of answer it is."""

    NO_WORKER = "no-worker"
    NOT_OFFERED = "not-offered"
    WORKERS_SILENT = "workers-silent"
    WORKERS_FULL = "workers-full"
    WORKERS_DRAINED = "workers-drained"
    WAITING = "waiting"
    CLAIMED = "claimed"
    IN_SCHEDULER = "in-scheduler"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    HELD_BACK = "held-back"


class Explanation(msgspec.Struct, frozen=True):
    """The answer to: why is this job where it is?"""

    code: Code
    sentence: str
    facts: dict[str, Fact]


class Claimable(msgspec.Struct, frozen=True):
    """A worker that could take the job, and what it holds now."""

    worker: Worker
    loads: Sequence[Load]


class Situation(msgspec.Struct, frozen=True):
    """All that is looked at."""

    job: Job
    workers: Sequence[Worker]
    claimable: Sequence[Claimable]
    ahead: int
    waiting: Waiting
    silence: timedelta
    now: datetime


class Queueing(msgspec.Struct, frozen=True):
    """What a job that waits, or would wait, is looked at by; `claimable` are the workers that offer it."""

    lane: Lane
    kept_for: str | None
    workers: Sequence[Worker]
    claimable: Sequence[Claimable]
    ahead: int
    since: datetime
    silence: timedelta
    now: datetime


def explain(seen: Situation) -> Explanation:
    """The sentence for the state the job is in."""
    match seen.job.state:
        case State.READY:
            return queueing(_queueing(seen))
        case State.CLAIMED:
            return _claimed(seen)
        case State.SUBMITTED:
            return _submitted(seen)
        case State.RUNNING | State.SUSPECT:
            return _running(seen)
        case State.SUCCEEDED | State.FAILED | State.CANCELLED:
            return _over(seen)
        case State.NEW | State.BLOCKED | State.PARKED:
            return Explanation(Code.HELD_BACK, "It is held back until something else releases it.", {})
        case never:
            assert_never(never)


def queueing(seen: Queueing) -> Explanation:
    """Why a job of this kind is not taken yet, whether it is there or only thought of."""
    processor, profile = seen.lane
    lane = _lane(seen.lane)
    facts: dict[str, Fact] = {
        "processor": processor,
        "profile": profile,
        "workers": len(seen.workers),
        "offering": len(seen.claimable),
        "ahead": seen.ahead,
        "waiting_seconds": round((seen.now - seen.since).total_seconds(), 3),
    }
    if seen.kept_for is not None:
        facts["kept_for"] = seen.kept_for
        if not seen.claimable:
            sentence = f"It is kept for worker {seen.kept_for}, which is not registered."
            return Explanation(Code.NO_WORKER, sentence, facts)
    if not seen.workers:
        return Explanation(Code.NO_WORKER, f"No worker is registered, so nobody can run {lane}.", facts)
    if not seen.claimable:
        return Explanation(Code.NOT_OFFERED, f"{_none_of(len(seen.workers))} {lane}.", facts)
    return _offered(seen, lane, facts)


def _queueing(seen: Situation) -> Queueing:
    job = seen.job
    return Queueing(
        (job.processor, job.profile), job.kept_for, seen.workers, seen.claimable, seen.ahead, job.moved_at,
        seen.silence, seen.now,
    )  # fmt: skip


def _offered(seen: Queueing, lane: str, facts: dict[str, Fact]) -> Explanation:
    alive = [c for c in seen.claimable if workers.is_alive(c.worker, seen.now, seen.silence)]
    if not alive:
        latest = max((c.worker for c in seen.claimable), key=lambda worker: worker.seen_at)
        ago = _ago(seen.now - latest.seen_at)
        more = "" if len(seen.claimable) == 1 else f", the last heard of {len(seen.claimable)} that offer it"
        facts = {**facts, "worker_id": latest.id, "last_seen_at": latest.seen_at.isoformat()}
        return Explanation(
            Code.WORKERS_SILENT,
            f"Worker {latest.id} offers {lane}{more}, but was last seen {ago} ago.",
            facts,
        )
    willing = [c for c in alive if c.worker.drained_at is None]
    if not willing:
        return _drained(alive[0].worker, len(alive), lane, facts)
    free = [c for c in willing if _has_room(c, seen.lane)]
    if not free:
        verb = "is" if len(willing) == 1 else "are"
        who = f"Worker {willing[0].worker.id}" if len(willing) == 1 else f"All {len(willing)} live workers"
        return Explanation(Code.WORKERS_FULL, f"{who} offering {lane} {verb} full: it runs when one has room.", facts)
    names = ", ".join(c.worker.id for c in free[:3])
    queue = f", behind {_many(seen.ahead, 'job')} of its kind" if seen.ahead else ""
    return Explanation(
        Code.WAITING,
        f"It waits for {names} to ask for work{queue}.",
        {**facts, "worker_id": free[0].worker.id},
    )


def _drained(worker: Worker, count: int, lane: str, facts: dict[str, Fact]) -> Explanation:
    who = f"Worker {worker.id}" if count == 1 else f"All {count} live workers"
    verb, takes, them = ("is", "it takes", "it") if count == 1 else ("are", "they take", "them")
    return Explanation(
        Code.WORKERS_DRAINED,
        f"{who} offering {lane} {verb} being drained: {takes} jobs again when somebody lets {them}.",
        {**facts, "worker_id": worker.id, "drained_by": worker.drained_by},
    )


def _claimed(seen: Situation) -> Explanation:
    job = seen.job
    until = f"; unless it is submitted by {_clock(job.due_at)} the lease ends" if job.due_at else ""
    sentence = f"Worker {job.worker} claimed it {_ago(seen.now - (job.claimed_at or job.moved_at))} ago"
    return Explanation(Code.CLAIMED, f"{sentence} and prepares it{until}{_heard(seen)}.", _lease(seen))


def _submitted(seen: Situation) -> Explanation:
    job = seen.job
    number = f" as job {job.slurm_job_id}" if job.slurm_job_id else ""
    said = seen.waiting
    reason = f", waiting for: {said.reason}" if said.reason else ""
    if said.starts_at is not None and said.starts_at > seen.now:
        reason += f", expected to start at {_clock(said.starts_at)}"
    since = _ago(seen.now - (job.submitted_at or job.moved_at))
    sentence = f"It has been in the scheduler of worker {job.worker}{number} for {since}{reason}{_heard(seen)}."
    starts_at = said.starts_at.isoformat() if said.starts_at else None
    facts = {**_lease(seen), "waiting_for": said.reason, "starts_at": starts_at}
    return Explanation(Code.IN_SCHEDULER, sentence, facts)


def _running(seen: Situation) -> Explanation:
    job = seen.job
    parts = [job.phase, job.message, None if job.progress is None else f"{job.progress:.0%}"]
    doing = ", ".join(part for part in parts if part)
    since = _ago(seen.now - (job.started_at or job.moved_at))
    sentence = f"It has been running on worker {job.worker} for {since}{f' ({doing})' if doing else ''}{_heard(seen)}."
    return Explanation(Code.RUNNING, sentence, {**_lease(seen), "progress": job.progress, "phase": job.phase})


def _over(seen: Situation) -> Explanation:
    job = seen.job
    verb = {State.SUCCEEDED: "succeeded", State.FAILED: "failed", State.CANCELLED: "was cancelled"}[job.state]
    why = f": {job.detail}" if job.detail and job.state is not State.SUCCEEDED else ""
    facts: dict[str, Fact] = {
        "cause": job.cause,
        "detail": job.detail,
        "worker_id": job.worker,
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
    }
    return Explanation(Code(job.state.value), f"It {verb} {_ago(seen.now - job.moved_at)} ago{why}.", facts)


def _lease(seen: Situation) -> dict[str, Fact]:
    job = seen.job
    holder = _holder(seen.workers, job.worker)
    return {
        "worker_id": job.worker,
        "last_seen_at": holder.seen_at.isoformat() if holder else None,
        "slurm_job_id": job.slurm_job_id,
        "leased_until": job.due_at.isoformat() if job.due_at else None,
        "epoch": job.epoch,
    }


def _heard(seen: Situation) -> str:
    """What is worrying about the holder, if anything is."""
    holder = _holder(seen.workers, seen.job.worker)
    if holder is None:
        return "; that worker is no longer registered"
    if workers.is_alive(holder, seen.now, seen.silence):
        return ""
    return f"; that worker was last seen {_ago(seen.now - holder.seen_at)} ago"


def _holder(known: Collection[Worker], id: str | None) -> Worker | None:
    return next((worker for worker in known if worker.id == id), None)


def _has_room(candidate: Claimable, lane: Lane) -> bool:
    offers = (offer for offer in candidate.worker.offers if workers.fits(offer, *lane))
    return any(workers.room(offer, candidate.loads) != 0 for offer in offers)


def _lane(lane: Lane) -> str:
    processor, profile = lane
    return f"processor {processor}" + (f" with profile {profile}" if profile else "")


def _none_of(workers: int) -> str:
    only = "The only registered worker does not offer"
    return only if workers == 1 else f"None of the {workers} registered workers offers"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _ago(span: timedelta) -> str:
    """A span as a person says it: seconds, then minutes, hours, days."""
    seconds = max(0, int(span.total_seconds()))
    for size, noun in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size or seconds == size:
            return _many(seconds // size, noun)
    return _many(seconds, "second")


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
