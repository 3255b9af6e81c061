"""Files on web servers that the settings name; a redirect is not followed, for it may lead to any other."""

import contextlib
import http.client
import ssl
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import SplitResult, quote, urlsplit

from cableferry.store.elsewhere import Found
from cableferry.store.failures import BlobFailure, BlobMissing, BlobsUnavailable

CHUNK_BYTES = 1024 * 1024
SECONDS = 30.0
_PORTS = {"http": 80, "https": 443}
_GONE = frozenset({404, 410})
# what stands for itself in an address; everything else that is no letter is encoded
_PLAIN = "/%:@!$&'()*+,;=~-._?"


class WebFiles:
    """Hosts by name, or by name and port; without a port the usual ones are meant."""

    def __init__(self, hosts: Collection[str], seconds: float = SECONDS) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._seconds = seconds

    def allows(self, location: str) -> bool:
        try:
            address = urlsplit(location)
            host, port = address.hostname or "", address.port
        except ValueError:
            return False
        is_usual = port in (None, _PORTS.get(address.scheme))
        return "@" not in address.netloc and ((is_usual and host in self._hosts) or f"{host}:{port}" in self._hosts)

    @contextlib.contextmanager
    def opened(self, location: str) -> Iterator["OpenedPage"]:
        yield OpenedPage(Host(urlsplit(location), location, self._seconds))


class Host:
    """Asks one host for one path; each request has a connection of its own."""

    def __init__(self, address: SplitResult, location: str, seconds: float) -> None:
        self.location = location
        self._address = address
        self._seconds = seconds

    @contextlib.contextmanager
    def asked(self, method: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        with _told(self.location):
            connection = self._connection()
        try:
            with _told(self.location):
                connection.request(method, self._path(), headers={"Accept-Encoding": "identity", **headers})
                answer = connection.getresponse()
                _check(self.location, answer.status)
                yield answer
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        name = self._address.netloc
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(name, timeout=self._seconds, context=ssl.create_default_context())
        return http.client.HTTPConnection(name, timeout=self._seconds)

    def _path(self) -> str:
        path = self._address.path or "/"
        return quote(f"{path}?{self._address.query}" if self._address.query else path, safe=_PLAIN)


class OpenedPage:
    """A file by its address and its tag."""

    def __init__(self, host: Host) -> None:
        self._host = host
        with host.asked("HEAD", {}) as answer:
            size = answer.headers.get("Content-Length", "")
            self.found = Found(int(size) if size.isdecimal() else None, answer.headers.get("ETag"))

    def read(self, start: int, stop: int) -> bytes:
        if start >= stop:
            return b""
        with self._host.asked("GET", {"Range": f"bytes={start}-{stop - 1}"}) as answer:
            if answer.status != http.client.PARTIAL_CONTENT and start > 0:
                raise BlobsUnavailable(f"{self._host.location} is not given in parts")
            content = answer.read(stop - start)
            self._check_unchanged(answer)
        if len(content) < stop - start:
            raise BlobMissing(f"{self._host.location} ends at byte {start + len(content)}, before byte {stop}")
        return content

    def chunks(self) -> Iterator[bytes]:
        with self._host.asked("GET", {}) as answer:
            self._check_unchanged(answer)
            while chunk := answer.read(CHUNK_BYTES):
                yield chunk
            if answer.length:
                raise BlobsUnavailable(f"{self._host.location} broke off before its end")

    def _check_unchanged(self, answer: http.client.HTTPResponse) -> None:
        if answer.headers.get("ETag") != self.found.etag:
            raise BlobsUnavailable(f"{self._host.location} changed while it was read")


def _check(location: str, status: int) -> None:
    if status in (http.client.OK, http.client.PARTIAL_CONTENT):
        return
    if status in _GONE:
        raise BlobMissing(f"{location} is not there: its server answered {status}")
    if 300 <= status < 400:
        raise BlobsUnavailable(f"{location} redirects elsewhere, which is not followed: name the place itself")
    raise BlobsUnavailable(f"{location} cannot be read: its server answered {status}")


@contextlib.contextmanager
def _told(location: str) -> Iterator[None]:
    try:
        yield
    except BlobFailure:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise BlobsUnavailable(f"{location} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "its server does not answer in time"
    if isinstance(error, ssl.SSLError):
        return "its server's certificate is not trusted"
    return (error.strerror if isinstance(error, OSError) else None) or "its server does not speak HTTP"
