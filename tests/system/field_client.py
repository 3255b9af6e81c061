"""How a daemon in the field asks: its headers, its signature, and what it makes of each status."""

import hashlib
import hmac
import http.client
import json
import time
import uuid
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

Generation = Literal["S", "F", "N"]
Said = dict[str, Any]

ATTEMPTS = 3
# what their HTTP library leaves as it is in an address
_AS_IS = "/?&=:+,;@!$'()*~[]"
_BINARY = "application/octet-stream"


class Answered(Exception):
    """An answer that is no success; `detail` is what the daemon logs."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail


class NotFound(Answered):
    """404, wherever it comes."""


class ClaimConflict(Answered):
    """409 where the path says claim: quietly skipped."""


class TransitionError(Answered):
    """409 anywhere else."""


class FieldClient:
    """Signs the target as it wrote it, and sends it as its HTTP library encodes it, over one connection.

    An answer to a target that holds a word of `losing` is lost once, after the server gave it.
    """

    def __init__(self, generation: Generation, port: int, worker: str, secret: str) -> None:
        self.generation = generation
        self.worker = worker
        self.port = port
        self.secret = secret
        self.calls: list[str] = []
        self.losing: list[str] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, target: str, body: Mapping[str, object] | None = None) -> Said:
        """Nothing is sent for an empty object: it is falsy."""
        content = json.dumps(body).encode() if body else b""
        return _as_object(self._request(method, target, content, {"Content-Type": "application/json"}, content))

    def upload(self, target: str, content: bytes) -> Said:
        """Only the newest generation tells the hash of a file; the others sign as if it were empty."""
        if self.generation == "N":
            headers = {"Content-Type": _BINARY, "Content-SHA256": hashlib.sha256(content).hexdigest()}
            return _as_object(self._request("PUT", target, content, headers, content))
        return _as_object(self._request("PUT", target, content, {"Content-Type": _BINARY}, b""))

    def download(self, target: str) -> bytes:
        return self._request("GET", target, b"", {"Content-Type": "application/json"}, b"")

    def _request(self, method: str, target: str, content: bytes, headers: Mapping[str, str], signed: bytes) -> bytes:
        """Three attempts where the server fails or an answer is lost, each signed anew; no key says they are one."""
        for attempt in range(1, ATTEMPTS + 1):
            self.calls.append(f"{method} {target}")
            status, answer = self._send(method, target, content, {**headers, **self._envelope(method, target, signed)})
            is_lost = self._loses(target)
            if attempt == ATTEMPTS or (status < 500 and not is_lost):
                break
        if status >= 300:
            raise _refusal(target, status, answer)
        return answer

    def _send(self, method: str, target: str, content: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        path, _, _ = target.partition("#")
        self._connection.request(method, quote(path, _AS_IS), content or None, dict(headers))
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _loses(self, target: str) -> bool:
        found = next((word for word in self.losing if word in target), None)
        if found is not None:
            self.losing.remove(found)
        return found is not None

    def _envelope(self, method: str, target: str, signed: bytes) -> dict[str, str]:
        timestamp, nonce = str(int(time.time())), uuid.uuid4().hex
        lines = (method, target, hashlib.sha256(signed).hexdigest(), timestamp, nonce)
        signature = hmac.new(self.secret.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
        return {
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "python-httpx/0.28.1",
            "X-EMX2-API-Version": "2025-01",
            "X-Request-Id": str(uuid.uuid4()),
            "X-Timestamp": timestamp,
            "X-Nonce": nonce,
            "X-Worker-Id": self.worker,
            "Authorization": f"HMAC-SHA256 {signature}",
        }


def _refusal(target: str, status: int, answer: bytes) -> Answered:
    """A refusal must be JSON with a detail; an answer that is not breaks the daemon's call."""
    detail = json.loads(answer)["detail"]
    match status:
        case 404:
            return NotFound(status, detail)
        case 409 if "claim" in target:
            return ClaimConflict(status, detail)
        case 409:
            return TransitionError(status, detail)
        case _:
            return Answered(status, detail)


def _as_object(answer: bytes) -> Said:
    said = json.loads(answer) if answer else {}
    assert isinstance(said, dict)
    return said
