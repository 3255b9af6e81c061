"""Rows of local accounts."""

from datetime import datetime

from cableferry.core.access import Role
from cableferry.core.accounts import User
from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_ADD = statement(
    "user_added",
    """INSERT INTO users (name, role, password, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (name) DO NOTHING""",
)
_BY_NAME = statement(
    "user_by_name",
    "SELECT key, name, role, created_at, disabled_at, password IS NOT NULL FROM users WHERE name = ?",
)
_PASSWORD = statement("password_of_user", "SELECT password FROM users WHERE name = ? AND disabled_at IS NULL")
_LIST = statement(
    "users", "SELECT key, name, role, created_at, disabled_at, password IS NOT NULL FROM users ORDER BY name"
)
_ANY = statement("any_user", "SELECT 1 FROM users LIMIT 1")
# two requests that each take one of two Owners away must not both succeed
_OWNERS = statement(
    "owners_locked",
    sqlite="SELECT name FROM users WHERE role = 4 AND disabled_at IS NULL ORDER BY key",
    postgres="SELECT name FROM users WHERE role = 4 AND disabled_at IS NULL ORDER BY key FOR UPDATE",
)
_SET_ROLE = statement("user_role_changed", "UPDATE users SET role = ? WHERE key = ?")
_SET_PASSWORD = statement("user_password_changed", "UPDATE users SET password = ? WHERE key = ?")
_SET_DISABLED = statement("user_disabled", "UPDATE users SET disabled_at = ? WHERE key = ?")
# one first owner: whoever asks second waits, and then sees the first
_LOCK = statement("users_locked", sqlite="SELECT 1", postgres="SELECT pg_advisory_xact_lock(7238452)")


def add(tx: Tx, name: str, role: Role, password: str | None) -> bool:
    """False when the name is taken."""
    return tx.run(_ADD, (name, int(role), password, micros(tx.now))) == 1


def by_name(tx: Tx, name: str) -> User | None:
    row = tx.one(_BY_NAME, (name,))
    return None if row is None else _user(row)


def password_of(tx: Tx, name: str) -> str | None:
    """The stored hash of an account that may sign in."""
    row = tx.one(_PASSWORD, (name,))
    return None if row is None else row[0]


def all_of_them(tx: Tx) -> list[User]:
    return [_user(row) for row in tx.all(_LIST)]


def exist(tx: Tx) -> bool:
    return tx.one(_ANY) is not None


def lock(tx: Tx) -> None:
    tx.one(_LOCK)


def owners(tx: Tx) -> list[str]:
    """Names of the Owners that may sign in, held until this transaction ends."""
    return [name for (name,) in tx.all(_OWNERS)]


def set_role(tx: Tx, key: int, role: Role) -> None:
    tx.run(_SET_ROLE, (int(role), key))


def set_password(tx: Tx, key: int, password: str) -> None:
    tx.run(_SET_PASSWORD, (password, key))


def set_disabled(tx: Tx, key: int, at: datetime | None) -> None:
    tx.run(_SET_DISABLED, (micros(at), key))


def _user(row: Row) -> User:
    key, name, role, created_at, disabled_at, has_password = row
    return User(key, name, Role(role), moment(created_at) or EPOCH, moment(disabled_at), bool(has_password))
