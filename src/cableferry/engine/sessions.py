"""What can be done with browser sessions: sign in, be recognised, sign out; and how guessing is slowed."""

import secrets
from datetime import datetime, timedelta

import msgspec

from cableferry.core import accounts, throttling
from cableferry.core.access import Person, Role
from cableferry.core.accounts import Session
from cableferry.core.errors import Kind, NotFound
from cableferry.engine import ids, tokens
from cableferry.store import sessions as rows
from cableferry.store import throttles, users
from cableferry.store.tx import Tx


class Patience(msgspec.Struct, frozen=True):
    """How many failed sign-ins are free, and the longest wait after more."""

    free: int
    longest: timedelta


class Attempt(msgspec.Struct, frozen=True):
    """One try to sign in."""

    name: str
    address: str


class Opened(msgspec.Struct, frozen=True):
    """A new session with the text its cookie holds."""

    session: Session
    role: Role
    text: str

    def __repr__(self) -> str:
        return f"Opened({self.session.id!r})"


def count(tx: Tx, attempt: Attempt, patience: Patience) -> timedelta | None:
    """Count a try before its password is looked at; how long to wait when there were too many."""
    longest = min(throttling.ACCOUNT_LONGEST, patience.longest)
    wide = Patience(patience.free * throttling.ADDRESS_FACTOR, patience.longest)
    wait = _count(tx, _address(attempt), wide)
    return wait or _count(tx, _account(attempt), Patience(patience.free, longest))


def forgive(tx: Tx, attempt: Attempt) -> None:
    """The password was right: the account starts afresh, the address only takes this try back."""
    throttles.forget(tx, _account(attempt))
    throttles.forgive(tx, _address(attempt))


def open_for(tx: Tx, name: str, agent: str | None, idle: timedelta) -> Opened | None:
    """A session for a user whose password was right; None when the user was disabled meanwhile."""
    user = users.by_name(tx, name)
    text = secrets.token_urlsafe(32)
    session = Session(ids.new(tx.now), name, secrets.token_urlsafe(24), agent, tx.now, tx.now, tx.now + idle)
    if user is None or not rows.add(tx, session, tokens.digest(text)):
        return None
    return Opened(session, user.role, text)


def visit(tx: Tx, text: str) -> rows.Visit | None:
    """The living session that a cookie stands for."""
    return rows.by_digest(tx, tokens.digest(text))


def person(session: Session, role: Role) -> Person:
    return Person(session.user, role, session=session.id)


def slide(tx: Tx, session: Session, idle: timedelta) -> None:
    """A session that is used lives on."""
    rows.slide(tx, session.id, accounts.slides_to(session, idle, tx.now))


def find(tx: Tx, user: str) -> list[Session]:
    return rows.of_user(tx, user)


def end(tx: Tx, user: str, id: str) -> None:
    if not rows.end(tx, id, user):
        raise NotFound(f"session {id} not found", Kind.UNKNOWN_SESSION)


def end_all(tx: Tx, user: str) -> int:
    """Sign out everywhere."""
    return rows.end_all(tx, user)


def purge(tx: Tx) -> int:
    """Forget sessions that have ended and failures that no longer count; return how many."""
    return rows.purge(tx) + throttles.purge(tx, tx.now - throttling.FORGOTTEN_AFTER)


def _count(tx: Tx, subject: str, patience: Patience) -> timedelta | None:
    failures = throttles.count(tx, subject, tx.now - throttling.FORGOTTEN_AFTER)
    if failures is None:
        return _rest(throttles.blocked_until(tx, subject), tx.now)
    throttles.block(tx, subject, tx.now + throttling.delay(failures, patience.free, patience.longest))
    return None


def _rest(until: datetime | None, now: datetime) -> timedelta:
    return max((until or now) - now, timedelta(seconds=1))


def _account(attempt: Attempt) -> str:
    return f"account:{attempt.name}"


def _address(attempt: Attempt) -> str:
    return f"address:{attempt.address}"
