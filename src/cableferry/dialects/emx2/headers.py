"""The headers that every request of the protocol carries, and the refusals in its words."""

import re
from collections.abc import Mapping

import msgspec

from cableferry.core import signing
from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Headers, Rendered
from cableferry.wire.emx2 import VERSION
from cableferry.wire.emx2.words import WORDS

VERSIONS = (VERSION,)
REQUIRED = ("X-EMX2-API-Version", "X-Request-Id", "X-Timestamp")

_UUID = re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RETRYABLE = frozenset({Kind.CHANGED_MEANWHILE, Kind.TOO_MANY, Kind.UNAVAILABLE, Kind.CLOCK_SKEW})
_ENCODER = msgspec.json.Encoder()
_STATUS_WORDS: Mapping[object, str] = {state.value: word for state, word in WORDS.items()}


def check(headers: Headers) -> None:
    """Refuse a request that does not say its version, its id and its time."""
    version = headers.get(b"x-emx2-api-version")
    request_id = headers.get(b"x-request-id")
    timestamp = headers.get(b"x-timestamp")
    if version is None or request_id is None or timestamp is None:
        raise _missing(headers)
    if version.decode("latin-1") not in VERSIONS:
        raise Invalid(
            f"X-EMX2-API-Version {version.decode('latin-1')[:40]!r} is not supported: use {', '.join(VERSIONS)}",
            Kind.UNSUPPORTED_VERSION,
        )
    if not _UUID.fullmatch(request_id):
        raise Invalid("X-Request-Id must be a UUID", Kind.BAD_HEADER, header="X-Request-Id")
    signing.parse_timestamp(timestamp.decode("latin-1"))


def _missing(headers: Headers) -> Invalid:
    name = next(name for name in REQUIRED if name.lower().encode() not in headers)
    return Invalid(f"the header {name} is missing: every request carries it", Kind.MISSING_HEADER, header=name)


def render(refusal: Refusal, request_id: str | None) -> Rendered:
    """An RFC 9457 problem document."""
    status = denials.status_of(refusal)
    document: dict[str, object] = {
        "type": f"urn:cableferry:problem:{refusal.kind}",
        "title": status.phrase,
        "status": int(status),
        "detail": refusal.detail,
    }
    if request_id is not None:
        document |= {"instance": f"urn:request:{request_id}", "request_id": request_id}
    if refusal.kind in _RETRYABLE:
        document["retryable"] = True
    document |= {name: _said(name, fact) for name, fact in refusal.facts.items() if fact is not None}
    return Rendered(_ENCODER.encode(document), b"application/problem+json")


def _said(name: str, fact: object) -> object:
    return _STATUS_WORDS.get(fact, fact) if name == "current_state" else fact
