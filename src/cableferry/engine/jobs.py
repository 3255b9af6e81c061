"""What can be done with a job: each function is one thing a caller can do, inside one transaction."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

import msgspec

from cableferry.core import access, moves, policy, reports, workers
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
    Wish,
    check_claimed,
    check_holder,
)
from cableferry.core.moves import Change
from cableferry.core.policy import Repeats, Rules
from cableferry.core.reports import Verdict
from cableferry.core.workers import Speaker
from cableferry.engine import artifacts, ids, moving, queue
from cableferry.engine import workers as registered
from cableferry.engine.moving import Reopening
from cableferry.store import artifacts as artifact_rows
from cableferry.store import history as history_rows
from cableferry.store import jobs as rows
from cableferry.store import retention as retention_rows
from cableferry.store.tx import News, Tx


class Asked(msgspec.Struct, frozen=True):
    """A job before and after somebody asked for something that it may not get."""

    before: Job
    after: Job


def create(tx: Tx, rules: Rules, draft: Draft, id: str | None = None) -> Job:
    """A new job, ready to be claimed; without an id it gets a new one."""
    if draft.uses:
        artifacts.check_inputs(tx, draft.uses)
    place = policy.place(draft.preference, rules.preference_grace, tx.now)
    job = rows.add(tx, id or ids.new(tx.now), rules.pool, draft, place)
    payload = Payload(detail="Job created")
    history_rows.record(tx, [Transition(job.key, 1, 1, 0, None, job.state, None, draft.created_by, tx.now, payload)])
    artifact_rows.use(tx, job.key, Use.INPUT, draft.uses)
    moving.project(tx, rules, [job.id])
    moving.announce_ready(tx, job)
    return job


def get(tx: Tx, rules: Rules, id: str) -> Job:
    """A job of this contract; those of others are not there."""
    return _found(tx, rules, rows.get(tx, id), id)


def find(tx: Tx, contracts: Mapping[str, Rules], id: str) -> tuple[Job, str]:
    """A job of one of these contracts, and the contract's name."""
    job = rows.get(tx, id)
    name = next((name for name, rules in contracts.items() if job is not None and rules.pool == job.pool), None)
    usual = next(iter(contracts))
    return _found(tx, contracts[name or usual], job, id), name or usual


def lock(tx: Tx, rules: Rules, id: str) -> Job:
    """The same, as it is now and stays until this transaction ends."""
    return _found(tx, rules, rows.lock(tx, id), id)


def is_going(tx: Tx, rules: Rules, id: str) -> bool:
    """Whether there is such a job and it is not over."""
    job = rows.get(tx, id)
    return job is not None and job.pool == rules.pool and not job.is_final


def history(tx: Tx, rules: Rules, id: str, after: int = 0, most: int = 10_000) -> list[Transition]:
    return history_rows.of_job(tx, get(tx, rules, id).key, after, most)


def claim(tx: Tx, rules: Rules, id: str, speaker: Speaker) -> Job:
    """Lease a ready job to a worker that offers to run it and has room."""
    worker = registered.claimant(tx, rules, speaker)
    workers.check_drained(worker)
    job = lock(tx, rules, id)
    workers.check_ready(job)
    workers.check_claim(job, worker, queue.loads_of(tx, worker))
    return moving.move(tx, rules, [moves.claimed(job, speaker, rules.timeouts, tx.now)])[0]


def claim_many(tx: Tx, rules: Rules, speaker: Speaker, most: int) -> list[Job]:
    """Lease up to `most` jobs over all that a worker offers, by priority, then age; to one that is drained, none."""
    worker = registered.claimant(tx, rules, speaker)
    if worker.drained_at is not None:
        return []
    jobs = queue.claimable(tx, rules, worker, most)
    return moving.move(tx, rules, [moves.claimed(job, speaker, rules.timeouts, tx.now) for job in jobs])


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
            job = _found(tx, rules, jobs.get(report.job), report.job)
            outcome = _reported(tx, rules, job, report, changes)
            if isinstance(outcome, Job):
                jobs[job.id] = outcome
            elif outcome:
                artifacts.check_results(report.payload, results)
                changes += outcome
                jobs[job.id] = outcome[-1].after
            outcomes.append(jobs[job.id])
        except Refusal as refusal:
            outcomes.append(refusal)
    moving.move(tx, rules, changes)
    return outcomes


def give_back(tx: Tx, rules: Rules, report: Report) -> Job:
    """Put a claimed job back into the queue because its worker cannot run it; the next attempt is anybody's."""
    job = lock(tx, rules, report.job)
    if reports.judge(job, report, rules) is Verdict.REPEAT:
        return job
    check_holder(job, report.payload.worker, report.epoch)
    if job.state is not State.CLAIMED or job.wish is Wish.STOP:
        raise _illegal(rules, job, report)
    place = policy.place(job.preference, timedelta(0), tx.now)
    return moving.reopen(tx, rules, [Reopening(job, place, report)])[0]


