"""One pooled connection to a server: bytes out, bounded bytes in."""

from collections.abc import Mapping
from datetime import UTC, datetime

import httpx2
import msgspec

from cableferry.client.errors import BadAnswer, Unreachable

MOST_BYTES = 64 * 1024 * 1024
CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0


class Request(msgspec.Struct, frozen=True):
    """A request as it goes out; the target is percent-encoded already."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    read_seconds: float = READ_SECONDS


class Reply(msgspec.Struct, frozen=True):
    """An answer of any status; the header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent_at: datetime
    received_at: datetime
    tries: int = 1


class Connection:
    """The pool of connections to one server; safe to use from several threads."""

    def __init__(self, base_url: str, most_bytes: int = MOST_BYTES) -> None:
        self._base_url = base_url.rstrip("/")
        self._most_bytes = most_bytes
        self._client = httpx2.Client(follow_redirects=False, limits=httpx2.Limits(max_connections=100))

    @property
    def base_url(self) -> str:
        return self._base_url

    def send(self, request: Request) -> Reply:
        """Send once; whoever calls decides about another try."""
        sent_at = datetime.now(UTC)
        try:
            with self._client.stream(
                request.method,
                self._base_url + request.target,
                headers=dict(request.headers),
                content=request.body or None,
                timeout=httpx2.Timeout(request.read_seconds, connect=CONNECT_SECONDS),
            ) as answer:
                received_at = datetime.now(UTC)
                body = self._read(answer)
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return Reply(answer.status_code, headers, body, sent_at, received_at)
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise BadAnswer(f"{self._base_url} is not the address of a server: {error}") from error
        except httpx2.DecodingError as error:
            raise BadAnswer(f"the answer of {self._base_url} cannot be decoded: {error}") from error
        except httpx2.TransportError as error:
            raise Unreachable(f"no answer from {self._base_url}: {_reason(error)}") from error

    def _read(self, answer: httpx2.Response) -> bytes:
        """The body, given up as soon as it is larger than any answer of this protocol."""
        parts: list[bytes] = []
        size = 0
        for part in answer.iter_bytes():
            size += len(part)
            if size > self._most_bytes:
                raise BadAnswer(f"the answer of {self._base_url} is longer than {self._most_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        self._client.close()


def _reason(error: httpx2.TransportError) -> str:
    return str(error) or type(error).__name__
