"""What can be done with a job: each function is one thing a caller can do, inside one transaction."""

from collections.abc import Collection, Sequence

from cableferry.core import access, moves, policy, workers
from cableferry.core.access import Caller
from cableferry.core.artifacts import Use
from cableferry.core.errors import Conflict, Kind, NotFound, Refusal
from cableferry.core.jobs import (
    Draft,
    Job,
    Payload,
    Report,
    State,
    Transition,
    Verdict,
    check_claimed,
    check_holder,
    judge,
)
from cableferry.core.moves import Change
from cableferry.core.policy import Rules
from cableferry.core.workers import Speaker
from cableferry.engine import artifacts, ids, queue
from cableferry.engine import workers as registered
from cableferry.store import artifacts as artifact_rows
from cableferry.store import history as history_rows
from cableferry.store import jobs as rows
from cableferry.store.tx import News, Tx


def create(tx: Tx, rules: Rules, draft: Draft) -> Job:
    """A new job, ready to be claimed."""
    if draft.uses:
        artifacts.check_inputs(tx, draft.uses)
    job = rows.add(tx, ids.new(tx.now), rules.pool, draft)
    payload = Payload(detail="Job created")
    history_rows.record(tx, [Transition(job.key, 1, 1, 0, None, job.state, None, draft.created_by, tx.now, payload)])
    artifact_rows.use(tx, job.key, Use.INPUT, draft.uses)
    _announce_ready(tx, job)
    return job


def get(tx: Tx, id: str) -> Job:
    job = rows.get(tx, id)
    if job is None:
        raise _missing(tx, id)
    return job


def history(tx: Tx, id: str, after: int = 0, most: int = 10_000) -> list[Transition]:
    return history_rows.of_job(tx, get(tx, id).key, after, most)


def claim(tx: Tx, rules: Rules, id: str, speaker: Speaker) -> Job:
    """Lease a ready job to a worker that offers to run it and has room."""
    worker = registered.claimant(tx, speaker)
    job = _lock(tx, id)
    workers.check_ready(job)
    workers.check_claim(job, worker, queue.loads_of(tx, worker))
    return _move(tx, [moves.claimed(job, speaker, rules.timeouts, tx.now)])[0]


def claim_many(tx: Tx, rules: Rules, speaker: Speaker, most: int) -> list[Job]:
    """Lease up to `most` jobs over all that a worker offers, by priority, then age."""
    worker = registered.claimant(tx, speaker)
    jobs = queue.claimable(tx, rules.pool, worker, most)
    return _move(tx, [moves.claimed(job, speaker, rules.timeouts, tx.now) for job in jobs])


def report(tx: Tx, rules: Rules, report: Report) -> Job:
    """Take a worker's word for what became of its job."""
    outcome = report_many(tx, rules, [report])[0]
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def report_many(tx: Tx, rules: Rules, reports: Sequence[Report]) -> list[Job | Refusal]:
    """Take reports in order, each on what the ones before it left; one refused leaves the others standing."""
    jobs = _lock_all(tx, {report.job for report in reports})
    results = artifacts.known_results(tx, [report.payload for report in reports])
    changes: list[Change] = []
    outcomes: list[Job | Refusal] = []
    for report in reports:
        try:
            job = jobs.get(report.job)
            if job is None:
                raise _missing(tx, report.job)
            change = _reported(tx, rules, job, report, changes)
            if change is not None:
                artifacts.check_results(report.payload, results)
                changes.append(change)
                jobs[job.id] = change.after
            outcomes.append(jobs[job.id])
        except Refusal as refusal:
            outcomes.append(refusal)
    _move(tx, changes)
    return outcomes


def cancel(tx: Tx, rules: Rules, id: str, caller: Caller, detail: str | None = None) -> Job:
    """Call a job off; its worker learns of it and stops it."""
    job = _lock(tx, id)
    access.check_end(caller, job)
    if job.is_final:
        raise Conflict(
            f"job {id} is already {rules.words[job.state]}: there is nothing to cancel",
            Kind.ALREADY_ENDED,
            current_state=job.state,
        )
    payload = Payload(detail=detail or f"Cancelled by {caller.actor}")
    report = Report(id, State.CANCELLED, payload, caller.actor)
    return _move(tx, [moves.moved(job, report, rules.timeouts, tx.now)])[0]


def delete(tx: Tx, rules: Rules, id: str, caller: Caller) -> None:
    """Remove a job and its history; one not over is cancelled first, or refused, as the contract says."""
    job = _lock(tx, id)
    access.check_end(caller, job)
    if not job.is_final:
        if not rules.ends_running_on_delete:
            raise Conflict(
                f"cannot delete job {id} in non-terminal status: cancel it first",
                Kind.NOT_ENDED,
                current_state=job.state,
            )
        job = cancel(tx, rules, id, caller, f"Deleted by {caller.actor}")
    rows.bury(tx, job, caller.actor)
    if rows.delete(tx, job) != 1:
        raise _changed_meanwhile([id])
    tx.announce(News("job", id, "deleted"))


