"""Taking over jobs that another server has led so far, each with the shortest history that leads where it is."""

import msgspec

from cableferry.core import moves
from cableferry.core.jobs import Cause, Draft, Job, Payload, Report, State, Wish
from cableferry.core.moves import Change
from cableferry.core.policy import Rules
from cableferry.core.workers import Speaker
from cableferry.engine import jobs, moving
from cableferry.store import jobs as rows
from cableferry.store.tx import Tx

_BEGUN = (State.CLAIMED, State.RUNNING)
_WAYS = {
    State.READY: (),
    State.CLAIMED: (State.CLAIMED,),
    State.RUNNING: _BEGUN,
    State.SUCCEEDED: (*_BEGUN, State.SUCCEEDED),
    State.FAILED: (*_BEGUN, State.FAILED),
    State.CANCELLED: (State.CANCELLED,),
}


class Found(msgspec.Struct, frozen=True):
    """A job as it was found: what it was to do, where it is, who has it, and what was said of it."""

    id: str
    draft: Draft
    state: State
    worker: str
    payload: Payload
    cause: Cause | None = None
    wish: Wish | None = None


def adopt(tx: Tx, rules: Rules, found: Found) -> Job | None:
    """The job, or None if it is known already or was deleted."""
    if rows.get(tx, found.id) is not None or rows.is_buried(tx, found.id):
        return None
    job = jobs.create(tx, rules, found.draft, found.id)
    changes: list[Change] = []
    way = (*_BEGUN, State.CANCELLED) if found.cause is Cause.STOPPED else _WAYS[found.state]
    for state in way:
        changes.append(_step(tx, rules, changes[-1].after if changes else job, state, found))
    if found.wish is not None and changes:
        report = Report(found.id, found.state, found.payload, job.created_by)
        changes.append(moves.wished(changes[-1].after, found.wish, report, tx.now))
    moved = moving.move(tx, rules, changes)
    return moved[-1] if moved else job


def _step(tx: Tx, rules: Rules, job: Job, state: State, found: Found) -> Change:
    actor = job.created_by or ""
    if state is State.CLAIMED:
        speaker = Speaker(found.worker, None, actor, found.payload.remarks)
        return moves.claimed(job, speaker, rules.timeouts, tx.now)
    payload = found.payload if state is found.state else Payload(worker=found.worker)
    cause = found.cause if state is found.state else None
    return moves.moved(job, Report(job.id, state, payload, actor, cause), rules.timeouts, tx.now)
