"""One request and its answer, as the edge carries them between uvicorn and an endpoint."""

import random
import re
import time
from collections.abc import Awaitable, Callable, Container, Mapping, MutableMapping
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from cableferry.core.access import Caller
from cableferry.core.errors import Invalid, Kind
from cableferry.dialects.denials import TooLarge
from cableferry.dialects.endpoint import Asking, Call, Feed, Tail
from cableferry.server.lines import Line
from cableferry.server.routes import Route

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SINGLE = frozenset(
    {
        b"authorization",
        b"content-digest",
        b"content-length",
        b"content-md5",
        b"content-sha256",
        b"content-type",
        b"cookie",
        b"host",
        b"idempotency-key",
        b"if-match",
        b"if-modified-since",
        b"if-none-match",
        b"if-range",
        b"if-unmodified-since",
        b"last-event-id",
        b"prefer",
        b"range",
        b"repr-digest",
        b"traceparent",
        b"tus-resumable",
        b"upload-checksum",
        b"upload-complete",
        b"upload-defer-length",
        b"upload-draft-interop-version",
        b"upload-length",
        b"upload-metadata",
        b"upload-offset",
        b"x-content-sha256",
        b"x-csrf-token",
        b"x-emx2-api-version",
        b"x-http-method-override",
        b"x-molgenis-token",
        b"x-nonce",
        b"x-request-id",
        b"x-timestamp",
        b"x-trace-id",
        b"x-worker-id",
        b"x-worker-session",
    }
)
MOST_HEADERS = 256
_UUID = re.compile(rb"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TRACE = re.compile(rb"[!-~]{1,128}")
# zeros name no trace and no span, and there is no version ff
_PARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


class Disconnected(Exception):
    """The client went away; nobody waits for an answer."""


class Request(msgspec.Struct, eq=False):
    """What has been learnt of a request so far; the log line is written from it.

    The body of a stream is counted and known by its fingerprint, but not kept.
    """

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    address: str | None
    started: float
    trace_id: str
    request_id: str | None = None
    route: Route | None = None
    params: Mapping[str, str] = {}
    body: bytes = b""
    is_stream: bool = False
    streamed_bytes: int = 0
    heard_at: float = 0.0
    fingerprint: bytes = b""
    line: Line | None = None
    caller: Caller | None = None
    worker: str | None = None

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query.decode('latin-1')}" if self.query else self.path

    @property
    def asking(self) -> Asking:
        return Asking(self.request_id, self.trace_id, self.path)

    @property
    def bytes_in(self) -> int:
        return self.streamed_bytes if self.is_stream else len(self.body)

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def knows(self, etag: str | None) -> bool:
        """Whether the client has this version already; a proxy may have made its tag weak."""
        known = self.header(b"if-none-match")
        if known is None or etag is None:
            return False
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return etag in tags or tags == ["*"]


class Span(NamedTuple):
    """A run of bytes in the store."""

    place: str
    start: int
    stop: int

    @property
    def size_bytes(self) -> int:
        return self.stop - self.start


class Streamed(msgspec.Struct, frozen=True):
    """A body that is not in memory: bytes of the store, and what stands between them."""

    parts: tuple[Span | bytes, ...]
    size_bytes: int


class Followed(msgspec.Struct, frozen=True):
    """A body that grows while it is sent: a feed, the call that follows it, and where it begins."""

    feed: Feed
    call: Call
    cursor: str


class Reply(msgspec.Struct, frozen=True):
    """An answer in bytes: `body`, or what is `streamed`, `followed` or read from a `tail` instead of one."""

    status: int
    body: bytes = b""
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    kind: str | None = None
    streamed: Streamed | None = None
    followed: Followed | None = None
    tail: Tail | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody knows yet how long the body will be."""
        return self.followed is not None or self.tail is not None

    @property
    def size_bytes(self) -> int:
        return len(self.body) if self.streamed is None else self.streamed.size_bytes


def pairs(headers: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items())


class Exchange(NamedTuple):
    """One request, and the connection that its answer goes to."""

    scope: Scope
    request: Request
    receive: Receive
    send: Send


def arrive(scope: Scope) -> Request:
    headers = dict(scope["headers"])
    client = scope.get("client")
    return Request(
        method=scope["method"],
        path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"],
        headers=headers,
        address=client[0] if client else None,
        started=time.perf_counter(),
        trace_id=trace_id_of(headers),
        request_id=_request_id(headers),
        line=scope.get("line"),
    )


def _request_id(headers: Mapping[bytes, bytes]) -> str | None:
    value = headers.get(b"x-request-id")
    return value.decode() if value is not None and _UUID.fullmatch(value) else None


def trace_id_of(headers: Mapping[bytes, bytes]) -> str:
    """The caller's own, else the one of its W3C trace, else a new one."""
    own = headers.get(b"x-trace-id")
    if own is not None and _TRACE.fullmatch(own):
        return own.decode()
    parent = headers.get(b"traceparent")
    found = _PARENT.fullmatch(parent) if parent is not None else None
    return _as_uuid(found[1].decode()) if found else new_trace_id()


