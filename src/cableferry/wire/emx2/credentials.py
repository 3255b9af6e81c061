"""The bodies of the credential endpoints of the EMX2 protocol."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import credentials
from cableferry.core.credentials import Credential, Standing
from cableferry.core.errors import Invalid
from cableferry.wire import texts
from cableferry.wire.emx2 import bodies
from cableferry.wire.emx2.bodies import Link, Links

Label = Annotated[str, Meta(max_length=255, pattern=texts.ONE_LINE)]
Grace = Annotated[int, Meta(ge=0, le=10**7)]

WORDS: dict[Standing, str] = {
    Standing.ACTIVE: "ACTIVE",
    Standing.EXPIRED: "EXPIRED",
    Standing.REVOKED: "REVOKED",
}


class IssueBody(msgspec.Struct, frozen=True):
    """`expires_at` is ISO-8601; a time without a zone is UTC."""

    label: Label | None = None
    expires_at: str | None = None


class RotateBody(IssueBody, frozen=True):
    """`grace_seconds` is how long the credentials before this one stay valid."""

    grace_seconds: Grace | None = None


class CredentialBody(msgspec.Struct, frozen=True):
    id: str
    worker_id: str
    status: str
    label: str | None
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    expires_at: datetime | None


class IssuedBody(msgspec.Struct, frozen=True):
    """The one answer that shows the secret."""

    id: str
    worker_id: str
    status: str
    label: str | None
    created_at: datetime
    expires_at: datetime | None
    secret: str
    links: Links = msgspec.field(name="_links")

    def __repr__(self) -> str:
        return f"IssuedBody(id={self.id!r})"


class CredentialList(msgspec.Struct, frozen=True):
    items: list[CredentialBody]
    count: int
    links: Links = msgspec.field(name="_links")


def credential(value: Credential, now: datetime) -> CredentialBody:
    """A credential as the protocol shows it, without its secret."""
    return CredentialBody(
        value.id,
        value.worker,
        WORDS[credentials.standing(value, now)],
        value.label,
        value.created_at,
        value.created_by,
        value.last_used_at,
        value.revoked_at,
        value.expires_at,
    )


def issued(value: Credential, secret: str) -> IssuedBody:
    """A new credential, this once with its secret."""
    folder = _folder(value.worker)
    links = {
        "list": Link(folder, "GET"),
        "revoke": Link(f"{folder}/{value.id}/revoke", "POST"),
    }
    return IssuedBody(
        value.id,
        value.worker,
        WORDS[Standing.ACTIVE],
        value.label,
        value.created_at,
        value.expires_at,
        secret,
        links,
    )


def listing(worker: str, values: list[Credential], now: datetime) -> CredentialList:
    items = [credential(value, now) for value in values]
    return CredentialList(items, len(items), {"self": Link(_folder(worker), "GET")})


def label(text: str | None) -> str | None:
    return (text or "").strip() or None


def expiry(text: str | None) -> datetime | None:
    """The moment an expiry names, None for no end."""
    if not (text or "").strip():
        return None
    try:
        moment = datetime.fromisoformat((text or "").strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Invalid("expires_at must be an ISO-8601 time, for example 2030-01-31T12:00:00Z") from None


def _folder(worker: str) -> str:
    return f"{bodies.worker_href(worker)}/credentials"
