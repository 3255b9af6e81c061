"""Bytes of artifacts that live behind http and s3, through the client's own library: no other one is needed."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from cableferry.client import http
from cableferry.client.errors import Trouble, Unreachable
from cableferry.client.http import Connection, Streaming
from cableferry.core import signing, sigv4
from cableferry.core.sigv4 import Message, Proof, Scope

MOST_REDIRECTS = 5
_PASSING = frozenset({429, 500, 502, 503, 504})
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
_EMPTY = hashlib.sha256(b"").hexdigest()
_PLAIN = "/:@!$&'()*+,;=~%"


class NotThere(Trouble):
    """A place on the web that does not give what it should, and will not by asking again."""

    word = "not-there"


class Bucket(msgspec.Struct, frozen=True):
    """Where a bucket is reached, and the key to it; without a key it is asked as a public one."""

    endpoint: str
    region: str = "us-east-1"
    access_key_id: str | None = None
    secret_access_key: str | None = None

    def __repr__(self) -> str:
        return f"Bucket(endpoint={self.endpoint!r}, access_key_id={self.access_key_id!r})"


class Web(msgspec.Struct, frozen=True):
    """The hosts (`name` or `name:port`) and the buckets that inputs may come from; no other is ever asked."""

    hosts: frozenset[str] = frozenset()
    buckets: Mapping[str, Bucket] = {}


@contextlib.contextmanager
def reading(web: Web, url: str, start: int) -> Iterator[Streaming]:
    """The bytes of an address from some byte on."""
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with contextlib.ExitStack() as opened:
        for _ in range(MOST_REDIRECTS):
            address, more = _addressed(web, url)
            connection = Connection(f"{urlsplit(address).scheme}://{urlsplit(address).netloc}")
            opened.callback(connection.close)
            request = http.Request("GET", _target(address), {**headers, **more})
            streaming = opened.enter_context(connection.reading(request))
            if streaming.status not in _ELSEWHERE:
                _check(streaming, url)
                yield streaming
                return
            url = urljoin(address, streaming.headers.get("location", ""))
            opened.close()
    raise NotThere(f"{url} leads from place to place and never to its content")


def _addressed(web: Web, url: str) -> tuple[str, dict[str, str]]:
    """Where to ask, and the headers that open the door there."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return _signed(web, parts.netloc, parts.path.lstrip("/"))
    if parts.scheme not in ("http", "https") or not _is_allowed(web, url):
        raise NotThere(f"{url[:200]} is not among the places that inputs may come from: see web_hosts")
    return url, {}


def _is_allowed(web: Web, url: str) -> bool:
    parts = urlsplit(url)
    try:
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    is_usual = port in (None, {"http": 80, "https": 443}[parts.scheme])
    return "@" not in parts.netloc and ((is_usual and host in web.hosts) or f"{host}:{port}" in web.hosts)


def _signed(web: Web, name: str, key: str) -> tuple[str, dict[str, str]]:
    bucket = web.buckets.get(name)
    if bucket is None:
        raise NotThere(f"bucket {name[:100]} is not among the buckets that inputs may come from")
    address = f"{bucket.endpoint.rstrip('/')}/{quote(name)}/{quote(key, safe='/')}"
    if bucket.access_key_id is None or bucket.secret_access_key is None:
        return address, {}
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    said = {"host": urlsplit(address).netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    scope = Scope(stamp[:8], bucket.region)
    proof = Proof(bucket.access_key_id, scope, stamp, tuple(sorted(said)), "")
    path = urlsplit(address).path
    message = Message("GET", path, "", {name.encode(): text.encode() for name, text in said.items()}, _EMPTY)
    text = sigv4.text_to_sign(proof, sigv4.canonical(proof, message, path))
    signature = signing.sign(sigv4.signing_key(bucket.secret_access_key, scope), text)
    credential = f"{bucket.access_key_id}/{scope.text}"
    names = ";".join(proof.signed_headers)
    proved = f"{sigv4.ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return address, {"x-amz-content-sha256": _EMPTY, "x-amz-date": stamp, "Authorization": proved}


def _target(address: str) -> str:
    parts = urlsplit(address)
    return quote(parts.path or "/", safe=_PLAIN) + (f"?{parts.query}" if parts.query else "")


def _check(streaming: Streaming, url: str) -> None:
    if streaming.status in (200, 206):
        return
    if streaming.status in _PASSING:
        raise Unreachable(f"{url[:200]} answers {streaming.status}")
    raise NotThere(f"{url[:200]} answers {streaming.status}")
