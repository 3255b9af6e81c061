"""Rows of the access keys of S3's clients."""

from datetime import datetime
from typing import cast

import msgspec

from cableferry.core.access import Role
from cableferry.core.accounts import AccessKey
from cableferry.store.tx import Row, Tx, micros, moment, statement

_COLUMNS = """k.id, u.name, k.worker, k.role, k.may_write, k.label,
    k.created_at, k.created_by, k.last_used_at, k.expires_at, k.revoked_at"""
_FROM = "FROM access_keys k LEFT JOIN users u ON u.key = k.user_key"

_ADD = statement(
    "access_key_added",
    """INSERT INTO access_keys
    (id, user_key, worker, role, may_write, label, sealed, created_at, created_by, expires_at)
    VALUES (?, (SELECT key FROM users WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?)""",
)
_OF_USER = statement("access_keys_of_user", f"SELECT {_COLUMNS} {_FROM} WHERE u.name = ? ORDER BY k.key DESC")
_OF_WORKER = statement("access_keys_of_worker", f"SELECT {_COLUMNS} {_FROM} WHERE k.worker = ? ORDER BY k.key DESC")
_BY_ID = statement("access_key_by_id", f"SELECT {_COLUMNS} {_FROM} WHERE k.id = ?")
_PROOF = statement(
    "access_key_with_its_user", f"SELECT {_COLUMNS}, k.sealed, u.role, u.disabled_at {_FROM} WHERE k.id = ?"
)
_REVOKE = statement("access_key_revoked", "UPDATE access_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
_TOUCH = statement("access_key_used", "UPDATE access_keys SET last_used_at = ? WHERE id = ?")


class Proof(msgspec.Struct, frozen=True):
    """An access key beside what a signature is checked with: its sealed secret, and its user as they are now."""

    key: AccessKey
    box: bytes
    user_role: Role | None
    user_disabled_at: datetime | None


def add(tx: Tx, key: AccessKey, box: bytes) -> None:
    k = key
    role, may_write = None if k.role is None else int(k.role), int(k.may_write)
    times = micros(k.created_at), k.created_by, micros(k.expires_at)
    tx.run(_ADD, (k.id, k.user, k.worker, role, may_write, k.label, box, *times))


def of_user(tx: Tx, name: str) -> list[AccessKey]:
    """Newest first, the dead ones too."""
    return [_key(row) for row in tx.all(_OF_USER, (name,))]


def of_worker(tx: Tx, worker: str) -> list[AccessKey]:
    return [_key(row) for row in tx.all(_OF_WORKER, (worker,))]


def by_id(tx: Tx, id: str) -> AccessKey | None:
    row = tx.one(_BY_ID, (id,))
    return None if row is None else _key(row)


def proof(tx: Tx, id: str) -> Proof | None:
    row = tx.one(_PROOF, (id,))
    if row is None:
        return None
    box, role, disabled_at = row[-3:]
    return Proof(_key(row[:-3]), bytes(box), None if role is None else Role(role), moment(disabled_at))


def revoke(tx: Tx, id: str, now: datetime) -> None:
    tx.run(_REVOKE, (micros(now), id))


def touch(tx: Tx, id: str, now: datetime) -> None:
    tx.run(_TOUCH, (micros(now), id))


def _key(row: Row) -> AccessKey:
    identity, user, worker, role, may_write, label, created_at, created_by, *times = row
    return AccessKey(
        identity,
        user,
        worker,
        None if role is None else Role(role),
        bool(may_write),
        label,
        cast(datetime, moment(created_at)),
        created_by,
        *map(moment, times),
    )