def resolve_stalled(tx: Tx, rules: Rules, most: int) -> int:
    """Fail, cancel or requeue the jobs that have been silent for too long; return how many."""
    changes = []
    reopened = []
    for job in rows.overdue(tx, rules.pool, most):
        verdict = policy.stalled(job, rules.timeouts, tx.now)
        if verdict is None:
            continue
        if verdict.state is None:
            reopened.append((job, verdict.detail))
        else:
            payload = Payload(worker=job.worker, detail=verdict.detail)
            report = Report(job.id, verdict.state, payload, "server", verdict.cause)
            changes.append(moves.moved(job, report, rules.timeouts, tx.now))
    _move(tx, changes)
    _reopen(tx, reopened)
    return len(changes) + len(reopened)


def _move(tx: Tx, changes: Sequence[Change]) -> list[Job]:
    """The one place where a job's state is written, its history with it."""
    if not changes:
        return []
    _write(tx, changes)
    for change in changes:
        _announce(tx, change)
    return [change.after for change in changes]


def _reopen(tx: Tx, jobs: Sequence[tuple[Job, str]]) -> None:
    """The one place where a job's next attempt is opened."""
    changes = [moves.reopened(job, detail, "server", tx.now) for job, detail in jobs]
    if not changes:
        return
    _write(tx, changes)
    for change in changes:
        _announce(tx, change)
        _announce_ready(tx, change.after)


def _write(tx: Tx, changes: Sequence[Change]) -> None:
    """Each job from its first to its last value in these changes, if it still is as it was, and every transition."""
    first: dict[int, Job] = {}
    last: dict[int, Job] = {}
    for change in changes:
        first.setdefault(change.before.key, change.before)
        last[change.before.key] = change.after
    if rows.save(tx, [(first[key], last[key]) for key in first]) != len(first):
        raise _changed_meanwhile([job.id for job in first.values()])
    history_rows.record(tx, [change.transition for change in changes])
    for change in changes:
        _use_results(tx, change.after.key, change.transition.payload)


def _use_results(tx: Tx, job_key: int, said: Payload) -> None:
    for used_as, result in ((Use.OUTPUT, said.output_artifact_id), (Use.LOG, said.log_artifact_id)):
        if result is not None:
            artifact_rows.use(tx, job_key, used_as, [result])


def _reported(tx: Tx, rules: Rules, job: Job, report: Report, pending: Sequence[Change]) -> Change | None:
    """What a report makes of its job, None when it was taken before."""
    verdict = judge(job, report.state, rules.moves)
    if verdict is not Verdict.MOVE and _was_taken(tx, job, report, pending):
        return None
    check_holder(job, report.payload.worker, report.epoch)
    match verdict:
        case Verdict.MOVE:
            check_claimed(job, report.payload.worker)
            return moves.moved(job, report, rules.timeouts, tx.now)
        case Verdict.NOTE:
            return moves.noted(job, report, rules.timeouts, tx.now)
        case Verdict.CONFLICT:
            raise _illegal(rules, job, report)


def _was_taken(tx: Tx, job: Job, report: Report, pending: Sequence[Change]) -> bool:
    """Whether an identical report of this attempt was accepted before, or earlier in this batch."""
    if report.epoch is not None and report.epoch != job.epoch:
        return False
    known = [change.transition for change in pending if change.before.key == job.key]
    known += history_rows.reports(tx, job, report.state)
    return any(t.new is report.state and t.payload == report.payload for t in known)


def _illegal(rules: Rules, job: Job, report: Report) -> Conflict:
    old, new = rules.words[job.state], rules.words[report.state]
    over = ": it is over" if job.is_final else ""
    kind = Kind.ALREADY_ENDED if job.is_final else Kind.ILLEGAL_MOVE
    return Conflict(f"cannot transition job {job.id} from {old} to {new}{over}", kind, current_state=job.state)


def _lock(tx: Tx, id: str) -> Job:
    job = rows.lock(tx, id)
    if job is None:
        raise _missing(tx, id)
    return job


def _lock_all(tx: Tx, wanted: Collection[str]) -> dict[str, Job]:
    if len(wanted) == 1:
        job = rows.lock(tx, next(iter(wanted)))
        return {job.id: job} if job else {}
    return rows.lock_many(tx, wanted)


def _missing(tx: Tx, id: str) -> NotFound:
    if rows.is_buried(tx, id):
        return NotFound(f"job {id} was deleted: stop working on it", Kind.DELETED_JOB)
    return NotFound(f"there is no job {id[:64]}", Kind.UNKNOWN_JOB)


def _changed_meanwhile(changed: Sequence[str]) -> Conflict:
    return Conflict(
        f"job {', '.join(changed[:3])} was changed by somebody else meanwhile: look again",
        Kind.CHANGED_MEANWHILE,
    )


def _announce(tx: Tx, change: Change) -> None:
    """Tell who follows the job, and its worker when somebody else ended its lease."""
    before, after = change.before, change.after
    tx.announce(News("job", after.id, after.state.value))
    if before.state is State.READY and after.state is not State.READY:
        tx.announce(News("taken", after.id))
    by_holder = change.transition.actor == f"worker:{before.worker}"
    if before.worker and before.is_held and not after.is_held and not by_holder:
        tx.announce(News("worker", before.worker, after.id))


def _announce_ready(tx: Tx, job: Job) -> None:
    tx.announce(News("ready", f"{job.pool}/{job.processor}/{job.profile or ''}", job.id))
