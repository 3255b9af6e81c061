"""What can be done with the access keys of S3's clients: issue, list, revoke, and see whose one is."""

import secrets
from datetime import datetime

import msgspec

from cableferry.core import access, accounts
from cableferry.core.access import Caller, Claimant, Person, Role
from cableferry.core.accounts import AccessKey
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound
from cableferry.engine import tokens, users
from cableferry.engine.credentials import Seal
from cableferry.store import access_keys as rows
from cableferry.store.access_keys import Proof
from cableferry.store.tx import Tx

PREFIX = "CF"


class Wanted(msgspec.Struct, frozen=True):
    """The access key that somebody asks for: a worker's, or else one's own."""

    worker: str | None = None
    may_write: bool = False
    label: str | None = None
    expires_at: datetime | None = None


class Issued(msgspec.Struct, frozen=True):
    """A new access key with its secret, which nobody sees a second time."""

    key: AccessKey
    secret: str

    def __repr__(self) -> str:
        return f"Issued({self.key.id!r})"


def issue(tx: Tx, seal: Seal, person: Person, wanted: Wanted) -> Issued:
    """A key of the caller's own, or for a Manager one of a worker; made with a token, it does no more than that one."""
    if wanted.worker is not None:
        _check_manages(person)
    if person.token is not None:
        tokens.check_life(tx, person.token, wanted.expires_at)
    return grant(tx, seal, person, wanted)


def grant(tx: Tx, seal: Seal, person: Person, wanted: Wanted) -> Issued:
    """The same, asked by whoever holds the database itself."""
    if wanted.worker is None:
        users.get(tx, person.name)
    if wanted.expires_at is not None and wanted.expires_at <= tx.now:
        raise Invalid("expires_at lies in the past")
    key = AccessKey(
        id=f"{PREFIX}{secrets.token_hex(9).upper()}",
        user=person.name if wanted.worker is None else None,
        worker=wanted.worker,
        role=person.role if wanted.worker is None else None,
        may_write=wanted.may_write,
        label=wanted.label,
        created_at=tx.now,
        created_by=person.actor,
        expires_at=wanted.expires_at,
    )
    secret = secrets.token_urlsafe(30)
    rows.add(tx, key, seal(secret.encode(), about(key.id)))
    return Issued(key, secret)


def find(tx: Tx, person: Person, user: str | None, worker: str | None) -> list[AccessKey]:
    """One's own keys; for an Owner those of any user, for a Manager those of any worker."""
    if worker is not None:
        _check_manages(person)
        return rows.of_worker(tx, worker)
    if user not in (None, person.name) and person.role is not Role.OWNER:
        raise Forbidden("only an Owner sees the access keys of others")
    return rows.of_user(tx, users.get(tx, user or person.name).name)


def revoke(tx: Tx, person: Person, id: str) -> AccessKey:
    """End a key at once; whoever could not have seen it learns nothing of it."""
    key = rows.by_id(tx, id)
    if key is None or not _may_revoke(person, key):
        raise NotFound(f"access key {id} not found", Kind.UNKNOWN_ACCESS_KEY)
    rows.revoke(tx, id, tx.now)
    return msgspec.structs.replace(key, revoked_at=key.revoked_at or tx.now)


def proof(tx: Tx, id: str) -> Proof | None:
    """The key behind an id, as long as it counts."""
    found = rows.proof(tx, id)
    if found is None or found.user_disabled_at is not None or not accounts.is_alive(found.key, tx.now):
        return None
    return found


def caller(proof: Proof) -> Caller:
    """Who calls with this key, and how far that reaches now."""
    key = proof.key
    if key.worker is not None:
        return Claimant(key.worker, key.id)
    roles = [role for role in (key.role, proof.user_role) if role is not None]
    return Person(key.user or "", min(roles))


def about(id: str) -> str:
    """What a key's box is sealed for."""
    return f"access key {id}"


def _may_revoke(person: Person, key: AccessKey) -> bool:
    if key.worker is not None:
        return person.role >= Role.MANAGER
    return person.role is Role.OWNER or key.user == person.name


def _check_manages(person: Person) -> None:
    if person.role < Role.MANAGER:
        raise Forbidden(f"the access keys of workers need the role {access.word(Role.MANAGER)}")
