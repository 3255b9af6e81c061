"""Two head nodes of one cluster share the work of one server, and one of them may break."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.schedulers.waiting import until
from tests.system import sites
from tests.system.cluster_daemon import ClusterDaemon
from tests.system.sites import Site

pytestmark = pytest.mark.slurm

JOBS = 40
# whoever runs a second time says so
RUN = """
mkdir "{seen}/$HPC_JOB_ID" || echo "$HPC_JOB_ID" >>"{seen}/twice"
sleep 0.2
echo "$HPC_JOB_ID" >"$HPC_OUTPUT_DIR/id"
"""


@contextlib.contextmanager
def _heads(site: Site, server: str, seen: Path, places: int = 5) -> Iterator[tuple[ClusterDaemon, ClusterDaemon]]:
    with sites.client(server) as client:
        first, second = (ClusterDaemon(site.cluster, server, client, sites.SECRET, places) for _ in range(2))
        for head in (first, second):
            head.offer("share", script=RUN.format(seen=seen))
        try:
            yield first, second
        finally:
            first.stop()
            second.stop()


def _seen(site: Site) -> Path:
    seen = site.cluster.folder()
    seen.chmod(0o777)
    return seen


def test_two_head_nodes_share_a_queue_and_one_of_them_is_killed_and_comes_back(site: Site, served: str) -> None:
    seen = _seen(site)
    with _heads(site, served, seen) as (first, second):
        jobs = [first.submit("share") for _ in range(JOBS)]
        first.start()
        second.start()
        until(lambda: len(list(seen.iterdir())) >= JOBS // 4)
        first.stop(signal.SIGKILL)
        until(lambda: len(list(seen.iterdir())) >= JOBS // 2)
        first.start()
        ended = [first.ended(job) for job in jobs]
        files = [first.files(job.output_artifact_id) for job in ended]

    assert [job.status for job in ended] == ["COMPLETED"] * JOBS, [job.detail for job in ended]
    assert sorted(path.name for path in seen.iterdir()) == sorted(jobs)
    assert files == [{"id": f"{job}\n".encode()} for job in jobs]
    assert {job.worker_id for job in ended} == {first.worker_id, second.worker_id}


def test_jobs_of_a_head_node_that_never_returns_go_to_the_other_or_end(site: Site, impatient: str) -> None:
    seen = _seen(site)
    hold = f'touch "{seen}/$HPC_JOB_ID-ran"; while [ ! -e "{seen}/go" ]; do sleep 0.1; done'
    with _heads(site, impatient, seen) as (first, second):
        first.offer("hold", script=hold)
        second.offer("other", script="true")
        begun = first.submit("hold")
        first.start()
        slurm_id = first.until(begun, "STARTED").slurm_job_id or ""
        first.stop()
        claimed = first.submit("share")
        # it is killed in the moment in which it would submit
        first.start(path=_deadly(first)).wait(60)
        second.start()
        taken_over, silent = second.ended(claimed), second.ended(begun)
        (seen / "go").touch()
        # and what never came back comes back after all
        first.start()
        until(lambda: not first.slurm("squeue", "-h", "-j", slurm_id, "-t", "PD,R,CG", "-o", "%T").strip())
        until(lambda: begun not in first.run("status").stdout)
        history, left = second.history(claimed), second.client.job(begun)

    assert (taken_over.status, taken_over.attempt, taken_over.worker_id) == ("COMPLETED", 2, second.worker_id)
    assert [row.to_status for row in history].count("PENDING") == 2
    assert (silent.status, silent.cause, left) == ("FAILED", "silent", silent)
    assert sorted(path.name for path in seen.iterdir()) == sorted([claimed, f"{begun}-ran", "go"])


@pytest.fixture
def impatient(site: Site, tmp_path: Path) -> Iterator[str]:
    """A server that soon gives up on workers who say nothing."""
    soon = {"CLAIMED_SECONDS": "6", "STARTED_SECONDS": "12", "AFTER_CLAIMED": "pending", "SWEEP_SECONDS": "1"}
    settings = {f"CABLEFERRY_TIMEOUTS__{name}": value for name, value in soon.items()}
    with sites.serving(msgspec.structs.replace(site, server_port=site.other_port), tmp_path, settings) as server:
        yield server


def _deadly(head: ClusterDaemon) -> str:
    """A PATH with an sbatch that submits nothing and kills whoever calls it."""
    programs = head.folder / "bin"
    programs.mkdir(mode=0o755)
    (programs / "sbatch").write_text("#!/bin/sh\nkill -9 $PPID; sleep 600\n")
    (programs / "sbatch").chmod(0o755)
    return f"{programs}:{os.environ['PATH']}"
