"""What a daemon costs while it only watches: a few jobs, then thousands, all of them held back on a real Slurm."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from bench import report, servers, signed
from bench.servers import Server
from cableferry.client import emx2
from cableferry.client.emx2 import Emx2, Filter
from cableferry.client.schemes import Signed
from cableferry.schedulers.slurm import rows
from tests import clusters
from tests.clusters import Cluster
from tests.system.cluster_daemon import ClusterDaemon

SIZES = (10, 100, 1000, 5000)
WATCHED_SECONDS = 12.0
# young jobs are looked at more often
CALM_SECONDS = 21.0
PATIENCE_SECONDS = 300.0
PROGRAMS = ("sbatch", "squeue", "sacct", "scancel", "scontrol")
_QUEUE = ("squeue", "--me", "--noheader", "--states=all", f"--format={rows.SQUEUE}")
_ROUNDS = 5


class Sample(NamedTuple):
    """What has been used up to one moment."""

    at: float
    commands: dict[str, int]
    requests: int
    daemon: float
    commanded: float
    server: float

    @classmethod
    def of(cls, daemon: "Watched") -> "Sample":
        own, children = _cpu_seconds(daemon.pid)
        commands, requests = daemon.commands(), _requests(daemon.server)
        return cls(perf_counter(), commands, requests, own, children, daemon.server.cpu_seconds())


class Watched(NamedTuple):
    """A daemon, its server, and where its calls of Slurm are counted."""

    pid: int
    calls: Path
    server: Server

    def commands(self) -> dict[str, int]:
        called = self.calls.read_text().split()
        return {program: called.count(program) for program in PROGRAMS}


class Cost(NamedTuple):
    """What one cycle took with so many jobs: from one look to the next."""

    jobs: int
    seconds: float
    commands: float
    requests: float
    daemon: float
    commanded: float
    server: float
    resident: int

    @property
    def whole(self) -> float:
        return self.daemon + self.commanded

    @property
    def share(self) -> float:
        """Of one processor."""
        return self.whole / self.seconds


def main() -> None:
    if not clusters.can_run():
        sys.exit("bench tracking: no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    with clusters.running() as cluster:
        measure(cluster)


def measure(
    cluster: Cluster, sizes: Sequence[int] = SIZES, seconds: float = WATCHED_SECONDS, calm: float = CALM_SECONDS
) -> None:
    with servers.on_sqlite() as server:
        address = f"http://127.0.0.1:{server.address[1]}"
        client = emx2.connect(address, Signed("platform", signed.SECRET))
        daemon = ClusterDaemon(cluster, address, client, signed.SECRET, places=max(sizes))
        daemon.offer("held", script="exit 0", sbatch_args=["--hold"])
        calls = counted(daemon.folder)
        running = daemon.start(path=f"{calls.parent}:{os.environ['PATH']}")
        try:
            watched = Watched(running.pid, calls, server)
            costs = []
            for jobs in sizes:
                _hold(client, daemon, jobs)
                sleep(calm)
                costs.append(_cost(watched, jobs, seconds))
            floors = _floors(daemon)
        finally:
            daemon.stop()
            client.close()
            cluster.root("scancel", f"--user={cluster.user}")
    _tell(cluster, costs, floors)


def counted(folder: Path) -> Path:
    """The file into which programs of Slurm's names write theirs before they become the real ones."""
    calls = folder / "counted" / "calls"
    calls.parent.mkdir()
    calls.touch()
    calls.chmod(0o666)
    for name in PROGRAMS:
        program = calls.parent / name
        program.write_text(f'#!/bin/sh\necho {name} >>{calls}\nexec {shutil.which(name)} "$@"\n')
        program.chmod(0o755)
    return calls


