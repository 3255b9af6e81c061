"""One daemon cycle in one round trip: heartbeat and reports in, stops and claims out."""

from collections.abc import Callable, Collection, Sequence
from typing import ParamSpec

import msgspec

from cableferry.core import workers
from cableferry.core.errors import Refusal
from cableferry.core.jobs import HELD, Job, Report, State, Wish
from cableferry.core.policy import Rules
from cableferry.core.workers import Speaker
from cableferry.engine import jobs
from cableferry.engine import workers as registered
from cableferry.store import jobs as rows
from cableferry.store import logs as log_rows
from cableferry.store import workers as worker_rows
from cableferry.store.tx import Tx

P = ParamSpec("P")


class Cycle(msgspec.Struct, frozen=True):
    """What a daemon says: its reports, the jobs it works on, how many more it would take."""

    speaker: Speaker
    reports: Sequence[Report]
    holding: Collection[str]
    claim: int


class Stop(msgspec.Struct, frozen=True):
    """A job the daemon must let go of, and why; no state when nothing is known of it."""

    job: str
    reason: str
    state: State | None


class Synced(msgspec.Struct, frozen=True):
    """What became of each report, what to stop, what was claimed, why nothing could be, and what is followed."""

    outcomes: list[Job | Refusal]
    stops: list[Stop]
    claimed: list[Job]
    no_claims: Refusal | None
    watched: Sequence[str] = ()


def sync(tx: Tx, rules: Rules, cycle: Cycle) -> Synced:
    """Reports are taken even from a daemon whose session was taken over; claims are not."""
    speaker = cycle.speaker
    worker = registered.get(tx, rules, speaker.worker)
    no_claims = _refusal(workers.check_session, worker, speaker.session)
    if no_claims is None:
        worker_rows.seen(tx, worker.id, speaker.session if worker.session else None, speaker.signs)
        no_claims = _refusal(workers.check_drained, worker)
    outcomes = jobs.report_many(tx, rules, cycle.reports) if cycle.reports else []
    stops = _stops(tx, cycle, outcomes)
    claimed = []
    if no_claims is None and cycle.claim > 0:
        claimed = jobs.claim_many(tx, rules, speaker, cycle.claim)
    watched = tuple(log_rows.watched_of(tx, speaker.worker)) if cycle.holding else ()
    return Synced(outcomes, stops, claimed, no_claims, watched)


def _refusal(check: Callable[P, None], *args: P.args, **named: P.kwargs) -> Refusal | None:
    try:
        check(*args, **named)
    except Refusal as refusal:
        return refusal
    return None


def _stops(tx: Tx, cycle: Cycle, outcomes: Sequence[Job | Refusal]) -> list[Stop]:
    """What the daemon works on though it no longer holds it, and what somebody wishes to stop."""
    ended = {outcome.id for outcome in outcomes if isinstance(outcome, Job) and outcome.is_final}
    asked = [job_id for job_id in dict.fromkeys(cycle.holding) if job_id not in ended]
    if not asked:
        return []
    held = {job.id: job for job in rows.held_by(tx, cycle.speaker.worker)}
    mine = [held[job_id] for job_id in asked if job_id in held]
    wished = [Stop(job.id, "stop", job.state) for job in mine if job.wish is Wish.STOP]
    return wished + _lost(tx, [job_id for job_id in asked if job_id not in held])


def _lost(tx: Tx, ids: Sequence[str]) -> list[Stop]:
    if not ids:
        return []
    known = rows.find_many(tx, ids)
    buried = rows.buried(tx, [job_id for job_id in ids if job_id not in known])
    lost = ((job_id, known.get(job_id)) for job_id in ids)
    return [Stop(job_id, _reason(job, job_id in buried), _state(job)) for job_id, job in lost]


def _reason(job: Job | None, is_buried: bool) -> str:
    if job is None:
        return "deleted" if is_buried else "unknown"
    if job.state in HELD or job.state is State.READY:
        return "fenced"
    return "cancelled" if job.state is State.CANCELLED else "ended"


def _state(job: Job | None) -> State | None:
    return job.state if job else None
