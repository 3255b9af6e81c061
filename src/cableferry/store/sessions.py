"""Rows of browser sessions."""

from datetime import datetime

import msgspec

from cableferry.core.access import Role
from cableferry.core.accounts import Session
from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_ADD = statement(
    "session_added",
    """INSERT INTO sessions (id, user_key, digest, csrf, agent, created_at, seen_at, expires_at)
    SELECT ?, key, ?, ?, ?, ?, ?, ? FROM users WHERE name = ? AND disabled_at IS NULL""",
)
_BY_DIGEST = statement(
    "session_with_its_user",
    """SELECT s.id, u.name, s.csrf, s.agent, s.created_at, s.seen_at, s.expires_at, u.role
    FROM sessions s JOIN users u ON u.key = s.user_key
    WHERE s.digest = ? AND s.expires_at > ? AND u.disabled_at IS NULL""",
)
_OF_USER = statement(
    "sessions_of_user",
    """SELECT s.id, u.name, s.csrf, s.agent, s.created_at, s.seen_at, s.expires_at
    FROM sessions s JOIN users u ON u.key = s.user_key
    WHERE u.name = ? AND s.expires_at > ? ORDER BY s.key DESC""",
)
_SLIDE = statement("session_used", "UPDATE sessions SET seen_at = ?, expires_at = ? WHERE id = ?")
_END = statement(
    "session_ended",
    "DELETE FROM sessions WHERE id = ? AND user_key = (SELECT key FROM users WHERE name = ?)",
)
_END_ALL = statement(
    "sessions_of_user_ended",
    "DELETE FROM sessions WHERE user_key = (SELECT key FROM users WHERE name = ?) AND id <> ?",
)
_PURGE = statement("sessions_purged", "DELETE FROM sessions WHERE expires_at <= ?")


class Visit(msgspec.Struct, frozen=True):
    """A living session beside its user's role as it is now."""

    session: Session
    role: Role


def add(tx: Tx, session: Session, digest: bytes) -> bool:
    """False when the user is gone or disabled."""
    s = session
    times = (micros(s.created_at), micros(s.seen_at), micros(s.expires_at))
    return tx.run(_ADD, (s.id, digest, s.csrf, s.agent, *times, s.user)) == 1


def by_digest(tx: Tx, digest: bytes) -> Visit | None:
    row = tx.one(_BY_DIGEST, (digest, micros(tx.now)))
    return None if row is None else Visit(_session(row[:7]), Role(row[7]))


def of_user(tx: Tx, name: str) -> list[Session]:
    return [_session(row) for row in tx.all(_OF_USER, (name, micros(tx.now)))]


def slide(tx: Tx, id: str, expires_at: datetime) -> None:
    tx.run(_SLIDE, (micros(tx.now), micros(expires_at), id))


def end(tx: Tx, id: str, user: str) -> bool:
    return tx.run(_END, (id, user)) == 1


def end_all(tx: Tx, user: str, but: str = "") -> int:
    return tx.run(_END_ALL, (user, but))


def purge(tx: Tx) -> int:
    return tx.run(_PURGE, (micros(tx.now),))


def _session(row: Row) -> Session:
    identity, user, csrf, agent, created_at, seen_at, expires_at = row
    created, seen, expires = (moment(at) or EPOCH for at in (created_at, seen_at, expires_at))
    return Session(identity, user, csrf, agent, created, seen, expires)