def _hold(client: Emx2, daemon: ClusterDaemon, jobs: int) -> None:
    """Until so many are at Slurm, which holds them back, and the server knows of it."""
    there = client.page(Filter("SUBMITTED"), 1).total_count
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: daemon.submit("held"), range(jobs - there)))
    end = perf_counter() + PATIENCE_SECONDS
    while (told := client.page(Filter("SUBMITTED"), 1).total_count) < jobs:
        if perf_counter() > end:
            raise RuntimeError(f"only {told} of {jobs} jobs were submitted: {daemon.log()[-1000:]}")
        sleep(0.2)


def _cost(watched: Watched, jobs: int, seconds: float) -> Cost:
    """While it watches, and nothing happens."""
    before = Sample.of(watched)
    sleep(seconds)
    # on a busy machine looks are far apart, since the daemon spares a Slurm that is slow
    while not (looks := _looks(before, after := Sample.of(watched))):
        if perf_counter() > before.at + PATIENCE_SECONDS:
            raise RuntimeError(f"the daemon did not look once in {PATIENCE_SECONDS:.0f} s")
        sleep(0.2)
    return Cost(
        jobs,
        (after.at - before.at) / looks,
        (sum(after.commands.values()) - sum(before.commands.values())) / looks,
        (after.requests - before.requests) / looks,
        (after.daemon - before.daemon) / looks,
        (after.commanded - before.commanded) / looks,
        (after.server - before.server) / looks,
        _resident(watched.pid),
    )


def _looks(before: Sample, after: Sample) -> int:
    return after.commands["squeue"] - before.commands["squeue"]


def _floors(daemon: ClusterDaemon) -> tuple[float, float]:
    """Processor seconds of one squeue for all of them, and of one process that reads its answer."""
    before, rounds = os.times(), _ROUNDS
    for _ in range(rounds):
        said = daemon.as_user(*_QUEUE)
    after = os.times()
    asked = after.children_user + after.children_system - before.children_user - before.children_system
    began = time.process_time()
    for _ in range(rounds):
        rows.squeue(said)
    return asked / rounds, (time.process_time() - began) / rounds


def _cpu_seconds(pid: int) -> tuple[float, float]:
    """Of a process itself, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
    return used[0] + used[1], used[2] + used[3]


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _requests(server: Server) -> int:
    page = subprocess.run(
        ["curl", "-sf", f"http://127.0.0.1:{server.address[1]}/metrics"], capture_output=True, text=True, check=True
    ).stdout
    counts = [line for line in page.splitlines() if line.startswith("cableferry_request_seconds_count")]
    return int(sum(float(line.rpartition(" ")[2]) for line in counts if "/metrics" not in line))


def _tell(cluster: Cluster, costs: Sequence[Cost], floors: tuple[float, float]) -> None:
    heads = ("jobs", "cycle", "commands", "requests", "daemon", "its commands", "share", "server", "memory")
    report.table(f"One cycle on Slurm {cluster.version}, processor time", heads, [_row(cost) for cost in costs])
    asked, read = floors
    most = costs[-1]
    print(f"\nfloor: one squeue for {most.jobs} jobs {report.ms(asked)}, reading its answer {report.ms(read)}")
    report.result(
        "tracking", most.whole * 1000, "ms of processor per cycle", (asked + read) * 1000,
        jobs=most.jobs, commands=most.commands, commands_of_few=costs[0].commands,
        daemon_ms=most.daemon * 1000, share=most.share, server_ms=most.server * 1000, memory_mib=most.resident / 2**20,
        memory_of_few_mib=costs[0].resident / 2**20,
    )  # fmt: skip


def _row(cost: Cost) -> report.Row:
    return (
        report.count(cost.jobs),
        f"{cost.seconds:.1f} s",
        f"{cost.commands:.2f}",
        f"{cost.requests:.1f}",
        report.ms(cost.daemon),
        report.ms(cost.commanded),
        f"{cost.share:.1%}",
        report.ms(cost.server),
        f"{cost.resident / 2**20:.1f} MiB",
    )


if __name__ == "__main__":
    main()
