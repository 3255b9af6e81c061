"""One pooled connection to a server: bytes out, bounded bytes in."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import httpx2
import msgspec

from cableferry import failpoints
from cableferry.client.errors import BadAnswer, Unreachable

MOST_BYTES = 64 * 1024 * 1024
CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
# how long a server may take to put on disk what it was sent
STREAM_SECONDS = 300.0
PIECE_BYTES = 1024 * 1024


class Content(msgspec.Struct, frozen=True):
    """A body that is read while it is sent, and from its beginning in every try."""

    open: Callable[[], Iterator[bytes]]
    size_bytes: int
    sha256: str | None = None


class Request(msgspec.Struct, frozen=True):
    """A request as it goes out; the target is percent-encoded already.

    A `server_name` is who must prove itself when the connection is to a bare address.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | Content = b""
    read_seconds: float = READ_SECONDS
    server_name: str | None = None


class Reply(msgspec.Struct, frozen=True):
    """An answer of any status; the header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent_at: datetime
    received_at: datetime
    tries: int = 1


class Answered(msgspec.Struct, frozen=True):
    """How a request went, for whoever counts; without a status there was no answer."""

    method: str
    status: int | None
    headers: Mapping[str, str]
    sent_at: datetime
    received_at: datetime

    @property
    def seconds(self) -> float:
        return (self.received_at - self.sent_at).total_seconds()


def untold(answered: Answered) -> None:
    """For whoever does not count."""


class Connection:
    """The pool of connections to one server; safe to use from several threads."""

    def __init__(
        self, base_url: str, most_bytes: int = MOST_BYTES, told: Callable[[Answered], object] = untold
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._tell = told
        self._most_bytes = most_bytes
        self._client = httpx2.Client(follow_redirects=False, limits=httpx2.Limits(max_connections=100))

    @property
    def base_url(self) -> str:
        return self._base_url

    def send(self, request: Request) -> Reply:
        """Send once; whoever calls decides about another try."""
        with self.reading(request) as streaming:
            return streaming.whole()

    @contextlib.contextmanager
    def reading(self, request: Request) -> Iterator["Streaming"]:
        """The same with the body still to come."""
        sent_at = datetime.now(UTC)
        with (
            failpoints.crossing("call", request.method, request.target),
            self._told(request.method, sent_at),
            self._client.stream(
                request.method,
                self._base_url + request.target,
                headers={**request.headers, **_length(request.body)},
                content=request.body.open() if isinstance(request.body, Content) else request.body or None,
                timeout=httpx2.Timeout(request.read_seconds, connect=CONNECT_SECONDS),
                extensions={"sni_hostname": request.server_name} if request.server_name else {},
            ) as answer,
        ):
            streaming = Streaming(answer, sent_at, self._most_bytes)
            self._tell(Answered(request.method, streaming.status, streaming.headers, sent_at, streaming.received_at))
            yield streaming

    @contextlib.contextmanager
    def _told(self, method: str, sent_at: datetime) -> Iterator[None]:
        """What the library says, in our words."""
        try:
            yield
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise BadAnswer(f"{self._base_url} is not the address of a server: {error}") from error
        except httpx2.DecodingError as error:
            raise BadAnswer(f"the answer of {self._base_url} cannot be decoded: {error}") from error
        except httpx2.TransportError as error:
            self._tell(Answered(method, None, {}, sent_at, datetime.now(UTC)))
            raise Unreachable(f"no answer from {self._base_url}: {_reason(error)}") from error

    def close(self) -> None:
        self._client.close()


class Streaming:
    """An answer that has begun; the header names are lower case."""

    def __init__(self, answer: httpx2.Response, sent_at: datetime, most_bytes: int) -> None:
        self.status = answer.status_code
        self.headers = {name.lower(): value for name, value in answer.headers.items()}
        self._answer = answer
        self._most_bytes = most_bytes
        self.sent_at, self.received_at = sent_at, datetime.now(UTC)

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes, however long it is: what came before a break is not held back."""
        return self._answer.iter_bytes()

    def whole(self) -> Reply:
        """The body, given up as soon as it is larger than any answer of this protocol."""
        parts: list[bytes] = []
        size = 0
        for part in self._answer.iter_bytes():
            size += len(part)
            if size > self._most_bytes:
                raise BadAnswer(f"the answer of {self._answer.url.host} is longer than {self._most_bytes} bytes")
            parts.append(part)
        return Reply(self.status, self.headers, b"".join(parts), self.sent_at, self.received_at)


def _length(body: bytes | Content) -> dict[str, str]:
    """A stream whose length is told is not sent in chunks."""
    return {"Content-Length": str(body.size_bytes)} if isinstance(body, Content) else {}


def _reason(error: httpx2.TransportError) -> str:
    return str(error) or type(error).__name__
