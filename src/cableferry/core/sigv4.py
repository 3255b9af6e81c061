"""AWS Signature Version 4 as S3 has it: what a request says of its signature, and whether the signature is right."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from cableferry.core import signing
from cableferry.core.errors import Forbidden, Invalid, Kind

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = timedelta(minutes=15)
LONGEST_LIFE = 7 * 24 * 3600
SERVICE = "s3"
_END = "aws4_request"

_STAMP = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_PART = re.compile(r"\s*(\w+)=([^\s,]*)\s*", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,128}")
_QUERY = ("X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature")


class Payload(StrEnum):
    """How a body is signed when its hash is not."""

    UNSIGNED = "UNSIGNED-PAYLOAD"
    CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    CHUNKS_AND_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    UNSIGNED_WITH_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


class Scope(msgspec.Struct, frozen=True):
    """What a signing key is for: one day, one region, this service."""

    date: str
    region: str

    @property
    def text(self) -> str:
        return f"{self.date}/{self.region}/{SERVICE}/{_END}"


class Proof(msgspec.Struct, frozen=True):
    """What a request says of its signature; nothing of it is known to be true yet."""

    access_key: str
    scope: Scope
    stamp: str
    signed_headers: tuple[str, ...]
    signature: str
    lasts: timedelta | None = None

    @property
    def signed_at(self) -> datetime:
        return _moment(self.stamp)

    @property
    def is_presigned(self) -> bool:
        return self.lasts is not None


class Message(msgspec.Struct, frozen=True):
    """The signed parts of a request, as they were sent; the names of headers are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[bytes, bytes]
    payload: str


class Signed(msgspec.Struct, frozen=True):
    """What a signature was found to be right for, and the key that chunks of the body are signed with too."""

    proof: Proof
    key: bytes

    def __repr__(self) -> str:
        return f"Signed({self.proof.access_key!r})"


def read_header(authorization: str, stamp: str | None) -> Proof:
    """The proof in an Authorization header, with the time from X-Amz-Date."""
    scheme, _, rest = authorization.partition(" ")
    parts = [_PART.fullmatch(part) for part in rest.split(",")]
    found = {part[1]: part[2] for part in parts if part}
    if scheme != ALGORITHM or len(parts) != 3 or found.keys() != {"Credential", "SignedHeaders", "Signature"}:
        raise _malformed(f"Authorization must be `{ALGORITHM} Credential=…, SignedHeaders=…, Signature=…`")
    if stamp is None:
        raise Invalid("a signed request needs the header X-Amz-Date", Kind.MISSING_HEADER, header="X-Amz-Date")
    return _proof(found["Credential"], stamp, found["SignedHeaders"], found["Signature"])


def read_query(pairs: Iterable[tuple[str, str]]) -> Proof:
    """The proof in the query of a presigned URL."""
    listed = [(name, value) for name, value in pairs if name in _QUERY or name == "X-Amz-Algorithm"]
    found = dict(listed)
    if len(found) != len(listed) or not found.keys() >= set(_QUERY) or found.get("X-Amz-Algorithm") != ALGORITHM:
        raise _malformed(f"a presigned URL has X-Amz-Algorithm={ALGORITHM} and, once each, {', '.join(_QUERY)}")
    credential, stamp, expires, signed_headers, signature = (found[name] for name in _QUERY)
    if not (expires.isascii() and expires.isdigit() and 0 < len(expires) < 8 and 0 < int(expires) <= LONGEST_LIFE):
        raise _malformed(f"X-Amz-Expires must be 1 to {LONGEST_LIFE} seconds")
    proof = _proof(credential, stamp, signed_headers, signature)
    return msgspec.structs.replace(proof, lasts=timedelta(seconds=int(expires)))


def check_time(proof: Proof, now: datetime) -> None:
    """Refuse what was signed at another time than now, or is too old to count."""
    age = now - proof.signed_at
    if proof.lasts is not None and age > proof.lasts:
        raise Forbidden(f"this URL ended at {proof.signed_at + proof.lasts:%FT%TZ}: sign a new one", Kind.EXPIRED)
    if age < -SKEW or (proof.lasts is None and age > SKEW):
        raise Forbidden(
            f"the request was signed at {proof.stamp}, more than {SKEW.seconds // 60} minutes from the server's time:"
            f" set the clock; it is {now:%FT%TZ} here",
            Kind.CLOCK_SKEW,
            server_time=now.isoformat(),
            skew_seconds=round(-age.total_seconds(), 3),
        )


