"""Rows of API tokens."""

from datetime import datetime

import msgspec

from cableferry.core.access import Role
from cableferry.core.accounts import Token
from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_ADD = statement(
    "token_added",
    """INSERT INTO tokens (id, user_key, label, digest, role, created_at, expires_at)
    SELECT ?, key, ?, ?, ?, ?, ? FROM users WHERE name = ?""",
)
_OF_USER = statement(
    "tokens_of_user",
    """SELECT t.id, u.name, t.label, t.role, t.created_at, t.last_used_at, t.expires_at, t.revoked_at
    FROM tokens t JOIN users u ON u.key = t.user_key WHERE u.name = ? ORDER BY t.key DESC""",
)
_BY_ID = statement(
    "token_by_id",
    """SELECT t.id, u.name, t.label, t.role, t.created_at, t.last_used_at, t.expires_at, t.revoked_at
    FROM tokens t JOIN users u ON u.key = t.user_key WHERE t.id = ?""",
)
_PROOF = statement(
    "token_with_its_user",
    """SELECT t.id, u.name, t.label, t.role, t.created_at, t.last_used_at, t.expires_at, t.revoked_at,
    t.digest, u.role, u.disabled_at FROM tokens t JOIN users u ON u.key = t.user_key WHERE t.id = ?""",
)
_REVOKE = statement("token_revoked", "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
_TOUCH = statement("token_used", "UPDATE tokens SET last_used_at = ? WHERE id = ?")


class Proof(msgspec.Struct, frozen=True):
    """A token beside what it is checked against: its digest and its user as they are now."""

    token: Token
    digest: bytes
    user_role: Role
    user_disabled_at: datetime | None


def add(tx: Tx, token: Token, digest: bytes) -> bool:
    """False when there is no such user."""
    t = token
    params = (t.id, t.label, digest, int(t.role), micros(t.created_at), micros(t.expires_at), t.user)
    return tx.run(_ADD, params) == 1


def of_user(tx: Tx, name: str) -> list[Token]:
    """Newest first, the dead ones too."""
    return [_token(row) for row in tx.all(_OF_USER, (name,))]


def by_id(tx: Tx, id: str) -> Token | None:
    row = tx.one(_BY_ID, (id,))
    return None if row is None else _token(row)


def proof(tx: Tx, id: str) -> Proof | None:
    row = tx.one(_PROOF, (id,))
    if row is None:
        return None
    digest, role, disabled_at = row[8:]
    return Proof(_token(row[:8]), bytes(digest), Role(role), moment(disabled_at))


def revoke(tx: Tx, id: str, now: datetime) -> bool:
    return tx.run(_REVOKE, (micros(now), id)) == 1


def touch(tx: Tx, id: str, now: datetime) -> None:
    tx.run(_TOUCH, (micros(now), id))


def _token(row: Row) -> Token:
    identity, user, label, role, created_at, used_at, expires_at, revoked_at = row
    return Token(
        identity,
        user,
        label,
        Role(role),
        moment(created_at) or EPOCH,
        moment(used_at),
        moment(expires_at),
        moment(revoked_at),
    )
