"""What an operator can do about a job that its worker cannot: requeue, fail or cancel it, by force if need be."""

from datetime import timedelta

import msgspec

from cableferry.core import moves, policy
from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import Cause, Job, Payload, Preference, Report, State, Wish
from cableferry.core.moves import Change
from cableferry.core.policy import Rules
from cableferry.engine import jobs, moving
from cableferry.engine.moving import Reopening
from cableferry.store.tx import Tx


class Order(msgspec.Struct, frozen=True):
    """What an operator wants of a job; by force it is done wherever the job is."""

    job: str
    actor: str
    payload: Payload
    is_forced: bool = False


def requeue(tx: Tx, rules: Rules, order: Order, preference: Preference | None) -> Job:
    """Put a job back into the queue as its next attempt; one that waits there is placed anew."""
    job = jobs.lock(tx, rules, order.job)
    if not order.is_forced:
        _check_requeue(rules, job)
    place = policy.place(preference, rules.preference_grace, tx.now)
    report = Report(job.id, State.READY, order.payload, order.actor)
    if job.state is not State.READY:
        return moving.reopen(tx, rules, [Reopening(job, place, report)])[0]
    waiting = moving.move(tx, rules, [moves.placed(job, place, report, tx.now)])[0]
    moving.announce_ready(tx, waiting)
    return waiting


def fail(tx: Tx, rules: Rules, order: Order) -> Job:
    """Say that a job has failed; one that still waits is cancelled rather than failed, unless by force."""
    job = jobs.lock(tx, rules, order.job)
    if not order.is_forced and not job.is_held and not job.is_final:
        raise Conflict(
            f"Job is {jobs.word_of(rules, job)}; use cancel or force to fail",
            Kind.ILLEGAL_MOVE,
            current_state=job.state,
        )
    return _end(tx, rules, job, order, Report(job.id, State.FAILED, order.payload, order.actor, Cause.ERROR))


def cancel(tx: Tx, rules: Rules, order: Order) -> Job:
    job = jobs.lock(tx, rules, order.job)
    return _end(tx, rules, job, order, Report(job.id, State.CANCELLED, order.payload, order.actor))


def _end(tx: Tx, rules: Rules, job: Job, order: Order, report: Report) -> Job:
    """End a job; an end is never taken back, so by force a job that is over gets one more attempt, which ends so."""
    if not job.is_final:
        return moving.move(tx, rules, [moves.moved(job, report, rules.timeouts, tx.now)])[0]
    if not order.is_forced:
        raise Conflict(
            f"Job already terminal ({jobs.word_of(rules, job)})", Kind.ALREADY_ENDED, current_state=job.state
        )
    place = policy.place(job.preference, timedelta(0), tx.now)
    again: Change = moves.reopened(job, place, Report(job.id, State.READY, order.payload, order.actor), tx.now)
    return moving.move(tx, rules, [again, moves.moved(again.after, report, rules.timeouts, tx.now)])[-1]


def _check_requeue(rules: Rules, job: Job) -> None:
    """What runs could run twice, and what succeeded has its result."""
    if job.state is State.SUCCEEDED:
        raise Conflict("Finished jobs require force to requeue", Kind.ALREADY_ENDED, current_state=job.state)
    is_going = job.is_held and (job.state is not State.CLAIMED or job.wish is Wish.STOP)
    if is_going:
        raise Conflict(
            f"Job is {jobs.word_of(rules, job)}; use force to requeue", Kind.ILLEGAL_MOVE, current_state=job.state
        )