def ask_to_stop(tx: Tx, rules: Rules, id: str, caller: Caller, payload: Payload) -> Asked:
    """Stop a job: one that waits is cancelled, one that is held stops when its worker hears of it."""
    job = lock(tx, rules, id)
    access.check_end(caller, job)
    if job.is_final or job.wish is Wish.STOP:
        return Asked(job, job)
    if not job.is_held:
        return Asked(job, _cancel(tx, rules, job, payload, caller.actor))
    report = Report(id, job.state, payload, caller.actor)
    return Asked(job, moving.move(tx, rules, [moves.wished(job, Wish.STOP, report, tx.now)])[0])


def cancel(tx: Tx, rules: Rules, id: str, caller: Caller, detail: str | None = None) -> Job:
    """Call a job off; its worker learns of it and stops it."""
    job = lock(tx, rules, id)
    access.check_end(caller, job)
    if job.is_final:
        raise Conflict(
            f"job {id} is already {word_of(rules, job)}: there is nothing to cancel",
            Kind.ALREADY_ENDED,
            current_state=job.state,
        )
    return _cancel(tx, rules, job, Payload(detail=detail or f"Cancelled by {caller.actor}"), caller.actor)


def delete(tx: Tx, rules: Rules, id: str, caller: Caller) -> None:
    """Remove a job and its history; one not over is cancelled first, or refused, as the contract says."""
    job = lock(tx, rules, id)
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
    retention_rows.release(tx, job.key)
    if rows.delete(tx, job) != 1:
        raise moving.changed_meanwhile([id])
    moving.project(tx, rules, [id])
    tx.announce(News("job", id, "deleted"))


def word_of(rules: Rules, job: Job) -> str:
    """How the contract spells where a job is."""
    return rules.word(job.state, job.wish, job.cause)


def _cancel(tx: Tx, rules: Rules, job: Job, payload: Payload, actor: str) -> Job:
    report = Report(job.id, State.CANCELLED, payload, actor)
    return moving.move(tx, rules, [moves.moved(job, report, rules.timeouts, tx.now)])[0]


def _reported(tx: Tx, rules: Rules, job: Job, report: Report, pending: Sequence[Change]) -> list[Change] | Job:
    """What a report makes of its job: changes, none when it was taken before, or the job with a renewed lease."""
    verdict = reports.judge(job, report, rules)
    is_old = verdict in (Verdict.NOTE, Verdict.CONFLICT) and _was_taken(tx, rules, job, report, pending)
    if is_old:
        return []
    check_holder(job, report.payload.worker, report.epoch)
    match verdict:
        case Verdict.MOVE:
            check_claimed(job, report.payload.worker)
            return _led(tx, rules, job, report)
        case Verdict.NOTE:
            return [moves.noted(job, report, rules.timeouts, tx.now)]
        case Verdict.REPEAT if not job.is_held:
            return []
        case Verdict.REPEAT if moves.says_something_new(job, report.payload):
            return [moves.noted(job, report, rules.timeouts, tx.now)]
        case Verdict.REPEAT:
            return moving.renew(tx, rules, job)
        case Verdict.CONFLICT:
            raise _illegal(rules, job, report)


def _led(tx: Tx, rules: Rules, job: Job, report: Report) -> list[Change]:
    """The job in the reported state, by way of the state that the report left out."""
    changes: list[Change] = []
    for state in reports.steps(job, report, rules):
        step = report if state is report.state else Report(job.id, state, _LEFT_OUT, report.actor)
        changes.append(moves.moved(changes[-1].after if changes else job, step, rules.timeouts, tx.now))
    return changes


_LEFT_OUT = Payload(detail="Not reported, but the next report shows that it was so")


def _was_taken(tx: Tx, rules: Rules, job: Job, report: Report, pending: Sequence[Change]) -> bool:
    """Whether an identical report of this attempt was accepted before, or earlier in this batch."""
    is_other_lease = report.epoch is not None and report.epoch != job.epoch
    if is_other_lease or rules.repeats is not Repeats.OF_REPORT:
        return False
    known = [change.transition for change in pending if change.before.key == job.key]
    known += history_rows.reports(tx, job, report.state)
    return any(t.new is report.state and t.payload == report.payload for t in known)


def _illegal(rules: Rules, job: Job, report: Report) -> Conflict:
    old, new = word_of(rules, job), rules.word(report.state, report.wish, report.cause)
    over = ": it is over" if job.is_final else ""
    kind = Kind.ALREADY_ENDED if job.is_final else Kind.ILLEGAL_MOVE
    return Conflict(f"cannot transition job {job.id} from {old} to {new}{over}", kind, current_state=job.state)


def _lock_all(tx: Tx, wanted: Collection[str]) -> dict[str, Job]:
    if len(wanted) == 1:
        job = rows.lock(tx, next(iter(wanted)))
        return {job.id: job} if job else {}
    return rows.lock_many(tx, wanted)


def _found(tx: Tx, rules: Rules, job: Job | None, id: str) -> Job:
    if job is not None and job.pool == rules.pool:
        return job
    if job is None and rows.is_buried(tx, id):
        raise NotFound(f"job {id} was deleted: stop working on it", Kind.DELETED_JOB)
    raise NotFound(f"there is no job {id[:64]}", Kind.UNKNOWN_JOB)
