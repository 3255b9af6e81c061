"""Workers that keep a server busy until it dies, and remember exactly what it acknowledged."""

import contextlib
import http.client
import json
import random
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cableferry.core import signing

SECRET = "crash-secret-0123456789abcdef0123456789"
LIVES = (
    ("SUBMITTED", "STARTED", "COMPLETED"),
    ("SUBMITTED", "STARTED", "FAILED"),
    ("FAILED",),
    ("SUBMITTED", "CANCELLED"),
    ("SUBMITTED", "STARTED", "deleted"),
)
DEATHS = (ConnectionError, http.client.HTTPException, TimeoutError)


class Request(NamedTuple):
    """A signed request, which can be sent again byte for byte."""

    method: str
    target: str
    content: bytes
    headers: Mapping[str, str]


class Reply(NamedTuple):
    status: int
    body: Any


class Known(NamedTuple):
    """What a job's worker knows of it: where it is, and where it may be if the last answer was lost."""

    status: str
    or_status: str | None = None


class Crasher:
    """One worker with one connection; each of its jobs is touched by nobody else."""

    def __init__(self, worker: str, seed: int) -> None:
        self.worker = worker
        self.jobs: dict[str, Known] = {}
        self.keys: dict[str, str | None] = {}
        self.last: Request | None = None
        self._chance = random.Random(seed)

    def live(self, port: int) -> Iterator[Reply]:
        """Lead one job after the other from its creation to its end; yields with every acknowledged change."""
        with contextlib.closing(connected(port)) as connection:
            while True:
                key = str(uuid.uuid4())
                self.keys[key] = None
                reply = self.send(connection, self.creation(key))
                self.keys[key] = job = reply.body["id"]
                self.jobs[job] = Known("PENDING")
                yield reply
                for status in ("CLAIMED", *self._chance.choice(LIVES)):
                    self.jobs[job] = Known(self.jobs[job].status, status)
                    reply = self.send(connection, self._step(job, status))
                    assert [200] == [result["code"] for result in _results(reply)] or not _results(reply)
                    self.jobs[job] = Known(status)
                    yield reply

    def send(self, connection: http.client.HTTPConnection, request: Request) -> Reply:
        reply = sent(connection, request)
        assert reply.status in (200, 201, 204), reply
        self.last = request
        return reply

    def creation(self, key: str) -> Request:
        body = {"processor": "embed", "profile": self.worker}
        return self.signed("POST", "/api/hpc/jobs", body, {"Idempotency-Key": key})

    def registration(self) -> Request:
        offers = [{"processor": "embed", "profile": self.worker}]
        return self.signed(
            "POST", "/api/hpc/workers/register", {"worker_id": self.worker, "hostname": "h", "capabilities": offers}
        )

    def signed(self, method: str, target: str, body: object = None, more: Mapping[str, str] | None = None) -> Request:
        content = b"" if body is None else json.dumps(body).encode()
        timestamp, nonce = str(int(time.time())), uuid.uuid4().hex
        message = signing.canonical(method, target, signing.body_hash(content), timestamp, nonce)
        headers = {
            "X-EMX2-API-Version": "2025-01",
            "X-Request-Id": str(uuid.uuid4()),
            "X-Timestamp": timestamp,
            "X-Nonce": nonce,
            "X-Worker-Id": self.worker,
            "Content-Type": "application/json",
            "Authorization": f"HMAC-SHA256 {signing.sign(SECRET.encode(), message)}",
        }
        return Request(method, target, content, {**headers, **(more or {})})

    def _step(self, job: str, status: str) -> Request:
        target = f"/api/hpc/jobs/{job}"
        match status:
            case "CLAIMED":
                return self.signed("POST", f"{target}/claim", {"worker_id": self.worker})
            case "CANCELLED":
                return self.signed("POST", f"{target}/cancel")
            case "deleted":
                return self.signed("DELETE", target)
            case _ if self._chance.random() < 0.3:
                report = {"job_id": job, "status": status, "worker_id": self.worker}
                body = {"reports": [report], "holding": [job], "claim": 0}
                return self.signed("POST", f"/api/hpc/workers/{self.worker}/sync", body)
            case _:
                return self.signed("POST", f"{target}/transition", {"status": status, "worker_id": self.worker})


def connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def sent(connection: http.client.HTTPConnection, request: Request) -> Reply:
    connection.request(request.method, request.target, request.content, dict(request.headers))
    answer = connection.getresponse()
    content = answer.read()
    return Reply(answer.status, json.loads(content) if content else None)


def _results(reply: Reply) -> list[Any]:
    return list(reply.body.get("reports", ())) if reply.body else []
