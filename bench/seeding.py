"""What a benchmark needs before its clock starts: registered workers, and jobs in the state it wants."""

import json
from collections.abc import Sequence

from bench import load, servers, signed

PROCESSOR, PROFILE = "text-embedding", "gpu-medium"
_DRAFT = {
    "processor": PROCESSOR,
    "profile": PROFILE,
    "parameters": {"model": "small", "batch_size": 32},
    "inputs": {"dataset": "corpus-01"},
}


def register(server: servers.Server, daemons: Sequence[signed.Daemon]) -> None:
    """Workers that offer the benchmarks' processor without a limit."""
    offer = {"processor": PROCESSOR, "profile": PROFILE}
    body = {"hostname": "bench", "capabilities": [offer]}
    run(server, [daemon.post("/workers/register", {"worker_id": daemon.worker, **body}) for daemon in daemons])


def creations(daemon: signed.Daemon, count: int, **fields: object) -> list[bytes]:
    """Signed requests that each create one job."""
    return [daemon.post("/jobs", {**_DRAFT, **fields}) for _ in range(count)]


def create(server: servers.Server, daemon: signed.Daemon, count: int) -> list[str]:
    """New pending jobs, oldest first."""
    return ids(run(server, creations(daemon, count)))


def ids(created: load.Run) -> list[str]:
    """Which jobs a run of creations made, oldest first."""
    return sorted(json.loads(body)["id"] for body in created.bodies())


def claim(server: servers.Server, daemon: signed.Daemon, count: int) -> list[str]:
    """So many jobs in the hands of the daemon, by batch claims."""
    sizes = [min(500, count - begun) for begun in range(0, count, 500)]
    requests = [daemon.post("/jobs/claim", {"worker_id": daemon.worker, "limit": size}) for size in sizes]
    claimed = [job["id"] for body in run(server, requests).bodies() for job in json.loads(body)["items"]]
    if len(claimed) != count:
        raise RuntimeError(f"{count} jobs were to be claimed and {len(claimed)} were")
    return claimed


def run(server: servers.Server, requests: Sequence[bytes], connections: int = 64) -> load.Run:
    """Send requests that must all succeed, in any order."""
    return checked(load.drive([server.address], [[request] for request in requests], connections))


def checked(done: load.Run) -> load.Run:
    """The same run, if nothing in it was refused."""
    if refused := done.refused():
        raise RuntimeError(f"{len(refused)} of {len(done.answers)} were refused, the first by {refused[0].raw!r}")
    return done
