"""State changes a second through sync, many jobs a round trip, against bare statements on the same disk."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench import audit, load, postgres, report, seeding, servers, signed

GROUP = 250
DAEMONS = tuple(signed.Daemon(f"bench-{number}") for number in range(8))
REPORTS: tuple[dict[str, str], ...] = (
    {"status": "SUBMITTED", "detail": "Slurm job 4711", "slurm_job_id": "4711"},
    {"status": "STARTED", "detail": "running on node-17"},
    {"status": "COMPLETED", "detail": "exit code 0"},
)


class Measured(NamedTuple):
    """Acknowledged state changes, the round trips they took, and the seconds the server had for them."""

    changes: int
    trips: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.changes / self.seconds


class Daemon:
    """A daemon between two cycles: each group of jobs it holds is one report further on every time."""

    def __init__(self, signer: signed.Daemon) -> None:
        self._signer = signer
        self._groups: list[tuple[int, list[str]]] = []

    def cycle(self, wanted: int) -> bytes:
        """Everything there is to say, and a wish for more jobs."""
        reports = [{"job_id": id_, **REPORTS[stage]} for stage, ids in self._groups for id_ in ids]
        target = f"/workers/{self._signer.worker}/sync"
        return self._signer.post(target, {"reports": reports, "claim": wanted})

    def hears(self, body: bytes) -> int:
        """Take the answer in and return how many states changed."""
        answer = json.loads(body)
        if refused := [result for result in answer["reports"] if result["code"] != 200]:
            raise RuntimeError(f"{len(refused)} reports were refused, the first by {refused[0]}")
        self._groups = [(stage + 1, ids) for stage, ids in self._groups if stage + 1 < len(REPORTS)]
        if claimed := [job["id"] for job in answer["claimed"]]:
            self._groups.append((0, claimed))
        return len(answer["reports"]) + len(answer["claimed"])

    @property
    def is_idle(self) -> bool:
        return not self._groups


def main(cycles: int = 10, postgres_processes: Sequence[int] = (1, 2, 4)) -> None:
    with servers.on_sqlite() as server:
        sqlite = measure([server], cycles)
    floor = bare_changes_per_second()
    rows = [_row("bare statements, 1000 a commit (floor)", floor, None), _row("SQLite FULL", sqlite.per_second, sqlite)]
    figures: dict[str, float] = {}
    for processes in postgres_processes:
        with _on_postgres(processes) as cluster:
            if cluster:
                done = measure(cluster, max(1, cycles // 2))
                figures[f"postgres_{processes}"] = done.per_second
                rows.append(_row(f"Postgres, {processes} server processes", done.per_second, done))
    report.table(
        f"State changes through sync, {len(DAEMONS)} daemons with up to {4 * GROUP} changes a round trip",
        ("", "changes a second", "changes", "round trips"),
        rows,
    )
    report.result("sync", sqlite.per_second, "changes/s", floor, **figures)


def measure(running: Sequence[servers.Server], cycles: int) -> Measured:
    """Jobs from PENDING to COMPLETED, one sync a daemon and cycle; requests are made beside the clock."""
    seeding.register(running[0], DAEMONS)
    left = cycles * GROUP * len(DAEMONS)
    seeding.create(running[0], DAEMONS[0], left)
    expected = 4 * left
    daemons = [Daemon(signer) for signer in DAEMONS]
    changes, trips, seconds = 0, 0, 0.0
    while changes < expected:
        requests = [[daemon.cycle(GROUP)] for daemon in daemons]
        run = seeding.checked(load.drive([server.address for server in running], requests, len(daemons)))
        seconds += run.seconds
        trips += len(run.answers)
        changes += sum(daemons[timed.script].hears(timed.answer.body) for timed in run.answers)
    audit.check(running[0].database, expected)
    return Measured(changes, trips, seconds)


@contextlib.contextmanager
def _on_postgres(processes: int) -> Iterator[list[servers.Server]]:
    """So many server processes on one fresh database; none where Postgres is not installed."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(postgres.database())
        path = stack.enter_context(servers.folder())
        yield [stack.enter_context(servers.running(url, path)) for _ in range(processes)] if url else []


def bare_changes_per_second(seconds: float = 1.0) -> float:
    """What this disk and SQLite give when nothing is checked: an update and an insert a change."""
    with servers.folder() as path, contextlib.closing(_bare_database(path)) as db:
        changes, began = 0, perf_counter()
        while perf_counter() - began < seconds:
            keys = [(key % 10_000,) for key in range(changes, changes + 1000)]
            with db:
                db.executemany("UPDATE jobs SET state = state + 1, at = at + 1 WHERE key = ?", keys)
                db.executemany("INSERT INTO history (job, said) VALUES (?, 'Slurm job 4711')", keys)
            changes += len(keys)
        return changes / (perf_counter() - began)


def _bare_database(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path / "bare.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    with db:
        db.execute("CREATE TABLE jobs (key INTEGER PRIMARY KEY, state INTEGER, at INTEGER)")
        db.execute("CREATE TABLE history (key INTEGER PRIMARY KEY, job INTEGER, said TEXT)")
        db.executemany("INSERT INTO jobs VALUES (?, 0, 0)", ((key,) for key in range(10_000)))
    return db


def _row(name: str, per_second: float, done: Measured | None) -> report.Row:
    counts = (report.count(done.changes), report.count(done.trips)) if done else ("", "")
    return (name, report.count(per_second), *counts)


if __name__ == "__main__":
    main()
