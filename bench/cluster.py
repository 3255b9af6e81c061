"""Short jobs from a request to their stored end on a real Slurm, beside the same scripts submitted by hand."""

import statistics
import sys
from collections.abc import Sequence
from datetime import datetime
from time import perf_counter, sleep

import msgspec

from bench import report, servers, signed
from cableferry.client import emx2
from cableferry.client.answers import Job
from cableferry.client.emx2 import Emx2, Filter
from cableferry.client.schemes import Signed
from tests import clusters
from tests.clusters import Cluster
from tests.system.cluster_daemon import ClusterDaemon

JOBS = 300
SECONDS = 170
SCRIPT = "exit 0"
# what the daemon asks for, in sbatch's words; each prints how long it took
BY_HAND = """
for job in $(seq "$1"); do
    began=$(date +%s%N)
    sbatch --parsable -c 1 --mem=100M --time=10 --output=/dev/null --job-name=by-hand "$2" >/dev/null || exit 1
    echo $(($(date +%s%N) - began))
done
is_over='$5 !~ /^(CD|F)$/ { found = 1 } END { exit !found }'
while squeue --noheader --me --states=all --name=by-hand | awk "$is_over"; do sleep 0.2; done
"""


class Round(msgspec.Struct, frozen=True):
    """So many jobs, one way: from the first request to the last end, and how long each took to be accepted."""

    seconds: float
    accepted: list[float]


def main() -> None:
    if not clusters.can_run():
        sys.exit("bench cluster: no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    with clusters.running() as cluster:
        measure(cluster)


def measure(cluster: Cluster, jobs: int = JOBS) -> None:
    with servers.on_sqlite() as server:
        address = f"http://127.0.0.1:{server.address[1]}"
        client = emx2.connect(address, Signed("platform", signed.SECRET))
        daemon = ClusterDaemon(cluster, address, client, signed.SECRET, places=jobs)
        daemon.offer("short", script=SCRIPT)
        daemon.start()
        try:
            by_hand = _by_hand(daemon, jobs)
            ours = _through(daemon, client, jobs)
        finally:
            daemon.stop()
            client.close()
    _tell(cluster, jobs, by_hand, ours)


def _by_hand(daemon: ClusterDaemon, jobs: int) -> Round:
    script = daemon.folder / "by-hand.sh"
    script.write_text(f"#!/bin/bash\n{SCRIPT}\n")
    began = perf_counter()
    said = daemon.as_user("bash", "-c", BY_HAND, "by-hand", str(jobs), str(script))
    return Round(perf_counter() - began, [int(line) / 1e9 for line in said.split()])


def _through(daemon: ClusterDaemon, client: Emx2, jobs: int) -> Round:
    began = perf_counter()
    ids = [daemon.submit("short") for _ in range(jobs)]
    while (done := client.page(Filter("COMPLETED"), 1).total_count) < jobs:
        _check(client, perf_counter() - began, done)
        sleep(0.2)
    seconds = perf_counter() - began
    return Round(seconds, [_accepted(client.job(id_)) for id_ in ids])


def _check(client: Emx2, seconds: float, done: int) -> None:
    failed = client.page(Filter("FAILED"), 1).items
    if failed or seconds > SECONDS:
        raise RuntimeError(f"after {seconds:.0f} s {done} jobs are done, and failed: {failed}")


def _accepted(job: Job | None) -> float:
    """From the request until sbatch had answered."""
    assert job is not None
    created, submitted = (datetime.fromisoformat(str(moment)) for moment in (job.created_at, job.submitted_at))
    return (submitted - created).total_seconds()


def _tell(cluster: Cluster, jobs: int, by_hand: Round, ours: Round) -> None:
    rows = [_row("sbatch by hand (floor)", jobs, by_hand), _row("server and daemon", jobs, ours)]
    heads = ("", "seconds", "jobs/s", "accepted p50", "p99")
    report.table(f"{jobs} short jobs on Slurm {cluster.version}, one after the other by hand", heads, rows)
    report.result("cluster", ours.seconds, f"s for {jobs} jobs", by_hand.seconds, accepted_p99_ms=_p99(ours) * 1000)


def _row(name: str, jobs: int, round_: Round) -> report.Row:
    median, worst = statistics.median(round_.accepted), _p99(round_)
    return (name, f"{round_.seconds:.1f}", f"{jobs / round_.seconds:.1f}", report.ms(median), report.ms(worst))


def _p99(round_: Round) -> float:
    values: Sequence[float] = sorted(round_.accepted)
    return values[min(len(values) - 1, len(values) * 99 // 100)]


if __name__ == "__main__":
    main()
