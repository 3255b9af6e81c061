"""What can be done with local accounts: create, list, change their role or password, disable."""

from cableferry.core import accounts
from cableferry.core.access import Role
from cableferry.core.accounts import User
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.store import sessions
from cableferry.store import users as rows
from cableferry.store.tx import Tx


def create(tx: Tx, name: str, role: Role, password: str | None) -> User:
    """A new account; the password comes hashed, None for one that only uses tokens."""
    if not rows.add(tx, accounts.check_name(name), role, password):
        raise Conflict(f"there is a user {name} already", Kind.NAME_TAKEN)
    return get(tx, name)


def create_first(tx: Tx, name: str, password: str) -> User:
    """The first Owner; refused as soon as there is any user."""
    rows.lock(tx)
    if rows.exist(tx):
        raise Conflict("there are users already: ask one of the Owners", Kind.NAME_TAKEN)
    return create(tx, name, Role.OWNER, password)


def get(tx: Tx, name: str) -> User:
    user = rows.by_name(tx, name)
    if user is None:
        raise NotFound(f"user {name} not found", Kind.UNKNOWN_USER)
    return user


def find(tx: Tx) -> list[User]:
    return rows.all_of_them(tx)


def set_role(tx: Tx, name: str, role: Role) -> User:
    """Sessions and tokens follow at once: a token never reaches beyond its user."""
    owners = rows.owners(tx)
    user = get(tx, name)
    if role is not Role.OWNER:
        accounts.check_another_owner(user, owners)
    rows.set_role(tx, user.key, role)
    return get(tx, name)


def disable(tx: Tx, name: str) -> User:
    """Sign the user out everywhere and let nobody in under that name; doing it twice changes nothing."""
    owners = rows.owners(tx)
    user = get(tx, name)
    accounts.check_another_owner(user, owners)
    sessions.end_all(tx, name)
    if user.disabled_at is None:
        rows.set_disabled(tx, user.key, tx.now)
    return get(tx, name)


def enable(tx: Tx, name: str) -> User:
    rows.set_disabled(tx, get(tx, name).key, None)
    return get(tx, name)


def set_password(tx: Tx, name: str, password: str, kept_session: str = "") -> User:
    """A new password, hashed by the caller; every other browser is signed out."""
    user = get(tx, name)
    rows.set_password(tx, user.key, password)
    sessions.end_all(tx, name, kept_session)
    return get(tx, name)
