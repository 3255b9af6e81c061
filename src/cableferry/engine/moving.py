"""The only places where a job's row is written, its history with it, and where the news of it is announced."""

from collections.abc import Iterable, Sequence

import msgspec

from cableferry.core import moves
from cableferry.core.artifacts import Use
from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import Job, Payload, Report, State
from cableferry.core.moves import Change
from cableferry.core.policy import Place, Rules
from cableferry.store import artifacts, history, projection
from cableferry.store import jobs as rows
from cableferry.store.tx import News, Tx


class Reopening(msgspec.Struct, frozen=True, gc=False):
    """A job that is to go back to the queue: where it will stand there, and who says so and why."""

    job: Job
    place: Place
    report: Report


def move(tx: Tx, rules: Rules, changes: Sequence[Change]) -> list[Job]:
    """The one place where a job's state is written."""
    if not changes:
        return []
    _write(tx, rules, changes)
    for change in changes:
        _announce(tx, change)
    return [change.after for change in changes]


def reopen(tx: Tx, rules: Rules, wanted: Sequence[Reopening]) -> list[Job]:
    """The one place where a job's next attempt is opened."""
    reopened = move(tx, rules, [moves.reopened(each.job, each.place, each.report, tx.now) for each in wanted])
    for job in reopened:
        announce_ready(tx, job)
    return reopened


def renew(tx: Tx, rules: Rules, job: Job) -> Job:
    """Note that a held job's worker was heard of; nothing else of the job changes."""
    renewed = moves.renewed(job, rules.timeouts, tx.now)
    if rows.touch(tx, renewed) != 1:
        raise changed_meanwhile([job.id])
    project(tx, rules, [job.id])
    return renewed


def project(tx: Tx, rules: Rules, ids: Iterable[str]) -> None:
    """Remember which jobs look different now, for a contract that shows its jobs elsewhere too."""
    if rules.is_projected:
        projection.mark(tx, rules.pool, list(ids))


def announce_ready(tx: Tx, job: Job) -> None:
    tx.announce(News("ready", f"{job.pool}/{job.processor}/{job.profile or ''}", job.id))


def changed_meanwhile(changed: Sequence[str]) -> Conflict:
    return Conflict(
        f"job {', '.join(changed[:3])} was changed by somebody else meanwhile: look again",
        Kind.CHANGED_MEANWHILE,
    )


def _write(tx: Tx, rules: Rules, changes: Sequence[Change]) -> None:
    """Each job from its first to its last value in these changes, if it still is as it was, and every transition."""
    first: dict[int, Job] = {}
    last: dict[int, Job] = {}
    for change in changes:
        first.setdefault(change.before.key, change.before)
        last[change.before.key] = change.after
    if rows.save(tx, [(first[key], last[key]) for key in first]) != len(first):
        raise changed_meanwhile([job.id for job in first.values()])
    history.record(tx, [change.transition for change in changes])
    for change in changes:
        _use_results(tx, change.after.key, change.transition.payload)
    project(tx, rules, [job.id for job in last.values()])


def _use_results(tx: Tx, job_key: int, said: Payload) -> None:
    for used_as, result in ((Use.OUTPUT, said.output_artifact_id), (Use.LOG, said.log_artifact_id)):
        if result is not None:
            artifacts.use(tx, job_key, used_as, [result])


def _announce(tx: Tx, change: Change) -> None:
    """Tell who follows the job, and its worker when somebody else ended its lease or wishes something of it."""
    before, after = change.before, change.after
    tx.announce(News("job", after.id, after.state.value))
    if before.state is State.READY and after.state is not State.READY:
        tx.announce(News("taken", after.id))
    is_lost = before.is_held and not after.is_held
    by_holder = change.transition.actor == f"worker:{before.worker}"
    if before.worker and not by_holder and (is_lost or after.wish is not before.wish):
        tx.announce(News("worker", before.worker, after.id))
