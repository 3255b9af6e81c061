"""What can be done with API tokens: create, list, revoke, and see whose one is."""

import hashlib
import hmac
import secrets
from datetime import datetime

import msgspec

from cableferry.core import accounts
from cableferry.core.access import Person, Role
from cableferry.core.accounts import Token
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound
from cableferry.engine import users
from cableferry.store import tokens as rows
from cableferry.store.tx import Tx

PREFIX = "cf_"


class Wanted(msgspec.Struct, frozen=True):
    """The token that somebody asks for."""

    role: Role
    label: str | None = None
    expires_at: datetime | None = None


class Created(msgspec.Struct, frozen=True):
    """A new token with its text, which nobody sees a second time."""

    token: Token
    text: str

    def __repr__(self) -> str:
        return f"Created({self.token.id!r})"


def create(tx: Tx, person: Person, wanted: Wanted) -> Created:
    """A token of the caller's own; one made with a token neither reaches further nor lives longer."""
    accounts.check_scope(person, wanted.role)
    if wanted.expires_at is not None and wanted.expires_at <= tx.now:
        raise Invalid("expires_at lies in the past")
    if person.token is not None:
        check_life(tx, person.token, wanted.expires_at)
    return grant(tx, person.name, wanted)


def grant(tx: Tx, user: str, wanted: Wanted) -> Created:
    """A token for a user, asked by whoever holds the database itself."""
    new, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    token = Token(new, user, wanted.label, wanted.role, tx.now, expires_at=wanted.expires_at)
    if not rows.add(tx, token, digest(secret)):
        raise NotFound(f"user {user} not found", Kind.UNKNOWN_USER)
    return Created(token, f"{PREFIX}{new}_{secret}")


def get(tx: Tx, id: str) -> Token:
    token = rows.by_id(tx, id)
    if token is None:
        raise _unknown(id)
    return token


def find(tx: Tx, user: str) -> list[Token]:
    return rows.of_user(tx, users.get(tx, user).name)


def revoke(tx: Tx, person: Person, id: str) -> Token:
    """End a token at once: one's own, or as an Owner anybody's."""
    token = get(tx, id)
    if token.user != person.name and person.role is not Role.OWNER:
        raise _unknown(id)
    rows.revoke(tx, id, tx.now)
    return get(tx, id)


def check_life(tx: Tx, maker_id: str, expires_at: datetime | None) -> None:
    """Refuse what is made with a token and would outlive it."""
    end = get(tx, maker_id).expires_at
    if end is not None and (expires_at is None or expires_at > end):
        raise Forbidden(f"what is made with a token ends no later than that one: {end:%FT%TZ}")


def person(tx: Tx, text: str) -> tuple[Person, Token] | None:
    """Whose token this is, as far as it counts now."""
    name, _, secret = text.removeprefix(PREFIX).partition("_")
    proof = rows.proof(tx, name) if name.isascii() and name.isalnum() else None
    is_right = hmac.compare_digest(proof.digest if proof else b"", digest(secret))
    if proof is None or not is_right or proof.user_disabled_at or not accounts.is_alive(proof.token, tx.now):
        return None
    role = min(proof.token.role, proof.user_role)
    return Person(proof.token.user, role, token=proof.token.id), proof.token


def digest(secret: str) -> bytes:
    """256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _unknown(id: str) -> NotFound:
    return NotFound(f"token {id} not found", Kind.UNKNOWN_TOKEN)
