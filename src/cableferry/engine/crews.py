"""Who works here: every worker with what it holds, and why nothing runs when none is alive."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from cableferry.core import workers
from cableferry.core.jobs import State
from cableferry.core.policy import Rules
from cableferry.core.workers import Load, Worker
from cableferry.engine import workers as registered
from cableferry.store import jobs as job_rows
from cableferry.store import lanes
from cableferry.store import workers as rows
from cableferry.store.tx import Tx

# how many bars a sparkline has
STEPS = 48


class Member(msgspec.Struct, frozen=True):
    """One worker, and how many jobs of each lane it holds."""

    worker: Worker
    loads: Sequence[Load]
    is_alive: bool


class Crew(msgspec.Struct, frozen=True):
    """Every worker, how many jobs wait for one, and why none of them runs if that is so for all."""

    members: Sequence[Member]
    pending: int
    why: str | None

    @property
    def alive(self) -> int:
        return sum(member.is_alive for member in self.members)


class Ended(msgspec.Struct, frozen=True):
    """How many jobs of a worker ended well and badly, in each step of time."""

    worker: str
    succeeded: Sequence[int]
    failed: Sequence[int]


class Throughput(msgspec.Struct, frozen=True):
    """The same of every worker, and when the first step begins."""

    workers: Sequence[Ended]
    since: datetime
    step: timedelta


def crew(tx: Tx, rules: Rules) -> Crew:
    members = [_member(tx, rules, worker) for worker in rows.of_pool(tx, rules.pool)]
    pending = sum(tally.jobs for tally in lanes.tallies(tx, rules.pool) if tally.state is State.READY)
    return Crew(members, pending, _why(rules, members, pending))


def member(tx: Tx, rules: Rules, id: str) -> Member:
    return _member(tx, rules, registered.get(tx, rules, id))


def throughput(tx: Tx, rules: Rules, span: timedelta) -> Throughput:
    """What every worker brought to an end, in so many steps up to now."""
    step = span / STEPS
    since = tx.now - span
    found = [_ended(tx, worker.id, since, step) for worker in rows.of_pool(tx, rules.pool)]
    return Throughput(found, since, step)


def _ended(tx: Tx, worker: str, since: datetime, step: timedelta) -> Ended:
    counts = {State.SUCCEEDED: [0] * STEPS, State.FAILED: [0] * STEPS}
    for place, state, jobs in job_rows.ended_by(tx, worker, since, step):
        if state in counts:
            counts[state][min(place, STEPS - 1)] += jobs
    return Ended(worker, counts[State.SUCCEEDED], counts[State.FAILED])


def _member(tx: Tx, rules: Rules, worker: Worker) -> Member:
    is_alive = workers.is_alive(worker, tx.now, rules.worker_silence)
    return Member(worker, job_rows.loads(tx, worker.id), is_alive)


def _why(rules: Rules, members: Sequence[Member], pending: int) -> str | None:
    """A sentence when no worker is alive that takes jobs, else nothing: then each job has its own explanation."""
    alive = [member.worker for member in members if member.is_alive]
    if any(worker.drained_at is None for worker in alive):
        return None
    waiting = f"{pending} {'job waits' if pending == 1 else 'jobs wait'}" if pending else "no job waits yet"
    if alive:
        return f"nothing more is begun: every worker that is alive is being drained, and {waiting}"
    if not members:
        return f"nothing can run: no worker has registered yet, and {waiting}"
    last = max(members, key=lambda member: member.worker.seen_at).worker
    return (
        f"nothing can run: no worker was heard of for {rules.worker_silence.total_seconds() / 60:g} minutes,"
        f" the last one was {last.id} at {last.seen_at:%FT%TZ}, and {waiting}"
    )
