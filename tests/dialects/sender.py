"""Whoever sends files bit by bit, in either protocol, and over connections that break."""

import base64
import hashlib
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping

from cableferry.client.http import Connection, Request
from cableferry.testing.servers import Client, Reply

ARTIFACTS = "/api/hpc/artifacts"
CONTENT = os.urandom(300_000)
TUS = {
    "Tus-Resumable": "1.0.0",
    "Content-Type": None,
    "X-EMX2-API-Version": None,
    "X-Request-Id": None,
    "X-Timestamp": None,
}
PART = {"Content-Type": "application/offset+octet-stream"}
DRAFT = {"Upload-Draft-Interop-Version": "8", "Content-Type": "application/partial-upload"}
SECONDS = 20


class Sender:
    """Sends into one new artifact."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.artifact = str(client.post(ARTIFACTS, {"type": "blob"}).json["id"])
        self.home = f"{ARTIFACTS}/{self.artifact}"

    def tus(self, method: str, path: str, body: bytes | None = None, **headers: str | int | None) -> Reply:
        return self.client.call(method, path, body, {**TUS, **named(headers)})

    def begin(
        self, length: int | None = len(CONTENT), path: str = "x", body: bytes | None = None, **more: str
    ) -> Reply:
        """A new upload of the tus protocol."""
        about = {"path": path, **more}
        metadata = ",".join(f"{name} {b64(value.encode())}" for name, value in about.items())
        said = {"Upload-Defer-Length": "1"} if length is None else {"Upload-Length": str(length)}
        headers = {**TUS, **said, "Upload-Metadata": metadata, **(PART if body is not None else {})}
        return self.client.call("POST", f"{self.home}/uploads", body, headers)

    def begun(self, length: int | None = len(CONTENT), **more: str) -> str:
        return self.begin(length, **more).headers["location"]

    def append(self, upload: str, offset: int, content: bytes, **headers: str | int | None) -> Reply:
        return self.client.call(
            "PATCH", upload, content, {**TUS, **PART, "Upload-Offset": str(offset), **named(headers)}
        )

    def put(self, path: str, content: bytes, complete: str, **headers: str | int | None) -> Reply:
        """A file, or its beginning, as the draft has it."""
        said = {**DRAFT, "Content-Type": "text/plain", "Upload-Complete": complete, **named(headers)}
        return self._patiently("PUT", f"{self.home}/files/{path}", content, said)

    def go_on(self, upload: str, offset: int, content: bytes, complete: str, **headers: str | int | None) -> Reply:
        said = {**DRAFT, "Upload-Offset": str(offset), "Upload-Complete": complete, **named(headers)}
        return self._patiently("PATCH", upload, content, said)

    def _patiently(self, method: str, path: str, content: bytes, headers: Mapping[str, str | None]) -> Reply:
        """By a client that knows of interim answers."""
        said = {name: value for name, value in {**protocol(), **headers}.items() if value is not None}
        connection = Connection(f"http://127.0.0.1:{self.client.port}")
        try:
            reply = connection.send(Request(method, path, said | {"Content-Length": str(len(content))}, content))
        finally:
            connection.close()
        return Reply(reply.status, dict(reply.headers), reply.body)

    def offset(self, upload: str) -> int:
        return int(self.tus("HEAD", upload).headers["upload-offset"])

    def file(self, path: str = "x") -> bytes | None:
        """What the artifact has under the path by now."""
        reply = self.client.get(f"{self.home}/files/{path}")
        return reply.body if reply.status == 200 else None

    def break_off(self, method: str, path: str, content: bytes, headers: Mapping[str, str]) -> bytes:
        """Send less than was said, and go away; what came back meanwhile."""
        with self.connect() as connection:
            connection.sendall(head(method, path, {"Content-Length": str(10 * len(content)), **headers}) + content)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.client.port), timeout=SECONDS)


def head(method: str, path: str, headers: Mapping[str, str | None]) -> bytes:
    """The head of a request as it goes over the wire."""
    lines = [f"{name}: {value}" for name, value in {**protocol(), **headers}.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def protocol() -> dict[str, str]:
    return {
        "X-EMX2-API-Version": "2025-01",
        "X-Request-Id": str(uuid.uuid4()),
        "X-Timestamp": str(int(time.time())),
    }


def named(headers: Mapping[str, str | int | None]) -> dict[str, str | None]:
    return {name.replace("_", "-"): None if value is None else str(value) for name, value in headers.items()}


def checksum(algorithm: str, content: bytes) -> str:
    return f"{algorithm} {b64(hashlib.new(algorithm, content).digest())}"


def digest(content: bytes) -> str:
    return f"sha-256=:{b64(hashlib.sha256(content).digest())}:"


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def pieces(content: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(content), size):
        yield start, content[start : start + size]
