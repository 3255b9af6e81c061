"""Who works here: every worker with what it holds, and why nothing runs when none is alive."""

from collections.abc import Sequence

import msgspec

from cableferry.core import workers
from cableferry.core.jobs import State
from cableferry.core.policy import Rules
from cableferry.core.workers import Load, Worker
from cableferry.store import jobs as job_rows
from cableferry.store import lanes
from cableferry.store import workers as rows
from cableferry.store.tx import Tx


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


def crew(tx: Tx, rules: Rules) -> Crew:
    members = [
        Member(worker, job_rows.loads(tx, worker.id), workers.is_alive(worker, tx.now, rules.worker_silence))
        for worker in rows.of_pool(tx, rules.pool)
    ]
    pending = sum(tally.jobs for tally in lanes.tallies(tx, rules.pool) if tally.state is State.READY)
    return Crew(members, pending, _why(rules, members, pending))


def _why(rules: Rules, members: Sequence[Member], pending: int) -> str | None:
    """A sentence when no worker is alive, else nothing: then each job has an explanation of its own."""
    if any(member.is_alive for member in members):
        return None
    waiting = f"{pending} {'job waits' if pending == 1 else 'jobs wait'}" if pending else "no job waits yet"
    if not members:
        return f"nothing can run: no worker has registered yet, and {waiting}"
    last = max(members, key=lambda member: member.worker.seen_at).worker
    return (
        f"nothing can run: no worker was heard of for {rules.worker_silence.total_seconds() / 60:g} minutes,"
        f" the last one was {last.id} at {last.seen_at:%FT%TZ}, and {waiting}"
    )
