"""The aws-chunked form of a body: chunks that may each be signed, and a trailer that may hold a checksum."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Protocol

import msgspec

from cableferry.core import signing
from cableferry.core.errors import Forbidden, Invalid, Kind
from cableferry.core.sigv4 import Proof

LONGEST_LINE = 1024
MOST_TRAILER_LINES = 8
# what S3 demands too: a body of tiny chunks costs more to check than to send
SMALLEST_CHUNK = 8192

_EMPTY = hashlib.sha256(b"").hexdigest()
_HEAD = re.compile(rb"([0-9a-fA-F]{1,15})(?:;chunk-signature=([0-9a-f]{64}))?")
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class Checksum(Protocol):
    """A running checksum, as `hashlib` gives it."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class Signer:
    """Signs each chunk with the signature of the one before it; the first follows the request's own."""

    def __init__(self, key: bytes, proof: Proof) -> None:
        self._key = key
        self._about = f"{proof.stamp}\n{proof.scope.text}"
        self._last = proof.signature

    def chunk(self, content_hash: str) -> str:
        return self._next(f"AWS4-HMAC-SHA256-PAYLOAD\n{self._about}\n{self._last}\n{_EMPTY}\n{content_hash}")

    def trailer(self, lines: bytes) -> str:
        return self._next(f"AWS4-HMAC-SHA256-TRAILER\n{self._about}\n{self._last}\n{hashlib.sha256(lines).hexdigest()}")

    def _next(self, text: str) -> str:
        self._last = signing.sign(self._key, text.encode())
        return self._last


class Form(msgspec.Struct, frozen=True):
    """What the request's head says of its body; `promised` are the names of the headers in its trailer."""

    size_bytes: int
    is_signed: bool = False
    promised: tuple[str, ...] = ()


class _At(Enum):
    """Where in the form the next byte stands."""

    HEAD = auto()
    CONTENT = auto()
    CONTENT_END = auto()
    TRAILER = auto()
    END = auto()


