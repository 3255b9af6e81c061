"""Requests as the daemons in the field send them: their headers, their JSON, their signature."""

import hashlib
import json
import os
import time
import uuid

import msgspec

from cableferry.core import signing

SECRET = "bench-secret-0123456789abcdef0123456789abcdef"
API = "/api/hpc"

_HEAD = """\
{method} {target} HTTP/1.1\r
Host: 127.0.0.1\r
Accept: */*\r
Accept-Encoding: gzip, deflate\r
Connection: keep-alive\r
User-Agent: python-httpx/0.28.1\r
X-EMX2-API-Version: 2025-01\r
X-Request-Id: {request}\r
X-Timestamp: {timestamp}\r
X-Worker-Id: {worker}\r
Content-Type: application/json\r
X-Nonce: {nonce}\r
Authorization: HMAC-SHA256 {signature}\r
Content-Length: {length}\r
\r
"""


class Daemon(msgspec.Struct, frozen=True):
    """A worker that signs what it sends."""

    worker: str
    secret: str = SECRET

    def request(self, method: str, target: str, body: object = None) -> bytes:
        """One request, good for one use within the signature's window."""
        content = b"" if body is None else json.dumps(body).encode()
        return self.raw(method, target, content)

    def raw(self, method: str, target: str, content: bytes) -> bytes:
        nonce, timestamp = os.urandom(16).hex(), str(int(time.time()))
        hashed = hashlib.sha256(content).hexdigest()
        message = signing.canonical(method, target, hashed, timestamp, nonce)
        head = _HEAD.format(
            method=method,
            target=target,
            request=uuid.uuid4(),
            timestamp=timestamp,
            worker=self.worker,
            nonce=nonce,
            signature=signing.sign(self.secret.encode(), message),
            length=len(content),
        )
        return head.encode() + content

    def get(self, path: str) -> bytes:
        return self.request("GET", API + path)

    def post(self, path: str, body: object = None) -> bytes:
        return self.request("POST", API + path, body)
