"""Requests that are signed at any time and with anything in them, then sent, changed or not, byte by byte."""

import hashlib
import http.client
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from msgspec.structs import replace

from cableferry.core import signing, sigv4
from cableferry.core.sigv4 import Message, Payload, Proof, Scope
from cableferry.engine.access_keys import Issued
from tests.dialects.s3.gateway import Gateway

SECONDS = 20
ALWAYS = ("host", "x-amz-content-sha256", "x-amz-date")


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def refusal(self) -> tuple[int, str | None]:
        """The status, and what S3 calls the refusal."""
        return self.status, ElementTree.fromstring(self.body).findtext("Code") if self.body else None


class Signed(NamedTuple):
    """A request with everything that its signature covers, and the proof and key that chunks go on from."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    proof: Proof
    key: bytes

    def send(self, gateway: Gateway) -> Reply:
        return send(gateway, self.method, self.target, self.headers, self.body)


def signed(
    gateway: Gateway,
    issued: Issued,
    method: str,
    target: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    at: datetime | None = None,
) -> Signed:
    """By the header; headers that are given by another name than theirs in lower case are not signed."""
    stamp = f"{at or datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    usual = {
        "host": f"127.0.0.1:{gateway.port}",
        "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        "x-amz-date": stamp,
    }
    sent = usual | dict(headers or {})
    names = tuple(sorted(name for name in sent if name.islower()))
    proof = Proof(issued.key.id, Scope(stamp[:8], "us-east-1"), stamp, names, "")
    key = sigv4.signing_key(issued.secret, proof.scope)
    proof = _completed(proof, key, Message(method, *_parts(target), _bytes(sent), sent["x-amz-content-sha256"]))
    sent["Authorization"] = (
        f"{sigv4.ALGORITHM} Credential={proof.access_key}/{proof.scope.text},"
        f" SignedHeaders={';'.join(names)}, Signature={proof.signature}"
    )
    return Signed(method, target, sent, body, proof, key)


def presigned(
    gateway: Gateway, issued: Issued, method: str, path: str, seconds: int = 60, at: datetime | None = None
) -> str:
    """The path and query of a URL that anybody may call."""
    stamp = f"{at or datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    scope = Scope(stamp[:8], "us-east-1")
    fields = {
        "X-Amz-Algorithm": sigv4.ALGORITHM,
        "X-Amz-Credential": f"{issued.key.id}/{scope.text}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": "host",
    }
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())
    proof = Proof(issued.key.id, scope, stamp, ("host",), "", timedelta(seconds=seconds))
    message = Message(method, path, query, {b"host": f"127.0.0.1:{gateway.port}".encode()}, Payload.UNSIGNED)
    proof = _completed(proof, sigv4.signing_key(issued.secret, scope), message)
    return f"{path}?{query}&X-Amz-Signature={proof.signature}"


def send(
    gateway: Gateway, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=SECONDS)
    try:
        connection.request(method, target, body or None, dict(headers or {}))
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def _completed(proof: Proof, key: bytes, message: Message) -> Proof:
    text = sigv4.text_to_sign(proof, sigv4.canonical(proof, message, message.path))
    return replace(proof, signature=signing.sign(key, text))


def _parts(target: str) -> tuple[str, str]:
    path, _, query = target.partition("?")
    return path, query


def _bytes(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode("latin-1") for name, value in headers.items()}
