"""The headers that every request of the protocol carries, and the refusals in its words."""

import re

from cableferry.core import signing
from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.dialects import problems
from cableferry.dialects.endpoint import Asking, Headers, Rendered
from cableferry.wire.emx2 import VERSION
from cableferry.wire.emx2.words import STATUS_WORDS

VERSIONS = (VERSION,)
REQUIRED = ("X-EMX2-API-Version", "X-Request-Id", "X-Timestamp")

_UUID = re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


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


def render(refusal: Refusal, asking: Asking) -> Rendered:
    """A problem document with the protocol's words for states."""
    return problems.render(refusal, asking, STATUS_WORDS)
