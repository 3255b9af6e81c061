"""The worker contract as its clients call it: none of another protocol's headers, and bodies as plain as they come."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cableferry.server.settings import AuthSection, DatabaseSection, OpevaSection, ServerSection, Settings
from cableferry.store.tx import Store
from cableferry.testing import servers
from cableferry.testing.servers import Client, Reply

HOSTS = ["worker-a", "worker-b", "local"]
NO_HEADERS = {"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None}
SECONDS = 30


class Port(NamedTuple):
    """A server with a shared folder."""

    client: Client
    share: Path

    def post(self, path: str, body: object = None) -> Reply:
        return self.client.post(path, body)

    def get(self, path: str) -> Reply:
        return self.client.get(path)

    def entries(self, path: str) -> list[dict[str, Any]]:
        """The answer of an endpoint that lists something."""
        return msgspec.json.decode(self.get(path).body, type=list[dict[str, Any]])

    def launch(self, host: str | None = None, **more: object) -> str:
        """A new job; without a host its worker is one that the test names when it polls."""
        body = {"config": {"experiment": {"name": "Demo", "run_name": "1"}}, "target_host": host, **more}
        reply = self.post("/run-simulation", body)
        assert reply.status == 200, reply.body
        return str(reply.json["job_id"])

    def poll(self, worker: str = "worker-a", **more: object) -> dict[str, Any] | None:
        reply = self.post("/api/agent/next-job", {"worker_id": worker, **more})
        assert reply.status in (200, 204)
        return reply.json if reply.status == 200 else None

    def say(self, job: str, status: str, worker: str | None = "worker-a", **more: object) -> Reply:
        return self.post("/api/agent/job-status", {"job_id": job, "status": status, "worker_id": worker, **more})

    def status(self, job: str) -> dict[str, Any]:
        return self.get(f"/status/{job}").json

    def word(self, job: str) -> str:
        return str(self.status(job)["status"])

    def ops(self, job: str, order: str, **body: object) -> Reply:
        return self.post(f"/ops/jobs/{job}/{order}", body)

    def at(self, word: str) -> str:
        """A job of worker-a that the contract says is there."""
        job = self.launch("worker-a")
        if word == "queued":
            return job
        if word == "canceled":
            self.post(f"/stop/{job}")
            return job
        got = self.poll()
        assert got is not None
        assert got["job_id"] == job
        if word in ("running", "stop_requested", "stopped", "finished"):
            self.say(job, "running")
        if word in ("stop_requested", "stopped"):
            self.post(f"/stop/{job}")
        if word in ("stopped", "finished", "failed"):
            self.say(job, word)
        return job

    def file(self, *place: str) -> Any:
        """A JSON file of the shared folder; None if it is not there."""
        path = self.share.joinpath(*place)
        return msgspec.json.decode(path.read_bytes()) if path.exists() else None

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for what happens by itself, such as a file that is written after a commit."""
        end = time.monotonic() + SECONDS
        pause = 0.002
        while not holds():
            assert time.monotonic() < end
            threading.Event().wait(pause)
            pause = min(pause * 2, 0.1)


def settings_in(folder: Path, auth: AuthSection | None = None, **section: Any) -> Settings:
    section = {"available_hosts": HOSTS, "shared_data": folder / "share", **section}
    return Settings(
        server=ServerSection(port=0),
        database=DatabaseSection(data_dir=folder),
        opeva=OpevaSection(**section),
        auth=auth or AuthSection(),
    )


@contextlib.contextmanager
def running(settings: Settings, store: Store | None = None) -> Iterator[Port]:
    with servers.running(settings, store) as server:
        yield Port(server.client(NO_HEADERS), settings.opeva.root)
