"""Rows of workers and their sessions."""

from datetime import datetime
from datetime import timedelta as _span

import msgspec

from cableferry.core.workers import NO_SIGNS, Offer, Session, Signs, Worker
from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_SAID = (
    "id, pool, hostname, offers, registered_at, seen_at, session_id, session_host, session_pid, session_started_at,"
    " session_seen_at, info, agent, clock_ahead, trouble"
)
COLUMNS = f"{_SAID}, drained_at, drained_by"
_GET = statement("worker_by_id", f"SELECT {COLUMNS} FROM workers WHERE id = ?")
# two claims of one worker must not both count its free slots: the second waits for the first
_LOCK = statement(
    "worker_by_id_locked",
    sqlite=f"SELECT {COLUMNS} FROM workers WHERE id = ?",
    postgres=f"SELECT {COLUMNS} FROM workers WHERE id = ? FOR UPDATE",
)
# a worker that nobody knows yet has no row to lock: whoever registers it second waits, and then sees the first
_LOCK_NAME = statement(
    "worker_name_locked", sqlite="SELECT ?", postgres="SELECT pg_advisory_xact_lock(7238453, hashtext(?))"
)
_PUT = statement(
    "worker_registered",
    f"""INSERT INTO workers ({_SAID}) VALUES ({", ".join("?" * 15)})
    ON CONFLICT (id) DO UPDATE SET pool = excluded.pool, hostname = excluded.hostname, offers = excluded.offers,
    seen_at = excluded.seen_at, session_id = excluded.session_id, session_host = excluded.session_host,
    session_pid = excluded.session_pid, session_started_at = excluded.session_started_at,
    session_seen_at = excluded.session_seen_at, info = excluded.info, agent = excluded.agent,
    clock_ahead = excluded.clock_ahead, trouble = excluded.trouble""",
)
# the program and its clock stay as they were told last, a trouble goes with the first word that has none
_TOLD = "agent = coalesce(?, agent), clock_ahead = coalesce(?, clock_ahead), trouble = ?"
_SEEN = statement("worker_seen", f"UPDATE workers SET seen_at = ?, {_TOLD} WHERE id = ?")
_SESSION_SEEN = statement(
    "session_seen", f"UPDATE workers SET seen_at = ?, session_seen_at = ?, {_TOLD} WHERE id = ? AND session_id = ?"
)
# what a worker says of itself stays until it says something else
_HEARD = statement(
    "worker_heard",
    "UPDATE workers SET seen_at = ?, due_at = ?, info = coalesce(?, info) WHERE id = ? AND pool = ?",
)
_OVERDUE = statement(
    "overdue_workers",
    sqlite="SELECT id FROM workers WHERE pool = ? AND due_at <= ? ORDER BY due_at LIMIT ?",
    postgres="""SELECT id FROM workers WHERE pool = ? AND due_at <= ? ORDER BY due_at LIMIT ?
    FOR UPDATE SKIP LOCKED""",
)
_EXPECT_NOTHING = statement("worker_expected_no_more", "UPDATE workers SET due_at = NULL WHERE id = ?")
_FORGIVE = statement(
    "forgive_workers",
    """UPDATE workers SET session_seen_at = session_seen_at + ?, due_at = due_at + ?
    WHERE session_seen_at IS NOT NULL OR due_at IS NOT NULL""",
)
_LIST = statement("workers_of_pool", f"SELECT {COLUMNS} FROM workers WHERE pool = ? ORDER BY id")
_DRAIN = statement("worker_drained", "UPDATE workers SET drained_at = ?, drained_by = ? WHERE id = ? AND pool = ?")
_DELETE = statement("worker_deleted", "DELETE FROM workers WHERE id = ? AND pool = ?")

_DECODE = msgspec.json.Decoder(tuple[Offer, ...])


def get(tx: Tx, id: str) -> Worker | None:
    row = tx.one(_GET, (id,))
    return worker_of(row) if row else None


def lock(tx: Tx, id: str) -> Worker | None:
    row = tx.one(_LOCK, (id,))
    return worker_of(row) if row else None


def lock_name(tx: Tx, id: str) -> None:
    """Let nobody else make this worker known until this transaction ends."""
    tx.one(_LOCK_NAME, (id,))


def put(tx: Tx, worker: Worker) -> None:
    """Register the worker, or replace what it said of itself before."""
    s = worker.session
    session = (s.id, s.host, s.pid, micros(s.started_at), micros(worker.session_seen_at)) if s else (None,) * 5
    offers = msgspec.json.encode(worker.offers).decode()
    times = (micros(worker.registered_at), micros(worker.seen_at))
    info = None if worker.info is None else bytes(worker.info).decode()
    tx.run(_PUT, (worker.id, worker.pool, worker.hostname, offers, *times, *session, info, *_signs(worker.signs)))


def seen(tx: Tx, id: str, session: str | None, signs: Signs = NO_SIGNS) -> int:
    """Note that the worker lives, its session if it has one, and what its request told besides."""
    now = micros(tx.now)
    if session is not None:
        return tx.run(_SESSION_SEEN, (now, now, *_signs(signs), id, session))
    return tx.run(_SEEN, (now, *_signs(signs), id))


def drain(tx: Tx, pool: str, id: str, at: datetime | None, by: str | None) -> int:
    """Since when a worker takes no more jobs, and who wants that; from no moment on it takes them again."""
    return tx.run(_DRAIN, (micros(at), by, id, pool))


def heard(tx: Tx, pool: str, id: str, info: msgspec.Raw | None, due_at: datetime | None) -> int:
    """Note that a worker of a pool lives, what it says of itself, and when it must be heard of again."""
    said = None if info is None else bytes(info).decode()
    return tx.run(_HEARD, (micros(tx.now), micros(due_at), said, id, pool))


def overdue(tx: Tx, pool: str, most: int) -> list[str]:
    """Workers that should have been heard of by now, the longest overdue first."""
    return [row[0] for row in tx.all(_OVERDUE, (pool, micros(tx.now), most))]


def expect_nothing(tx: Tx, id: str) -> None:
    """Until the worker is heard of again."""
    tx.run(_EXPECT_NOTHING, (id,))


def forgive(tx: Tx, silence_micros: int) -> int:
    """Move on what is expected of every session and worker by what nobody could have used."""
    return tx.run(_FORGIVE, (silence_micros, silence_micros))


def of_pool(tx: Tx, pool: str) -> list[Worker]:
    return [worker_of(row) for row in tx.all(_LIST, (pool,))]


def delete(tx: Tx, pool: str, id: str) -> int:
    return tx.run(_DELETE, (id, pool))


def worker_of(row: Row) -> Worker:
    session = Session(row[6], row[7], row[8], moment(row[9])) if row[6] else None
    seen = (_time(row[4]), _time(row[5]))
    info = msgspec.Raw(row[11].encode()) if row[11] else None
    signs = Signs(row[12], None if row[13] is None else _span(microseconds=row[13]), row[14])
    drained = (moment(row[15]), row[16])
    offers = _DECODE.decode(row[3])
    return Worker(row[0], row[1], row[2], offers, *seen, session, moment(row[10]), info, signs, *drained)


def _signs(told: Signs) -> Row:
    ahead = None if told.clock_ahead is None else told.clock_ahead // _span(microseconds=1)
    return (told.agent, ahead, told.trouble)


def _time(value: int) -> datetime:
    return EPOCH + _span(microseconds=value)
