"""Durable, signed transitions a second over HTTP, against an echo that does all but touch the database."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from bench import audit, load, postgres, report, seeding, servers, signed

ROUNDS = 3
CONNECTIONS = 64
DAEMONS = tuple(signed.Daemon(f"bench-{number}") for number in range(8))


class Measured(NamedTuple):
    """What one database gave; the rounds of the floor lay between those of the transitions."""

    floors: list[load.Run]
    transitions: list[load.Run]
    lifecycles_per_second: float
    lifecycle_jobs: int

    @property
    def acknowledged(self) -> int:
        return sum(len(run.answers) for run in self.transitions) + 4 * self.lifecycle_jobs


def main(jobs: int = 5000, postgres_jobs: int = 800) -> None:
    syncs = servers.syncs_per_second()
    with servers.on_sqlite() as server:
        sqlite = measure(server, jobs)
    other = _measure_postgres(postgres_jobs) if postgres_jobs else None
    rows = [_row("echo, no database (floor)", sqlite.floors), _row("transitions, SQLite FULL", sqlite.transitions)]
    if other:
        rows += [_row("echo beside Postgres", other.floors), _row("transitions, Postgres", other.transitions)]
    report.table(
        f"Signed requests over {CONNECTIONS} connections, one server process, medians of {ROUNDS}",
        ("", "a second", "p50", "p99"),
        rows,
    )
    lives = [("SQLite FULL", report.count(sqlite.lifecycles_per_second))]
    lives += [("Postgres", report.count(other.lifecycles_per_second))] if other else []
    lives.append(("fsync of this disk", report.count(syncs)))
    report.table("Jobs from create to COMPLETED", ("", "a second"), lives)
    report.result(
        "api",
        _median(sqlite.transitions),
        "transitions/s",
        _median(sqlite.floors),
        lifecycles_per_second=sqlite.lifecycles_per_second,
        postgres=_median(other.transitions) if other else None,
    )


def _measure_postgres(jobs: int) -> Measured | None:
    with postgres.database() as url, servers.folder() as path:
        if url is None:
            return None
        with servers.running(url, path) as server:
            return measure(server, jobs)


def measure(server: servers.Server, jobs: int) -> Measured:
    """Floor and transitions in turn, then whole lives; the database must hold all that was acknowledged."""
    seeding.register(server, DAEMONS)
    ids = {daemon: _claimed(server, daemon, jobs * ROUNDS // len(DAEMONS)) for daemon in DAEMONS}
    floors, transitions = [], []
    _echo(server, jobs // 5)
    for number in range(ROUNDS):
        floors.append(_echo(server, jobs))
        share = {daemon: held[number::ROUNDS] for daemon, held in ids.items()}
        scripts = [reports(daemon, id_) for daemon, held in share.items() for id_ in held]
        transitions.append(seeding.checked(load.drive([server.address], scripts, CONNECTIONS)))
    done = Measured(floors, transitions, _lifecycles_per_second(server, jobs), jobs)
    audit.check(server.database, done.acknowledged + sum(map(len, ids.values())))
    return done


def _claimed(server: servers.Server, daemon: signed.Daemon, count: int) -> list[str]:
    seeding.create(server, daemon, count)
    return seeding.claim(server, daemon, count)


def _echo(server: servers.Server, jobs: int) -> load.Run:
    scripts = [reports(DAEMONS[number % len(DAEMONS)], "echo", "/bench") for number in range(jobs)]
    return seeding.checked(load.drive([server.address], scripts, CONNECTIONS))


def reports(daemon: signed.Daemon, id: str, under: str = "/jobs") -> list[bytes]:
    """What a daemon says of a job it has claimed, up to its end."""
    said: list[dict[str, str]] = [
        {"status": "SUBMITTED", "detail": "Slurm job 4711", "slurm_job_id": "4711"},
        {"status": "STARTED", "detail": "running on node-17"},
        {"status": "COMPLETED", "detail": "exit code 0"},
    ]
    path = f"{under}/{id}/transition"
    return [daemon.post(path, {**report_, "worker_id": daemon.worker}) for report_ in said]


def _lifecycles_per_second(server: servers.Server, jobs: int) -> float:
    """Create, claim and three reports for each job; ids are learned and requests signed beside the clock."""
    created = seeding.run(server, seeding.creations(DAEMONS[0], jobs))
    scripts = [_life(DAEMONS[n % len(DAEMONS)], id_) for n, id_ in enumerate(seeding.ids(created))]
    lived = seeding.checked(load.drive([server.address], scripts, CONNECTIONS))
    return jobs / (created.seconds + lived.seconds)


def _life(daemon: signed.Daemon, id: str) -> list[bytes]:
    return [daemon.post(f"/jobs/{id}/claim", {"worker_id": daemon.worker}), *reports(daemon, id)]


def _median(runs: Sequence[load.Run]) -> float:
    return statistics.median(run.per_second for run in runs)


def _row(name: str, runs: Sequence[load.Run]) -> report.Row:
    latencies = [statistics.median(run.percentile(percent) for run in runs) for percent in (50, 99)]
    return (name, report.count(_median(runs)), *map(report.ms, latencies))


if __name__ == "__main__":
    main()
