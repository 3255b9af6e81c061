"""Nonces that have been spent: each signs one request, in whichever process and after any restart."""

import hashlib
from datetime import datetime

from cableferry.store.tx import Tx, micros, statement

# two requests with one nonce at the same moment: the unique index lets one of them through
_SPEND = statement("nonce_spent", "INSERT INTO nonces (at, nonce) VALUES (?, ?) ON CONFLICT (nonce) DO NOTHING")
# the credential is looked at in the same statement, so a revocation in any process counts at once
_SPEND_WITH_CREDENTIAL = statement(
    "nonce_spent_with_valid_credential",
    """INSERT INTO nonces (at, nonce) SELECT ?, ? FROM credentials
    WHERE key = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
    ON CONFLICT (nonce) DO NOTHING""",
)
# `seq` grows with `at`, so the oldest are found without an index on the time; Postgres would read the
# whole table for the IN of a subquery, not for an array
_PURGE = statement(
    "nonces_forgotten",
    sqlite="DELETE FROM nonces WHERE seq IN (SELECT seq FROM nonces ORDER BY seq LIMIT ?) AND at < ?",
    postgres="DELETE FROM nonces WHERE seq = ANY (ARRAY(SELECT seq FROM nonces ORDER BY seq LIMIT ?)) AND at < ?",
)


def spend(tx: Tx, credential: str, nonce: str, now: datetime) -> bool:
    """Whether this nonce is spent here for the first time."""
    return tx.run(_SPEND, (micros(now), digest(credential, nonce))) == 1


def spend_with_credential(tx: Tx, credential_key: int, nonce: str, now: datetime) -> int:
    """1 when it is spent; 0 when it was spent before, or the credential is revoked or has expired."""
    at = micros(now)
    return tx.run(_SPEND_WITH_CREDENTIAL, (at, digest(f"credential {credential_key}", nonce), credential_key, at))


def purge(tx: Tx, before: datetime, most: int) -> int:
    """Forget up to `most` of those that no signature can use any more."""
    return tx.run(_PURGE, (most, micros(before)))


def digest(credential: str, nonce: str) -> bytes:
    """A nonce counts for the credential that signed it; the NUL keeps `a` + `bc` from `ab` + `c`."""
    return hashlib.sha256(f"{credential}\0{nonce}".encode()).digest()[:16]