def check_covers(proof: Proof, headers: Iterable[bytes]) -> None:
    """Refuse a signature that leaves the host, or a header of S3's own, for anybody to change."""
    named = {b"host", *(name for name in headers if name.startswith(b"x-amz-"))}
    if proof.is_presigned:
        named.discard(b"x-amz-content-sha256")
    missing = sorted(named - {name.encode() for name in proof.signed_headers})
    if missing:
        names = b", ".join(missing).decode("latin-1")
        raise Forbidden(f"these headers are there but are not signed: {names}", Kind.BAD_SIGNATURE)


def signing_key(secret: str, scope: Scope) -> bytes:
    """The key of a day, a region and this service, made from the secret."""
    key = f"AWS4{secret}".encode()
    for part in (scope.date, scope.region, SERVICE, _END):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def is_right(proof: Proof, key: bytes, message: Message) -> bool:
    """Whether the signature is that of this message; in constant time."""
    signatures = [_signature(proof, key, message, path) for path in _spellings(message.path)]
    return any([signing.is_same(each, proof.signature) for each in signatures])  # noqa: C419  # no short cut


def text_to_sign(proof: Proof, canonical: bytes) -> bytes:
    digest = hashlib.sha256(canonical).hexdigest()
    return f"{ALGORITHM}\n{proof.stamp}\n{proof.scope.text}\n{digest}".encode()


def canonical(proof: Proof, message: Message, path: str) -> bytes:
    """The request in the one spelling that is signed."""
    names = sorted(proof.signed_headers)
    lines = [
        message.method.encode(),
        path.encode("latin-1", "replace"),
        _canonical_query(message.query, without="X-Amz-Signature" if proof.is_presigned else "").encode(),
        *(name.encode() + b":" + _plain(message.headers.get(name.encode(), b"")) for name in names),
        b"",
        ";".join(names).encode(),
        message.payload.encode("utf-8", "replace"),
    ]
    return b"\n".join(lines)


def _signature(proof: Proof, key: bytes, message: Message, path: str) -> str:
    return signing.sign(key, text_to_sign(proof, canonical(proof, message, path)))


def _spellings(path: str) -> tuple[str, ...]:
    """The path as S3's clients write it before they sign, and as it was sent; dots and slashes stay as they are."""
    usual = quote_from_bytes(unquote_to_bytes(path.encode("latin-1", "replace")), safe="/")
    return (usual,) if usual == path else (usual, path)


def _canonical_query(query: str, without: str) -> str:
    """Sorted by the encoded name, then value; without the signature itself, which nothing can hold."""
    fields = [_encoded_field(field) for field in query.split("&") if field]
    return "&".join(f"{name}={value}" for name, value in sorted(fields) if name != without)


def _encoded_field(field: str) -> tuple[str, str]:
    name, _, value = field.replace("+", "%20").partition("=")
    return _encoded(name), _encoded(value)


def _encoded(text: str) -> str:
    return quote_from_bytes(unquote_to_bytes(text.encode("latin-1", "replace")), safe="")


def _plain(value: bytes) -> bytes:
    """A header's value without the space that nobody means."""
    return b" ".join(value.split())


def _proof(credential: str, stamp: str, signed_headers: str, signature: str) -> Proof:
    access_key, scope = _credential(credential)
    names = tuple(signed_headers.split(";"))
    if not _is_stamp(stamp):
        raise _malformed("X-Amz-Date must be a time such as 20300131T120000Z")
    if scope.date != stamp[:8]:
        raise _malformed(f"the credential is scoped to {scope.date}, the request is of {stamp[:8]}")
    if not all(_HEADER_NAME.fullmatch(name) for name in names) or len(set(names)) != len(names):
        raise _malformed("SignedHeaders must hold names of headers in lower case, each once, between semicolons")
    if not _SIGNATURE.fullmatch(signature):
        raise _malformed("a signature has 64 hexadecimal digits")
    return Proof(access_key, scope, stamp, names, signature)


def _credential(text: str) -> tuple[str, Scope]:
    access_key, *scope = text.rsplit("/", 4)
    if len(scope) != 4 or not access_key or not scope[1]:
        raise _malformed(f"a credential is <access key>/<date>/<region>/{SERVICE}/{_END}")
    date, region, service, end = scope
    if (service, end) != (SERVICE, _END):
        raise _malformed(f"the credential is scoped to {service[:40]}/{end[:40]}, not to {SERVICE}/{_END}")
    return access_key, Scope(date, region)


def _is_stamp(stamp: str) -> bool:
    if not _STAMP.fullmatch(stamp):
        return False
    try:
        _moment(stamp)
    except ValueError:
        return False
    return True


def _moment(stamp: str) -> datetime:
    # strptime takes ten times as long, at every request
    year, month, day = int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8])
    return datetime(year, month, day, int(stamp[9:11]), int(stamp[11:13]), int(stamp[13:15]), tzinfo=UTC)


def _malformed(detail: str) -> Invalid:
    return Invalid(detail, Kind.BAD_AUTHORIZATION)
