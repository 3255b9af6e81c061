"""Claims and the first list page with a million jobs waiting, against a thousand."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import load, multiply, report, seeding, servers, signed

FEW, MANY = 1_000, 1_000_000
ROUNDS, EACH = 10, 400
DAEMON = signed.Daemon("bench-0")
LIST = f"/jobs?status=PENDING&processor={seeding.PROCESSOR}&profile={seeding.PROFILE}"
LIMIT = 1.5


class Samples(NamedTuple):
    """Seconds of each kind of request on one database."""

    claims: list[float]
    batches: list[float]
    pages: list[float]


KINDS = {"claims": "claim of a polled job", "batches": "batch claim", "pages": "first list page"}


class Sized(NamedTuple):
    """One server, and what its database weighs a job."""

    server: servers.Server
    samples: Samples
    bytes_per_job: float


def main(few: int = FEW, many: int = MANY, rounds: int = ROUNDS, each: int = EACH) -> None:
    with _sized(few) as small, _sized(many) as large:
        # the first round only warms caches up and is not counted
        for number in range(rounds + 1):
            for sized in (small, large):
                _round(sized, each, counts=number > 0)
        _check_total(large.server, many)
    rows = [_row(name, getattr(small.samples, kind), getattr(large.samples, kind)) for kind, name in KINDS.items()]
    report.table(
        f"Latency with {report.count(many)} pending jobs against {report.count(few)}, p50 and p99",
        ("", "p50 few", "p50 many", "p99 few", "p99 many", "p99 quotient"),
        rows,
    )
    print(f"\nbytes of database a pending job: {report.count(large.bytes_per_job)}")
    kind = max(KINDS, key=lambda kind: _quotient(small, large, kind))
    value, floor = (_p99(getattr(sized.samples, kind)) * 1000 for sized in (large, small))
    report.result("scale", value, f"ms p99, {KINDS[kind]}", floor, bytes_per_job=large.bytes_per_job)


@contextlib.contextmanager
def _sized(jobs: int) -> Iterator[Sized]:
    """A server whose database holds so many pending jobs."""
    with servers.folder() as path:
        url = servers.sqlite_url(path)
        with servers.running(url, path) as server:
            seeding.register(server, [DAEMON])
            seeding.create(server, DAEMON, 1)
        multiply.pending_jobs(url, jobs - 1)
        weight = _bytes_below(path) / jobs
        with servers.running(url, path) as server:
            yield Sized(server, Samples([], [], []), weight)


def _bytes_below(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir() if ".db" in file.name)


def _round(sized: Sized, each: int, *, counts: bool) -> None:
    """Poll, claim, claim by batch, and put as many jobs back as were taken."""
    server = sized.server
    pages = [DAEMON.get(LIST) for _ in range(each // 4)]
    listed = _one_by_one(server, pages)
    polled = [job["id"] for job in json.loads(_page(server, each))["items"]]
    claims = _one_by_one(server, [DAEMON.post(f"/jobs/{id_}/claim", {"worker_id": DAEMON.worker}) for id_ in polled])
    body = {"worker_id": DAEMON.worker, "limit": 1}
    batches = _one_by_one(server, [DAEMON.post("/jobs/claim", body) for _ in range(each)])
    taken = polled + [job["id"] for answer in batches.bodies() for job in json.loads(answer)["items"]]
    _put_back(server, taken)
    if counts:
        for kept, run in zip(sized.samples, (claims, batches, listed), strict=True):
            kept.extend(timed.seconds for timed in run.answers)


def _one_by_one(server: servers.Server, requests: Sequence[bytes]) -> load.Run:
    return seeding.checked(load.drive([server.address], [requests], 1))


def _page(server: servers.Server, limit: int) -> bytes:
    return seeding.run(server, [DAEMON.get(f"{LIST}&limit={limit}")]).bodies()[0]


def _put_back(server: servers.Server, taken: Sequence[str]) -> None:
    """End what was claimed, so that the worker's load stays what it was, and make as many anew."""
    said = {"status": "FAILED", "worker_id": DAEMON.worker}
    seeding.run(server, [DAEMON.post(f"/jobs/{id_}/transition", said) for id_ in taken])
    seeding.create(server, DAEMON, len(taken))


def _check_total(server: servers.Server, expected: int) -> None:
    total = json.loads(_page(server, 1))["total_count"]
    if total != expected:
        raise RuntimeError(f"{expected} jobs must be pending and the list counts {total}")


def _p99(samples: Sequence[float]) -> float:
    return load.percentile(samples, 99)


def _quotient(small: Sized, large: Sized, kind: str) -> float:
    return _p99(getattr(large.samples, kind)) / _p99(getattr(small.samples, kind))


def _row(name: str, few: Sequence[float], many: Sequence[float]) -> report.Row:
    figures = [load.percentile(samples, percent) for percent in (50, 99) for samples in (few, many)]
    return (f"{name} ({len(few)} each)", *map(report.ms, figures), f"{_p99(many) / _p99(few):.2f}")


if __name__ == "__main__":
    main()
