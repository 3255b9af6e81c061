"""What becomes of jobs that nobody has spoken of for too long, and of those that waited for one worker."""

from collections.abc import Iterable
from datetime import timedelta

from cableferry.core import moves, policy
from cableferry.core.jobs import Job, Payload, Report, State
from cableferry.core.policy import Place, Rules, Verdict
from cableferry.engine import moving
from cableferry.engine.moving import Reopening
from cableferry.store import jobs as rows
from cableferry.store import workers
from cableferry.store.tx import Tx

_SERVER = "server"


def stalled(tx: Tx, rules: Rules, most: int) -> int:
    """Fail, cancel or requeue the jobs that have been silent for too long; return how many."""
    due = rows.overdue(tx, rules.pool, most)
    _open_to_all(tx, rules, [job for job in due if policy.has_waited(job, tx.now)])
    verdicts = ((job, policy.stalled(job, rules.timeouts, tx.now)) for job in due)
    return _resolve(tx, rules, [(job, verdict) for job, verdict in verdicts if verdict is not None])


def offline(tx: Tx, rules: Rules, most: int) -> int:
    """The same for all that is held by workers who have not been heard of for too long."""
    resolved = 0
    for worker in workers.overdue(tx, rules.pool, most):
        held = rows.held(tx, rules.pool, worker)
        resolved += _resolve(tx, rules, [(job, policy.abandoned(job, rules.timeouts)) for job in held])
        workers.expect_nothing(tx, worker)
    return resolved


def _resolve(tx: Tx, rules: Rules, found: Iterable[tuple[Job, Verdict]]) -> int:
    changes, reopened = [], []
    for job, verdict in found:
        payload = Payload(worker=job.worker, detail=verdict.detail)
        if verdict.state is None:
            place = policy.place(policy.next_preference(job, rules), timedelta(0), tx.now)
            reopened.append(Reopening(job, place, Report(job.id, State.READY, payload, _SERVER)))
        else:
            report = Report(job.id, verdict.state, payload, _SERVER, verdict.cause)
            changes.append(moves.moved(job, report, rules.timeouts, tx.now))
    moving.move(tx, rules, changes)
    moving.reopen(tx, rules, reopened)
    return len(changes) + len(reopened)


def _open_to_all(tx: Tx, rules: Rules, jobs: Iterable[Job]) -> None:
    """Let anybody claim jobs that were kept for a worker long enough."""
    changes = [
        moves.placed(
            job,
            Place(job.preference),
            Report(job.id, job.state, Payload(detail=f"Worker {job.kept_for} did not come for it"), _SERVER),
            tx.now,
        )
        for job in jobs
    ]
    for job in moving.move(tx, rules, changes):
        moving.announce_ready(tx, job)