class Chunks:
    """Takes a body piece by piece and gives back its content; keeps no more of it than one line.

    What it gives back counts only once `finish` has found everything right.
    """

    def __init__(self, form: Form, signer: Signer | None = None, checksums: Mapping[str, Checksum] | None = None):
        self._form = form
        self._signer = signer
        self._checksums = checksums or {}
        self._at = _At.HEAD
        self._line = b""
        self._left = 0
        self._was_small = False
        self._content_hash = hashlib.sha256()
        self._claimed = ""
        self._trailer: list[tuple[str, str]] = []
        self.size_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """The content in the next piece of the body."""
        return b"".join(self._content(data))

    def finish(self) -> None:
        """Check what can only be known at the end; nothing more comes."""
        if self._at is not _At.END or self.size_bytes != self._form.size_bytes:
            raise Invalid(
                f"the body ends after {self.size_bytes} of its {self._form.size_bytes} bytes: send all of it",
                Kind.INCOMPLETE,
            )

    def _content(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data):
            if self._at is _At.CONTENT:
                piece = data[start : start + self._left]
                start += len(piece)
                self._take(piece)
                yield piece
            else:
                start = self._read_line(data, start)

    def _take(self, piece: bytes) -> None:
        self._left -= len(piece)
        self.size_bytes += len(piece)
        if self._signer is not None:
            self._content_hash.update(piece)
        for checksum in self._checksums.values():
            checksum.update(piece)
        if not self._left:
            self._end_chunk()
            self._at = _At.CONTENT_END

    def _read_line(self, data: bytes, start: int) -> int:
        """Collect up to the end of a line and act on it; where the rest of the data begins."""
        if self._at is _At.END:
            raise _malformed("there is more behind its end")
        end = data.find(b"\n", start)
        stop = len(data) if end < 0 else end + 1
        self._line += data[start:stop]
        if len(self._line) > LONGEST_LINE:
            raise _malformed(f"it has a line of more than {LONGEST_LINE} bytes where a chunk should begin")
        if end >= 0 and self._line.endswith(b"\r\n"):
            line, self._line = self._line[:-2], b""
            self._act(line)
        elif end >= 0 and self._at is not _At.TRAILER:
            raise _malformed("its lines must end with CR LF")
        return stop

    def _act(self, line: bytes) -> None:
        match self._at:
            case _At.HEAD:
                self._begin_chunk(line)
            case _At.CONTENT_END if line:
                raise _malformed("a chunk is longer than it says")
            case _At.CONTENT_END:
                self._at = _At.HEAD
            case _:
                self._read_trailer(line.strip())

    def _begin_chunk(self, line: bytes) -> None:
        head = _HEAD.fullmatch(line)
        if head is None or (head[2] is not None) != self._form.is_signed:
            raise _malformed("a chunk must begin with its size in hexadecimal, and its signature if chunks are signed")
        self._left = int(head[1], 16)
        self._claimed = head[2].decode() if head[2] else ""
        self._check_size()
        self._at = _At.CONTENT
        if not self._left:
            self._end_chunk()
            self._at = _At.TRAILER

    def _check_size(self) -> None:
        if self._was_small and self._left:
            raise _malformed(f"a chunk that is not the last has less than {SMALLEST_CHUNK} bytes")
        self._was_small = self._left < SMALLEST_CHUNK
        if self.size_bytes + self._left > self._form.size_bytes:
            raise Invalid(
                f"the body has more than the {self._form.size_bytes} bytes that X-Amz-Decoded-Content-Length says",
                Kind.INCOMPLETE,
            )

    def _end_chunk(self) -> None:
        if self._signer is not None:
            content_hash, self._content_hash = self._content_hash.hexdigest(), hashlib.sha256()
            _check_signature(self._signer.chunk(content_hash), self._claimed, "chunk")

    def _read_trailer(self, line: bytes) -> None:
        if line:
            self._keep(line)
        elif self._trailer or not self._form.promised:  # some clients put an empty line before the trailer
            self._at = _At.END
            self._check_trailer()

    def _keep(self, line: bytes) -> None:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or len(self._trailer) >= MOST_TRAILER_LINES:
            raise _malformed("its trailer holds something else than a few lines of `name:value`")
        self._trailer.append((name.strip().lower(), value.strip()))

    def _check_trailer(self) -> None:
        told = dict(self._trailer)
        is_twice = len(told) < len(self._trailer)
        signature = told.pop(_TRAILER_SIGNATURE, "")
        if is_twice or told.keys() != set(self._form.promised):
            promised = ", ".join(self._form.promised) or "nothing"
            raise _malformed(f"its trailer must hold what X-Amz-Trailer names: {promised}")
        if self._signer is not None and told:
            lines = "".join(f"{name}:{value}\n" for name, value in sorted(told.items()))
            _check_signature(self._signer.trailer(lines.encode("latin-1")), signature, "trailer")
        for name, checksum in self._checksums.items():
            check_sum(name, checksum, told.get(name, ""))


def check_sum(name: str, checksum: Checksum, told: str) -> None:
    """Refuse content that has another checksum than its sender told."""
    expected = base64.b64encode(checksum.digest()).decode()
    if not signing.is_same(expected, told):
        if not _is_base64(told, len(checksum.digest())):
            raise Invalid(f"{name} must hold a checksum in base64", Kind.BAD_HEADER)
        raise Invalid(f"the content has the {name} {expected}, not {told}: send it again", Kind.BAD_DIGEST)


def _check_signature(expected: str, claimed: str, what: str) -> None:
    if not signing.is_same(expected, claimed):
        raise Forbidden(f"the signature of a {what} does not match its content", Kind.BAD_SIGNATURE)


def _is_base64(text: str, size: int) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == size
    except (binascii.Error, ValueError):
        return False


def _malformed(what: str) -> Invalid:
    return Invalid(f"the body is not in the form aws-chunked: {what}", Kind.MALFORMED)
