"""What a user, a token, an access key and a browser session are, and when each still counts."""

import re
from datetime import datetime, timedelta

import msgspec

from cableferry.core.access import Person, Role, word
from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
PASSWORD_LENGTHS = range(12, 1025)
SESSION_LIFE = timedelta(days=7)
STALE = timedelta(minutes=1)


class User(msgspec.Struct, frozen=True):
    """A local account."""

    key: int
    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None = None
    has_password: bool = False


class Token(msgspec.Struct, frozen=True):
    """A user's right to call from a program; what proves it is stored as a digest only."""

    id: str
    user: str
    label: str | None
    role: Role
    created_at: datetime
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class AccessKey(msgspec.Struct, frozen=True):
    """A user's or a worker's right to open artifacts with S3's clients; its secret is not here."""

    id: str
    user: str | None
    worker: str | None
    role: Role | None
    may_write: bool
    label: str | None
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class Session(msgspec.Struct, frozen=True):
    """One browser that is signed in; `csrf` must come back with each request that changes something."""

    id: str
    user: str
    csrf: str
    agent: str | None
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


def check_name(name: str) -> str:
    """Refuse names that two people could read as one."""
    if not NAME.fullmatch(name):
        raise Invalid(f"the name {name[:64]!r} is not allowed: lower-case letters, digits and . _ @ + -, at most 64")
    return name


def check_password(name: str, password: str) -> str:
    """Refuse what is guessed first; long beats complicated."""
    if len(password) not in PASSWORD_LENGTHS:
        shortest, longest = PASSWORD_LENGTHS.start, PASSWORD_LENGTHS.stop - 1
        raise Invalid(f"a password has between {shortest} and {longest} characters")
    if len(set(password)) < 4 or name.lower() == password.lower():
        raise Invalid("this password is too easy to guess: use a longer sentence")
    return password


def check_another_owner(user: User, owners: list[str]) -> None:
    """Refuse to take the last Owner away."""
    if user.role is Role.OWNER and user.disabled_at is None and set(owners) <= {user.name}:
        raise Conflict(f"{user.name} is the last Owner: give another user that role first", Kind.LAST_OWNER)


def check_scope(person: Person, wanted: Role) -> None:
    """Refuse a token that could do more than whoever asks for it."""
    if wanted > person.role:
        raise Forbidden(f"a token of {person.name} reaches at most the role {word(person.role)}")


def is_alive(token: Token | AccessKey, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def slides_to(session: Session, idle: timedelta, now: datetime) -> datetime:
    """When a session that is used now ends: after the idle time, and at the latest after its whole life."""
    return min(now + idle, session.created_at + SESSION_LIFE)


def is_stale(seen_at: datetime | None, now: datetime) -> bool:
    """Whether a use is worth writing down again."""
    return seen_at is None or now - seen_at >= STALE
