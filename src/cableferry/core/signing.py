"""Signed requests: the canonical string, its HMAC, and whether a timestamp is fresh."""

import base64
import binascii
import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

from cableferry.core.errors import Invalid, Kind

SCHEME = "HMAC-SHA256"
EMPTY_HASH = hashlib.sha256(b"").hexdigest()
WINDOW = timedelta(seconds=300)
NONCE_LENGTH = 128
_NONCE = re.compile(rf"[!-~]{{1,{NONCE_LENGTH}}}")
SECRET_LENGTH = 32
_HASH = re.compile(r"[0-9a-f]{64}")


def canonical(method: str, target: str, body_hash: str, timestamp: str, nonce: str) -> bytes:
    """What is signed: five lines, the target exactly as its writer wrote it."""
    return f"{method}\n{target}\n{body_hash}\n{timestamp}\n{nonce}".encode("utf-8", "surrogateescape")


def targets(raw: str) -> tuple[str, ...]:
    """The spellings of a target its writer may have signed: as sent, then percent-decoded."""
    if "%" not in raw:
        return (raw,)
    try:
        decoded = unquote(raw, errors="strict")
    except UnicodeDecodeError:
        return (raw,)
    return (raw, decoded)


def body_hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest() if body else EMPTY_HASH


def declared_hash(content_sha256: str | None, content_digest: str | None) -> str | None:
    """The hash that a streamed body's header declares, from Content-SHA256 or RFC 9530's Content-Digest."""
    if content_sha256 is not None:
        return _checked_hash(content_sha256.lower(), "Content-SHA256")
    for item in (content_digest or "").split(","):
        name, _, value = item.strip().partition("=")
        if name == "sha-256" and value.startswith(":") and value.endswith(":"):
            return _checked_hash(_from_base64(value.strip(":")), "Content-Digest")
    return None


def sign(secret: bytes, message: bytes) -> str:
    return hmac.digest(secret, message, "sha256").hex()


def verify(secret: bytes, message: bytes, signature: str) -> bool:
    """In constant time, whatever the signature holds."""
    return is_same(sign(secret, message), signature)


def is_same(expected: str, given: str) -> bool:
    """In constant time for texts of one length."""
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


def is_nonce(text: str) -> bool:
    """1 to 128 visible ASCII characters."""
    return _NONCE.fullmatch(text) is not None


def parse_timestamp(text: str) -> datetime:
    """Unix seconds or ISO-8601; a time without a zone is UTC."""
    try:
        if text.isascii() and text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise Invalid(
            "X-Timestamp must be Unix seconds or an ISO-8601 time", Kind.BAD_HEADER, header="X-Timestamp"
        ) from None


def skew(timestamp: datetime, now: datetime) -> float:
    """How many seconds the sender's clock is ahead of ours."""
    return (timestamp - now).total_seconds()


def is_fresh(timestamp: datetime, now: datetime) -> bool:
    return abs(timestamp - now) <= WINDOW


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).hex()
    except binascii.Error:
        return ""


def _checked_hash(text: str, header: str) -> str:
    if not _HASH.fullmatch(text):
        raise Invalid(f"{header} must hold the SHA-256 of the body", Kind.BAD_HEADER, header=header)
    return text
