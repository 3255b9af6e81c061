"""What the server does by itself, again and again; each is safe when several servers do it at once."""

from datetime import timedelta

from cableferry.core.policy import Rules
from cableferry.engine import deeds, resolving, sessions, uploads
from cableferry.store import answers, nonces, pulse
from cableferry.store import jobs as rows
from cableferry.store import logs as log_rows
from cableferry.store import workers as worker_rows
from cableferry.store.tx import Tx

NONCES_KEPT = timedelta(seconds=900)
ANSWERS_KEPT = timedelta(hours=24)
TOMBSTONES_KEPT = timedelta(days=30)
# how much one transaction does; more would keep others waiting
RESOLVED_AT_ONCE = 500
WORKERS_AT_ONCE = 20
UPLOADS_AT_ONCE = 100
FORGOTTEN_AT_ONCE = 5_000
FOLDED_AT_ONCE = pulse.FOLDED_AT_ONCE


def beat(tx: Tx, tolerance: timedelta) -> timedelta:
    """Note that a server lives; silence while none did is nobody's fault and is forgiven in full."""
    last = pulse.last(tx)
    pulse.beat(tx)
    gap = timedelta(0) if last is None else tx.now - last
    if gap <= tolerance:
        return timedelta(0)
    rows.forgive(tx, _micros(gap))
    worker_rows.forgive(tx, _micros(gap))
    return gap


def awake(tx: Tx) -> timedelta:
    """Begin to live, before the first request: however short the silence was, nobody could be heard in it."""
    return beat(tx, timedelta(0))


def resolve_stalled(tx: Tx, rules: Rules, tolerance: timedelta, most: int = RESOLVED_AT_ONCE) -> int:
    """Resolve what has been silent for too long, counting only time in which it could have been heard."""
    beat(tx, tolerance)
    return resolving.stalled(tx, rules, most)


def resolve_offline(tx: Tx, rules: Rules, tolerance: timedelta, most: int = WORKERS_AT_ONCE) -> int:
    """Resolve what is held by workers who have been silent for too long, counting time in the same way."""
    beat(tx, tolerance)
    return resolving.offline(tx, rules, most)


def purge(tx: Tx) -> int:
    """Forget nonces, answers, tombstones, sessions and deeds that can no longer matter; return how many."""
    gone = nonces.purge(tx, tx.now - NONCES_KEPT, FORGOTTEN_AT_ONCE)
    gone += answers.purge(tx, tx.now - ANSWERS_KEPT, FORGOTTEN_AT_ONCE)
    gone += sessions.purge(tx)
    gone += deeds.forget(tx)
    log_rows.forget_watches(tx)
    return gone + rows.forget_tombstones(tx, tx.now - TOMBSTONES_KEPT)


def expire_uploads(tx: Tx) -> int:
    return uploads.expire(tx, UPLOADS_AT_ONCE)


def fold_tallies(tx: Tx) -> int:
    return pulse.fold_tallies(tx)


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
