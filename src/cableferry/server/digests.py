"""What a request promises of its body's bytes, and whether they keep it."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec

from cableferry.core.errors import Invalid, Kind
from cableferry.dialects.denials import ChecksumMismatch
from cableferry.store.blobs import Hasher
from cableferry.wire.tus import CHECKSUMS

Headers = Mapping[bytes, bytes]

_HEX = re.compile(r"[0-9a-f]{64}")
_SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}
# of the tus protocol, which writes a name and base64
_CHECKSUM = "Upload-Checksum"
# the names of RFC 9530, and those of hashlib
_NAMES = {"sha-256": "sha256", "sha-512": "sha512"}


class Promise(msgspec.Struct, frozen=True):
    """One header's word for the bytes."""

    header: str
    algorithm: str
    hexdigest: str


def promises(headers: Headers) -> tuple[Promise, ...]:
    """Every digest that these headers declare of the body; one that cannot be a digest is refused."""
    return tuple(_promises(headers))


def _promises(headers: Headers) -> Iterator[Promise]:
    for header in ("Content-SHA256", "X-Content-SHA256"):
        if (value := _value(headers, header)) is not None:
            if not _HEX.fullmatch(value.lower()):
                raise _malformed(header)
            yield Promise(header, "sha256", value.lower())
    if (value := _value(headers, "Content-MD5")) is not None:
        yield Promise("Content-MD5", "md5", _from_base64(value, "md5", "Content-MD5"))
    for name, text in _items(_value(headers, "Content-Digest") or ""):
        if (algorithm := _NAMES.get(name)) is not None:
            yield Promise("Content-Digest", algorithm, from_item(text, algorithm, "Content-Digest"))
    if (value := _value(headers, _CHECKSUM)) is not None:
        algorithm, _, text = value.partition(" ")
        if algorithm not in CHECKSUMS:
            raise Invalid(f"{_CHECKSUM} must begin with one of {', '.join(CHECKSUMS)}", Kind.BAD_HEADER)
        yield Promise(_CHECKSUM, algorithm, _from_base64(text, algorithm, _CHECKSUM))


def from_item(text: str, algorithm: str, header: str) -> str:
    """A digest as RFC 9530 writes it: base64 between colons."""
    if len(text) < 2 or not text.startswith(":") or not text.endswith(":"):
        raise _malformed(header)
    return _from_base64(text[1:-1], algorithm, header)


def _value(headers: Headers, header: str) -> str | None:
    value = headers.get(header.lower().encode())
    return None if value is None else value.decode("latin-1")


def _items(text: str) -> Iterator[tuple[str, str]]:
    for item in text.split(","):
        name, _, value = item.strip().partition("=")
        yield name, value


def _from_base64(text: str, algorithm: str, header: str) -> str:
    try:
        digest = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _malformed(header) from None
    if len(digest) != _SIZES[algorithm]:
        raise _malformed(header)
    return digest.hex()


def _malformed(header: str) -> Invalid:
    return Invalid(f"{header} does not hold a digest of the body", Kind.BAD_HEADER, header=header)


class Tallies:
    """Hashes of bytes that come bit by bit, by the names that hashlib has for them."""

    def __init__(self, algorithms: frozenset[str]) -> None:
        self._hashers: dict[str, Hasher] = {
            name: hashlib.new(name, usedforsecurity=False) for name in sorted(algorithms)
        }

    def __bool__(self) -> bool:
        return bool(self._hashers)

    def update(self, data: bytes) -> None:
        for hasher in self._hashers.values():
            hasher.update(data)

    def result(self) -> dict[str, str]:
        return {name: hasher.hexdigest() for name, hasher in self._hashers.items()}


def check(promised: tuple[Promise, ...], hashes: Mapping[str, str]) -> None:
    """Refuse bytes that are not those the headers told of."""
    for promise in promised:
        found = hashes[promise.algorithm]
        if found == promise.hexdigest:
            continue
        detail = (
            f"the body has another digest than {promise.header} says: {promise.algorithm} {found},"
            f" not {promise.hexdigest}; nothing of it was kept: send it again"
        )
        if promise.header == _CHECKSUM:
            raise ChecksumMismatch(detail)
        raise Invalid(detail, Kind.BAD_DIGEST, header=promise.header)


def check_sha256(wanted: str | None, found: str) -> None:
    """Refuse a file whose bytes are not those that were announced."""
    if wanted is not None and found != wanted.lower():
        raise Invalid(
            f"the file has SHA-256 {found}, not {wanted[:64]} as announced; nothing of it was kept: send it again",
            Kind.BAD_DIGEST,
        )
