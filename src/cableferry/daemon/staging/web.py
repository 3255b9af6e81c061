"""Bytes of artifacts that live behind http and s3, through the client's own library: no other one is needed."""

import contextlib
import ipaddress
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from cableferry.client import http
from cableferry.client.errors import Trouble, Unreachable
from cableferry.client.http import Connection, Streaming
from cableferry.daemon.staging import buckets
from cableferry.daemon.staging.buckets import Bucket

MOST_REDIRECTS = 5
_PASSING = frozenset({429, 500, 502, 503, 504})
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
_PLAIN = "/:@!$&'()*+,;=~%"


class NotThere(Trouble):
    """A place on the web that does not give what it should, and will not by asking again."""

    word = "not-there"


class Web(msgspec.Struct, frozen=True):
    """The hosts (`name` or `name:port`) and the buckets that inputs may come from; no other is ever asked.

    A host is left alone if its name leads into the site's own network, unless it is a private one.
    """

    hosts: frozenset[str] = frozenset()
    buckets: Mapping[str, Bucket] = {}
    private_hosts: frozenset[str] = frozenset()
    most_bytes: int | None = None


class Door(msgspec.Struct, frozen=True):
    """Where to knock: an address that has been looked at, and the name that must answer there."""

    base_url: str
    target: str
    headers: dict[str, str]
    name: str | None = None


class Visits:
    """Connections to places on the web, each used again until all are closed; safe to use from several threads."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str | None], Connection] = {}

    def __enter__(self) -> "Visits":
        return self

    def __exit__(self, *how: object) -> None:
        for connection in self._known.values():
            connection.close()

    @contextlib.contextmanager
    def reading(self, url: str, start: int) -> Iterator[Streaming]:
        """The bytes of an address from some byte on, wherever a chain of allowed places leads."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        at = url
        for _ in range(MOST_REDIRECTS):
            with contextlib.ExitStack() as opened:
                streaming = self._begun(at, headers, opened)
                if streaming.status not in _ELSEWHERE:
                    _check(streaming, url)
                    yield streaming
                    return
                at = _led(at, streaming.headers.get("location", ""))
        raise NotThere(f"{url[:200]} leads from place to place and never to its content")

    def _begun(self, url: str, headers: Mapping[str, str], opened: contextlib.ExitStack) -> Streaming:
        """The first of a name's addresses that answers."""
        trouble = Unreachable(f"{url[:200]} has no address")
        for door in _doors(self._web, url):
            request = http.Request("GET", door.target, {**headers, **door.headers}, server_name=door.name)
            try:
                return opened.enter_context(self._connection(door).reading(request))
            except Unreachable as error:
                trouble = error
        raise trouble

    def _connection(self, door: Door) -> Connection:
        with self._lock:
            key = door.base_url, door.name
            if key not in self._known:
                self._known[key] = Connection(door.base_url)
            return self._known[key]


def _doors(web: Web, url: str) -> Iterator[Door]:
    parts = urlsplit(url)
    if parts.scheme == "s3":
        bucket = web.buckets.get(parts.netloc)
        if bucket is None:
            raise NotThere(f"bucket {parts.netloc[:100]} is not among the buckets that inputs may come from")
        address, headers = buckets.signed(bucket, parts.netloc, parts.path.lstrip("/"))
        yield Door(_base(address), _target(address), headers)
        return
    host, port = _allowed(web, url)
    if _is_proxied(parts.scheme, host):
        # it looks up names by itself, and its own rules say where it may go
        yield Door(_base(url), _target(url), {})
        return
    is_private = _is_among(web.private_hosts, parts.scheme, host, port)
    for address in _addresses(host, port, url):
        if not is_private and not _is_public(address):
            raise NotThere(f"{url[:200]} leads to {address}, into a network of the site's own: see private_hosts")
        shown = f"[{address}]" if ":" in address else address
        yield Door(f"{parts.scheme}://{shown}:{port}", _target(url), {"Host": parts.netloc}, host)


def _allowed(web: Web, url: str) -> tuple[str, int]:
    """The host and the port of an address, if inputs may come from there."""
    parts = urlsplit(url)
    with contextlib.suppress(ValueError):
        host, port = (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)
        named = web.hosts | web.private_hosts
        if "@" not in parts.netloc and _is_among(named, parts.scheme, host, port):
            return host, port
    raise NotThere(f"{url[:200]} is not among the places that inputs may come from: see http_hosts")


def _is_among(named: frozenset[str], scheme: str, host: str, port: int) -> bool:
    return (_PORTS.get(scheme) == port and host in named) or (scheme in _PORTS and f"{host}:{port}" in named)


def _is_proxied(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(host)


def _addresses(host: str, port: int, url: str) -> list[str]:
    """What a name leads to now; the very addresses are then knocked at, so it cannot lead elsewhere later."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"{url[:200]}: the name {host} cannot be looked up: {error}") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address)
    inner = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (inner or found).is_global and not (inner or found).is_multicast


def _led(url: str, location: str) -> str:
    """Where a place sends us on to: another one on the web, and not out of an encrypted connection."""
    new = urljoin(url, location)
    allowed = ("https",) if urlsplit(url).scheme in ("https", "s3") else ("http", "https")
    if not location or urlsplit(new).scheme not in allowed:
        raise NotThere(f"{url[:200]} leads to {location[:200]!r}, and is not followed there")
    return new


def _base(address: str) -> str:
    return f"{urlsplit(address).scheme}://{urlsplit(address).netloc}"


def _target(address: str) -> str:
    parts = urlsplit(address)
    return quote(parts.path or "/", safe=_PLAIN) + (f"?{parts.query}" if parts.query else "")


def _check(streaming: Streaming, url: str) -> None:
    if streaming.status in (200, 206):
        return
    if streaming.status in _PASSING:
        raise Unreachable(f"{url[:200]} answers {streaming.status}")
    raise NotThere(f"{url[:200]} answers {streaming.status}")
