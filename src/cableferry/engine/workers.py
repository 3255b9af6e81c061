"""What can be done with a worker: register, be heard of, be listed, be removed."""

import msgspec

from cableferry.core import workers
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.policy import Rules
from cableferry.core.workers import Registration, Speaker, Worker
from cableferry.store import jobs as job_rows
from cableferry.store import workers as rows
from cableferry.store.tx import News, Tx


def register(tx: Tx, rules: Rules, said: Registration) -> Worker:
    """Make a worker known, or replace what it offered; with a session, only one daemon at a time."""
    known = rows.lock(tx, said.id) or _newcomer(tx, said.id)
    if known is not None:
        workers.check_pool(known, rules.pool)
    if known is not None and said.session is not None:
        workers.check_takeover(known, said.session, tx.now, rules.session_ttl)
    worker = Worker(
        id=said.id,
        pool=rules.pool,
        hostname=said.hostname,
        offers=said.offers,
        registered_at=known.registered_at if known else tx.now,
        seen_at=tx.now,
        session=said.session or (known.session if known else None),
        session_seen_at=tx.now if said.session else known.session_seen_at if known else None,
        info=known.info if known else None,
        signs=said.signs,
        drained_at=known.drained_at if known else None,
        drained_by=known.drained_by if known else None,
    )
    rows.put(tx, worker)
    tx.announce(News("worker", worker.id, "registered"))
    return worker


def hear(tx: Tx, rules: Rules, id: str, info: msgspec.Raw | None = None) -> None:
    """Note that a worker lives and what it says of itself; where workers do not register, this makes it known."""
    due_at = tx.now + rules.offline_after if rules.offline_after else None
    if rows.heard(tx, rules.pool, id, info, due_at):
        return
    register(tx, rules, Registration(id, offers=rules.offers))
    rows.heard(tx, rules.pool, id, info, due_at)


def heartbeat(tx: Tx, rules: Rules, speaker: Speaker) -> Worker:
    """Note that a registered worker lives."""
    worker = get(tx, rules, speaker.worker)
    workers.check_session(worker, speaker.session)
    rows.seen(tx, worker.id, speaker.session if worker.session else None, speaker.signs)
    return worker


def claimant(tx: Tx, rules: Rules, speaker: Speaker) -> Worker:
    """The worker that wants to claim, kept from claiming twice at once; unregistered ones are refused."""
    worker = rows.lock(tx, speaker.worker)
    if worker is None or worker.pool != rules.pool:
        raise Conflict(f"worker {speaker.worker} is not registered: register it before it claims", Kind.UNKNOWN_WORKER)
    workers.check_session(worker, speaker.session)
    return worker


def get(tx: Tx, rules: Rules, id: str) -> Worker:
    """A worker of this contract; those of others are not there."""
    worker = rows.get(tx, id)
    if worker is None or worker.pool != rules.pool:
        raise NotFound(f"worker {id} not found: register it", Kind.UNKNOWN_WORKER)
    return worker


def find(tx: Tx, rules: Rules) -> list[Worker]:
    return rows.of_pool(tx, rules.pool)


def holding(tx: Tx, id: str) -> list[str]:
    """The ids of the jobs that a worker holds, the oldest first."""
    return [held.id for held in job_rows.held_by(tx, id)]


def drain(tx: Tx, rules: Rules, id: str, actor: str) -> Worker:
    """Let a worker take no more jobs; what it holds goes on. Whoever asks twice is not noted twice."""
    if get(tx, rules, id).drained_at is None:
        rows.drain(tx, rules.pool, id, tx.now, actor)
        tx.announce(News("worker", id, "drained"))
    return get(tx, rules, id)


def resume(tx: Tx, rules: Rules, id: str) -> Worker:
    """Let a worker take jobs again."""
    if get(tx, rules, id).drained_at is not None:
        rows.drain(tx, rules.pool, id, None, None)
        tx.announce(News("worker", id, "resumed"))
    return get(tx, rules, id)


def delete(tx: Tx, rules: Rules, id: str) -> None:
    """Remove a worker; what it holds stays leased to it until it reports or the sweep resolves it."""
    if rows.delete(tx, rules.pool, id) == 0:
        raise NotFound(f"worker {id} not found", Kind.UNKNOWN_WORKER)
    tx.announce(News("worker", id, "deleted"))


def _newcomer(tx: Tx, id: str) -> Worker | None:
    """A worker whom nobody knew a moment ago; None when it is still so and stays so."""
    rows.lock_name(tx, id)
    return rows.lock(tx, id)