def new_trace_id() -> str:
    return _as_uuid(f"{random.getrandbits(128):032x}")


def _as_uuid(text: str) -> str:
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def check_headers(scope: Scope, request: Request, most_bytes: int, single: Container[bytes] = SINGLE) -> None:
    """Refuse headers that are too large to be meant, those that say one thing twice, and a framing that is unclear."""
    pairs = scope["headers"]
    if sum(map(len, chain.from_iterable(pairs))) > most_bytes:
        raise too_large_head(most_bytes)
    if len(pairs) > MOST_HEADERS:
        raise TooLarge(f"there are more than {MOST_HEADERS} headers: send fewer")
    if len(pairs) > len(request.headers):
        _check_twins(pairs, single)
    is_old = scope["http_version"] == "1.0"
    if b"host" not in request.headers and not is_old:
        raise Invalid("the header Host is missing: HTTP/1.1 demands it", Kind.MISSING_HEADER, header="Host")
    coding = request.headers.get(b"transfer-encoding")
    if coding is not None and (is_old or coding.strip().lower() != b"chunked"):
        raise Invalid(
            "Transfer-Encoding must be chunked, in HTTP/1.1: send the body in no other coding",
            Kind.BAD_HEADER,
            header="Transfer-Encoding",
        )


def too_large_head(most_bytes: int) -> TooLarge:
    return TooLarge(f"the headers are larger than the {most_bytes} bytes this server reads: send fewer or shorter ones")


def _check_twins(pairs: list[tuple[bytes, bytes]], single: Container[bytes]) -> None:
    seen: set[bytes] = set()
    for name, _ in pairs:
        if name in single and name in seen:
            raise Invalid(f"the header {name.decode().title()} is there twice: send it once", Kind.BAD_HEADER)
        seen.add(name)


async def read_body(request: Request, receive: Receive, limit: int) -> bytes:
    """The whole body, unless it is larger than it may be; then nothing of it is kept."""
    check_length(request, limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    content: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return _checked(content, limit)
    return await _read_rest(content, receive, limit)


def check_length(request: Request, limit: int) -> None:
    """Refuse a body that says it is too large before any of it is read."""
    declared = request.headers.get(b"content-length")
    if declared is not None and (not declared.isdigit() or len(declared) > 18 or int(declared) > limit):
        raise too_large(limit)


async def _read_rest(first: bytes, receive: Receive, limit: int) -> bytes:
    parts, size, more = [first], len(first), True
    while more:
        if size > limit:
            raise too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    return _checked(b"".join(parts), limit)


def _checked(content: bytes, limit: int) -> bytes:
    if len(content) > limit:
        raise too_large(limit)
    return content


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than the {limit} bytes this server reads: send less at a time")


async def respond(send: Send, request: Request, reply: Reply) -> None:
    await begin(send, request, reply)
    await send({"type": "http.response.body", "body": reply.body})


async def begin(send: Send, request: Request, reply: Reply) -> None:
    """Everything of an answer up to its body."""
    headers = [
        (b"content-length", b"%d" % reply.size_bytes),
        (b"x-trace-id", request.trace_id.encode()),
        *reply.headers,
    ]
    if reply.body or reply.streamed is not None or reply.is_open:
        headers.append((b"content-type", reply.content_type))
    if request.request_id is not None:
        headers.append((b"x-request-id", request.request_id.encode()))
    if request.route is not None:
        headers += request.route.dialect.answer_headers
        if request.route.dialect.trace_header is not None:
            headers.append((request.route.dialect.trace_header, request.trace_id.encode()))
    if reply.status in (204, 304) or reply.is_open:
        del headers[0]
    if request.line is not None and request.line.is_held_back:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
