"""What can be done with a worker's credentials: issue, rotate, revoke, list."""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from cableferry.core import credentials
from cableferry.core.credentials import Credential, Standing
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound
from cableferry.engine import ids
from cableferry.store import credentials as rows
from cableferry.store.tx import News, Tx

SHARED = "shared"
"""The name of the secret of workers that have none of their own."""

Seal = Callable[[bytes, str], bytes]
"""Encrypts bytes; only the same text opens them again, so that a box counts in its own row alone."""


class Wanted(msgspec.Struct, frozen=True):
    """The credential that somebody asks for."""

    worker: str
    actor: str
    label: str | None = None
    expires_at: datetime | None = None


class Issued(msgspec.Struct, frozen=True):
    """A new credential with its secret, which nobody sees a second time."""

    credential: Credential
    secret: str

    def __repr__(self) -> str:
        return f"Issued({self.credential.id!r})"


def issue(tx: Tx, seal: Seal, wanted: Wanted) -> Issued:
    """A first credential, or the next one after all others have ended."""
    rows.lock(tx, wanted.worker)
    credentials.check_none_active(wanted.worker, rows.of_worker(tx, wanted.worker), tx.now)
    return _add(tx, seal, wanted)


def rotate(tx: Tx, seal: Seal, wanted: Wanted, grace: timedelta) -> Issued:
    """A new credential, with the old label unless there is a new one; those before it end now or after the grace."""
    rows.lock(tx, wanted.worker)
    known = rows.of_worker(tx, wanted.worker)
    active = [old for old in known if credentials.standing(old, tx.now) is Standing.ACTIVE]
    for old in active:
        _end(tx, old, grace)
    label = wanted.label or next((old.label for old in active), None)
    return _add(tx, seal, msgspec.structs.replace(wanted, label=label))


def revoke(tx: Tx, worker: str, id: str) -> Credential:
    """End a credential at once; ending it twice changes nothing."""
    rows.lock(tx, worker)
    rows.revoke(tx, _get(tx, worker, id).id, tx.now)
    tx.announce(News("credential", worker, "revoked"))
    return _get(tx, worker, id)


def find(tx: Tx, worker: str) -> list[Credential]:
    return rows.of_worker(tx, worker)


def check_shared_secret(tx: Tx, worker: str) -> None:
    """Refuse the shared secret for a worker that has, or had, a credential of its own."""
    if rows.exist_for(tx, worker):
        raise Forbidden(f"worker {worker} has a credential of its own: sign with that one", Kind.NOT_YOURS)


def about(id: str, worker: str) -> str:
    """What a credential's box is sealed for."""
    return f"credential {id} of {worker}"


def _add(tx: Tx, seal: Seal, wanted: Wanted) -> Issued:
    if wanted.expires_at is not None and wanted.expires_at <= tx.now:
        raise Invalid("expires_at lies in the past")
    new, secret = ids.new(tx.now), secrets.token_urlsafe(32)
    credential = Credential(new, wanted.worker, wanted.label, tx.now, wanted.actor, expires_at=wanted.expires_at)
    rows.add(tx, credential, seal(secret.encode(), about(new, wanted.worker)))
    tx.announce(News("credential", wanted.worker, "issued"))
    return Issued(credential, secret)


def _end(tx: Tx, old: Credential, grace: timedelta) -> None:
    if grace:
        rows.end_at(tx, old.id, credentials.end_of_grace(old, tx.now, grace))
    else:
        rows.revoke(tx, old.id, tx.now)


def _get(tx: Tx, worker: str, id: str) -> Credential:
    for credential in rows.of_worker(tx, worker):
        if credential.id == id:
            return credential
    raise NotFound(f"worker {worker} has no credential {id}", Kind.UNKNOWN_CREDENTIAL)
