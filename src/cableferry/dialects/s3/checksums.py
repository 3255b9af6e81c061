"""What S3's clients say of their bytes: the form of a body, its length and its checksums, and whether that is true."""

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence

from awscrt import checksums as crt  # type: ignore[import-untyped]  # it has none

from cableferry.core import aws_chunks
from cableferry.core.aws_chunks import Checksum, Chunks, Form, Signer
from cableferry.core.errors import Invalid, Kind
from cableferry.core.sigv4 import Payload
from cableferry.dialects.denials import TooLarge
from cableferry.dialects.endpoint import Arrived, Call, Headers, Landing

_PREFIX = "x-amz-checksum-"
_SHA256 = f"{_PREFIX}sha256"
_HASH = re.compile(r"[0-9a-f]{64}")
_SIGNED = frozenset({Payload.CHUNKS, Payload.CHUNKS_AND_TRAILER})
_CHUNKED = _SIGNED | {Payload.UNSIGNED_WITH_TRAILER}


class _Crc:
    """A cyclic redundancy check as if it were a hash."""

    def __init__(self, step: Callable[[bytes, int], int], size: int) -> None:
        self._step = step
        self._size = size
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._step(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size, "big")


ALGORITHMS: Mapping[str, Callable[[], Checksum]] = {
    f"{_PREFIX}crc32": lambda: _Crc(zlib.crc32, 4),
    f"{_PREFIX}crc32c": lambda: _Crc(crt.crc32c, 4),
    f"{_PREFIX}crc64nvme": lambda: _Crc(crt.crc64nvme, 8),
    f"{_PREFIX}sha1": lambda: hashlib.sha1(usedforsecurity=False),
    _SHA256: hashlib.sha256,
}


class Body:
    """Takes a body as its head describes it and gives the bytes of the file, with every checksum checked at the end."""

    def __init__(self, chunks: Chunks | None, told: Mapping[str, str]) -> None:
        self._chunks = chunks
        self._told = told
        self._sums = {name: ALGORITHMS[name]() for name in told}

    def feed(self, data: bytes) -> Sequence[bytes]:
        content = data if self._chunks is None else self._chunks.feed(data)
        for checksum in self._sums.values():
            checksum.update(content)
        return (content,) if content else ()

    def finish(self) -> None:
        if self._chunks is not None:
            self._chunks.finish()
        for name, checksum in self._sums.items():
            aws_chunks.check_sum(name, checksum, self._told[name])


def landing(call: Call, most_bytes: int) -> Landing:
    """How the body of this request is to be taken; one that says it is too large is refused unread."""
    headers = call.headers
    payload = _text(headers, "x-amz-content-sha256") or ""
    size = _size(headers, "x-amz-decoded-content-length" if payload in _CHUNKED else "content-length")
    if size > most_bytes:
        raise TooLarge(f"the file has {size} bytes, more than the {most_bytes} that one request may bring: send parts")
    told = _told(headers)
    chunks = _chunks(call, payload, size) if payload in _CHUNKED else None
    if chunks is None:
        told.pop(_SHA256, None)  # the store makes that one anyway
    return Landing(most_bytes=size, with_md5=True, decoder=Body(chunks, told) if chunks or told else None, judges=True)


def judge(call: Call, arrived: Arrived) -> None:
    """Refuse bytes that have other hashes than their sender told."""
    headers, stored = call.headers, arrived.stored
    payload = _text(headers, "x-amz-content-sha256") or ""
    if _HASH.fullmatch(payload) and payload != stored.sha256:
        raise Invalid(
            f"the body has the SHA-256 {stored.sha256}, not {payload}: send it again",
            Kind.BAD_DIGEST,
            code="XAmzContentSHA256Mismatch",
        )
    _check(_text(headers, "content-md5"), stored.md5 or "", "Content-MD5")
    _check(_text(headers, _SHA256), stored.sha256, _SHA256)


def check_body(body: bytes, headers: Headers) -> None:
    """The same for a body that is no file."""
    _check(_text(headers, "content-md5"), hashlib.md5(body, usedforsecurity=False).hexdigest(), "Content-MD5")
    checked = Body(None, _told(headers))
    checked.feed(body)
    checked.finish()


def shown(headers: Headers, sha256: str | None) -> dict[str, str]:
    """The checksum of a whole file for a client that asks to check it."""
    if headers.get(b"x-amz-checksum-mode", b"").upper() != b"ENABLED" or sha256 is None:
        return {}
    return {_SHA256: base64.b64encode(bytes.fromhex(sha256)).decode(), f"{_PREFIX}type": "FULL_OBJECT"}


def told_of(headers: Headers) -> dict[str, str]:
    """The checksums that came with a request, to be told again with its answer."""
    return _told(headers)


def _told(headers: Headers) -> dict[str, str]:
    found = {name: _text(headers, name) for name in ALGORITHMS}
    return {name: value for name, value in found.items() if value is not None}


def _chunks(call: Call, payload: str, size: int) -> Chunks:
    is_signed = payload in _SIGNED
    names = (_text(call.headers, "x-amz-trailer") or "").split(",")
    promised = tuple(name.strip().lower() for name in names if name.strip())
    unknown = [name for name in promised if name not in ALGORITHMS]
    if unknown:
        raise Invalid(f"X-Amz-Trailer promises {unknown[0][:80]}: known are {', '.join(ALGORITHMS)}")
    signer = Signer(call.signed.key, call.signed.proof) if call.signed is not None and is_signed else None
    return Chunks(Form(size, is_signed, promised), signer, {name: ALGORITHMS[name]() for name in promised})


def _size(headers: Headers, name: str) -> int:
    text = _text(headers, name)
    if text is None:
        raise Invalid(f"the header {name.title()} is missing", Kind.MISSING_HEADER, code="MissingContentLength")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"{name.title()} must be a whole number of bytes", Kind.BAD_HEADER, header=name.title())
    return int(text)


def _check(told: str | None, found: str, name: str) -> None:
    """Both as the header has it: base64 of the hash."""
    if told is None:
        return
    try:
        is_hash = len(base64.b64decode(told, validate=True)) == len(found) // 2
    except (binascii.Error, ValueError):
        is_hash = False
    if not is_hash:
        raise Invalid(f"{name} must hold a hash in base64", Kind.BAD_HEADER, header=name)
    if told != (wanted := base64.b64encode(bytes.fromhex(found)).decode()):
        raise Invalid(f"the body has the {name} {wanted}, not {told}: send it again", Kind.BAD_DIGEST)


def _text(headers: Headers, name: str) -> str | None:
    value = headers.get(name.encode())
    return None if value is None else value.decode("latin-1").strip()
