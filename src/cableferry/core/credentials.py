"""What a worker's credential is, and when it counts."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from cableferry.core.errors import Conflict, Kind


class Standing(StrEnum):
    """Whether a credential still opens the door."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Credential(msgspec.Struct, frozen=True):
    """The right of one worker to sign requests; its secret is not here."""

    id: str
    worker: str
    label: str | None
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None


class Sealed(msgspec.Struct, frozen=True):
    """A credential's secret as it is stored: readable only with the server's key."""

    key: int
    id: str
    worker: str
    box: bytes
    expires_at: datetime | None = None


def standing(credential: Credential, now: datetime) -> Standing:
    if credential.revoked_at is not None:
        return Standing.REVOKED
    if credential.expires_at is not None and credential.expires_at <= now:
        return Standing.EXPIRED
    return Standing.ACTIVE


def check_none_active(worker: str, credentials: list[Credential], now: datetime) -> None:
    """Refuse a second credential beside an active one: that is what rotation is for."""
    for credential in credentials:
        if standing(credential, now) is Standing.ACTIVE:
            raise Conflict(
                f"worker {worker} already has the active credential {credential.id}: rotate or revoke it",
                Kind.CREDENTIAL_EXISTS,
            )


def end_of_grace(credential: Credential, now: datetime, grace: timedelta) -> datetime:
    """When a rotated credential stops counting; grace never lengthens a life."""
    end = now + grace
    return end if credential.expires_at is None else min(end, credential.expires_at)
