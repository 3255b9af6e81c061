"""Answers that were given under an idempotency key, to be given again word for word."""

from datetime import datetime

import msgspec

from cableferry.store.tx import Tx, micros, statement

# on Postgres a twin of a request waits here until the first one has ended
_BEGIN = statement(
    "answer_begun",
    """INSERT INTO answers (caller, idempotency_key, request, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (caller, idempotency_key) DO NOTHING""",
)
_STORED = statement(
    "answer_stored",
    "SELECT request, status, content_type, headers, body FROM answers WHERE caller = ? AND idempotency_key = ?",
)
_KNOWN = statement("answer_known", "SELECT 1 FROM answers WHERE caller = ? AND idempotency_key = ?")
_FINISH = statement(
    "answer_finished",
    "UPDATE answers SET status = ?, content_type = ?, headers = ?, body = ? WHERE caller = ? AND idempotency_key = ?",
)
# Postgres would read the whole table for the IN of a subquery, not for an array of places
_PURGE = statement(
    "answers_forgotten",
    sqlite="""DELETE FROM answers WHERE (caller, idempotency_key) IN
    (SELECT caller, idempotency_key FROM answers WHERE at < ? ORDER BY at LIMIT ?)""",
    postgres="DELETE FROM answers WHERE ctid = ANY (ARRAY(SELECT ctid FROM answers WHERE at < ? ORDER BY at LIMIT ?))",
)


class Kept(msgspec.Struct, frozen=True):
    """An answer; its headers are a JSON object."""

    status: int
    content_type: str | None
    headers: str
    body: bytes


class Stored(msgspec.Struct, frozen=True):
    """An earlier request under the same key, by its digest, and what it was answered."""

    request: bytes
    status: int | None
    content_type: str | None
    headers: str | None
    body: bytes | None


def begin(tx: Tx, caller: str, key: str, request_digest: bytes, now: datetime) -> Stored | None:
    """None when the key is new and this transaction is to `finish` it; else what was answered then."""
    if tx.run(_BEGIN, (caller, key, request_digest, micros(now))):
        return None
    row = tx.one(_STORED, (caller, key))
    return None if row is None else Stored(*row)


def is_known(tx: Tx, caller: str, key: str) -> bool:
    """Whether something was answered under this key."""
    return tx.one(_KNOWN, (caller, key)) is not None


def finish(tx: Tx, caller: str, key: str, kept: Kept) -> None:
    """Keep the answer in the transaction that it tells about."""
    tx.run(_FINISH, (kept.status, kept.content_type, kept.headers, kept.body, caller, key))


def purge(tx: Tx, before: datetime, most: int) -> int:
    return tx.run(_PURGE, (micros(before), most))
