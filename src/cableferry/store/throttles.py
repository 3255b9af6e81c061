"""Rows that count failed sign-ins."""

from datetime import datetime

from cableferry.store.tx import Tx, micros, moment, statement

# counted before the password is looked at, so that guesses side by side do not all pass
_COUNT = statement(
    "attempt_counted",
    """INSERT INTO throttles (subject, failures, last_at, blocked_until) VALUES (?, 1, ?, 0)
    ON CONFLICT (subject) DO UPDATE SET last_at = excluded.last_at,
    failures = CASE WHEN throttles.last_at < ? THEN 1 ELSE throttles.failures + 1 END
    WHERE throttles.blocked_until <= excluded.last_at RETURNING failures""",
)
_BLOCK = statement("subject_blocked", "UPDATE throttles SET blocked_until = ? WHERE subject = ?")
_BLOCKED_UNTIL = statement("subject_blocked_until", "SELECT blocked_until FROM throttles WHERE subject = ?")
_FORGET = statement("subject_forgotten", "DELETE FROM throttles WHERE subject = ?")
_FORGIVE = statement(
    "attempt_forgiven",
    "UPDATE throttles SET failures = failures - 1, blocked_until = 0 WHERE subject = ? AND failures > 0",
)
_PURGE = statement("throttles_purged", "DELETE FROM throttles WHERE last_at < ? AND blocked_until < ?")


def count(tx: Tx, subject: str, forgotten_before: datetime) -> int | None:
    """One attempt more and how many that makes; None while the subject is blocked."""
    row = tx.one(_COUNT, (subject, micros(tx.now), micros(forgotten_before)))
    return None if row is None else int(row[0])


def block(tx: Tx, subject: str, until: datetime) -> None:
    tx.run(_BLOCK, (micros(until), subject))


def blocked_until(tx: Tx, subject: str) -> datetime | None:
    row = tx.one(_BLOCKED_UNTIL, (subject,))
    return None if row is None else moment(row[0])


def forget(tx: Tx, subject: str) -> None:
    tx.run(_FORGET, (subject,))


def forgive(tx: Tx, subject: str) -> None:
    """Take back the count of an attempt that turned out right."""
    tx.run(_FORGIVE, (subject,))


def purge(tx: Tx, before: datetime) -> int:
    return tx.run(_PURGE, (micros(before), micros(tx.now)))
