"""Rows of worker credentials."""

from datetime import datetime

from cableferry.core.credentials import Credential, Sealed
from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_ADD = statement(
    "credential_added",
    """INSERT INTO credentials (id, worker, label, sealed, created_at, created_by, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)""",
)
# whoever changes a worker's credentials waits here for whoever else does
_LOCK = statement(
    "credentials_of_worker_locked",
    sqlite="SELECT ?",
    postgres="SELECT pg_advisory_xact_lock(7238451, hashtext(?))",
)
_LIST = statement(
    "credentials_of_worker",
    """SELECT id, worker, label, created_at, created_by, last_used_at, revoked_at, expires_at
    FROM credentials WHERE worker = ? ORDER BY key DESC""",
)
_USABLE = statement(
    "usable_secrets_of_worker",
    """SELECT key, id, worker, sealed, expires_at FROM credentials
    WHERE worker = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY key DESC""",
)
_NEWEST = statement(
    "newest_usable_secret",
    """SELECT key, id, worker, sealed, expires_at FROM credentials
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY key DESC LIMIT 1""",
)
_EXISTS = statement("worker_has_credentials", "SELECT 1 FROM credentials WHERE worker = ? LIMIT 1")
_ANY = statement("any_credential", "SELECT 1 FROM credentials LIMIT 1")
_STILL_USABLE = statement(
    "credential_still_usable",
    """SELECT 1 FROM credentials
    WHERE key = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)""",
)
_REVOKE = statement("credential_revoked", "UPDATE credentials SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
_END = statement("credential_ends_at", "UPDATE credentials SET expires_at = ? WHERE id = ?")
_TOUCH = statement("credential_used", "UPDATE credentials SET last_used_at = ? WHERE key = ?")


def add(tx: Tx, credential: Credential, box: bytes) -> None:
    c = credential
    ends = micros(c.expires_at)
    tx.run(_ADD, (c.id, c.worker, c.label, box, micros(c.created_at), c.created_by, ends))


def lock(tx: Tx, worker: str) -> None:
    """Let nobody else change this worker's credentials until this transaction ends."""
    tx.one(_LOCK, (worker,))


def of_worker(tx: Tx, worker: str) -> list[Credential]:
    """Newest first, the dead ones too."""
    return [_credential(row) for row in tx.all(_LIST, (worker,))]


def usable(tx: Tx, worker: str, now: datetime) -> list[Sealed]:
    return [_sealed(row) for row in tx.all(_USABLE, (worker, micros(now)))]


def newest_usable(tx: Tx, now: datetime) -> Sealed | None:
    row = tx.one(_NEWEST, (micros(now),))
    return None if row is None else _sealed(row)


def exist_for(tx: Tx, worker: str) -> bool:
    """Whether the worker ever had a credential of its own."""
    return tx.one(_EXISTS, (worker,)) is not None


def exist(tx: Tx) -> bool:
    return tx.one(_ANY) is not None


def is_usable(tx: Tx, key: int, now: datetime) -> bool:
    return tx.one(_STILL_USABLE, (key, micros(now))) is not None


def revoke(tx: Tx, id: str, now: datetime) -> bool:
    return tx.run(_REVOKE, (micros(now), id)) == 1


def end_at(tx: Tx, id: str, end: datetime) -> None:
    tx.run(_END, (micros(end), id))


def touch(tx: Tx, key: int, now: datetime) -> None:
    tx.run(_TOUCH, (micros(now), key))


def _credential(row: Row) -> Credential:
    identity, worker, label, created_at, created_by, used_at, revoked_at, expires_at = row
    return Credential(
        identity,
        worker,
        label,
        moment(created_at) or EPOCH,
        created_by,
        moment(used_at),
        moment(revoked_at),
        moment(expires_at),
    )


def _sealed(row: Row) -> Sealed:
    key, identity, worker, box, expires_at = row
    return Sealed(key, identity, worker, bytes(box), moment(expires_at))
