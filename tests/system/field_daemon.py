"""A daemon as it is in the field: its headers, its signature and the calls of its cycle, nothing more."""

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
IN_FLIGHT = ("CLAIMED", "SUBMITTED", "STARTED")


class Answered(Exception):
    """An answer that is no success; the field daemons branch on its status and read its detail."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {body.get('detail')}")
        self.status = status
        self.detail = body["detail"]


class FieldDaemon:
    """Signs as its generation does: over the target as it wrote it, not as it travels."""

    def __init__(self, generation: Generation, port: int, worker: str, secret: str) -> None:
        self.generation = generation
        self.worker = worker
        self._port = port
        self.secret = secret

    def call(self, method: str, target: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        content = json.dumps(body).encode() if body else b""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        try:
            connection.request(method, quote(target, "/?&=:+"), content, self._headers(method, target, content))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        said = json.loads(text) if text else {}
        assert isinstance(said, dict)
        if answer.status >= 300:
            raise Answered(answer.status, said)
        return said

    def _headers(self, method: str, target: str, content: bytes) -> dict[str, str]:
        timestamp, nonce = str(int(time.time())), uuid.uuid4().hex
        lines = (method, target, hashlib.sha256(content).hexdigest(), timestamp, nonce)
        signature = hmac.new(self.secret.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
        return {
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "python-httpx/0.28.1",
            "Content-Type": "application/json",
            "X-EMX2-API-Version": "2025-01",
            "X-Request-Id": str(uuid.uuid4()),
            "X-Timestamp": timestamp,
            "X-Nonce": nonce,
            "X-Worker-Id": self.worker,
            "Authorization": f"HMAC-SHA256 {signature}",
        }

    def register(self, processor: str, profile: str) -> None:
        capability = {"processor": processor, "profile": profile, "max_concurrent_jobs": 4}
        body = {"worker_id": self.worker, "hostname": "login-1", "capabilities": [capability]}
        self.call("POST", "/api/hpc/workers/register", body)

    def recover(self) -> list[str]:
        """What a start finds of its own; the first generation reads the wrong list and finds nothing."""
        if self.generation == "S":
            self.call("GET", "/api/hpc/jobs?status=PENDING")
            return []
        lists = [self.call("GET", f"/api/hpc/jobs?status={status}")["items"] for status in IN_FLIGHT]
        return [job["id"] for jobs in lists for job in jobs if job["worker_id"] == self.worker]

    def poll(self, processor: str, profile: str) -> list[str]:
        target = f"/api/hpc/jobs?status=PENDING&processor={processor}&profile={profile}"
        return [job["id"] for job in self.call("GET", target)["items"]]

    def claim(self, job: str) -> dict[str, Any]:
        return self.call("POST", f"/api/hpc/jobs/{job}/claim", {"worker_id": self.worker})

    def report(self, job: str, status: str, **said: Any) -> None:
        self.call("POST", f"/api/hpc/jobs/{job}/transition", {"status": status, "worker_id": self.worker, **said})

    def end(self, job: str, status: str, **said: Any) -> None:
        """The first generation knows no other way to end a job than the way it reports everything."""
        verb = "transition" if self.generation == "S" else "complete"
        self.call("POST", f"/api/hpc/jobs/{job}/{verb}", {"status": status, "worker_id": self.worker, **said})

    def status(self, job: str) -> str:
        return str(self.call("GET", f"/api/hpc/jobs/{job}")["status"])
