"""What can be done with a worker: register, be heard of, be listed, be removed."""

from collections.abc import Sequence

from cableferry.core import workers
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.policy import Rules
from cableferry.core.workers import Offer, Session, Worker
from cableferry.store import workers as rows
from cableferry.store.tx import News, Tx


def register(
    tx: Tx, rules: Rules, id: str, hostname: str | None, offers: Sequence[Offer], session: Session | None
) -> Worker:
    """Make a worker known, or replace what it offered; with a session, only one daemon at a time."""
    known = rows.lock(tx, id)
    if known is not None and session is not None:
        workers.check_takeover(known, session, tx.now, rules.session_ttl)
    kept = known.session if known is not None and session is None else session
    worker = Worker(
        id=id,
        pool=rules.pool,
        hostname=hostname,
        offers=tuple(offers),
        registered_at=known.registered_at if known else tx.now,
        seen_at=tx.now,
        session=kept,
        session_seen_at=tx.now if session else known.session_seen_at if known else None,
    )
    rows.put(tx, worker)
    tx.announce(News("worker", id, "registered"))
    return worker


def heartbeat(tx: Tx, rules: Rules, id: str, session: str | None) -> Worker:
    """Note that a worker lives."""
    worker = get(tx, id)
    workers.check_session(worker, session)
    rows.seen(tx, id, session if worker.session else None)
    return worker


def claimant(tx: Tx, rules: Rules, id: str, session: str | None) -> Worker:
    """The worker that wants to claim, kept from claiming twice at once; unregistered ones are refused."""
    worker = rows.lock(tx, id)
    if worker is None:
        raise Conflict(f"worker {id} is not registered: register it before it claims", Kind.UNKNOWN_WORKER)
    workers.check_session(worker, session)
    return worker


def get(tx: Tx, id: str) -> Worker:
    worker = rows.get(tx, id)
    if worker is None:
        raise NotFound(f"worker {id} not found: register it", Kind.UNKNOWN_WORKER)
    return worker


def find(tx: Tx, rules: Rules) -> list[Worker]:
    return rows.of_pool(tx, rules.pool)


def delete(tx: Tx, id: str) -> None:
    """Remove a worker; what it holds stays leased to it until it reports or the sweep resolves it."""
    if rows.delete(tx, id) == 0:
        raise NotFound(f"worker {id} not found", Kind.UNKNOWN_WORKER)
    tx.announce(News("worker", id, "deleted"))
