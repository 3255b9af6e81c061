"""Jobs at a site that keeps no accounts and forgets within seconds: what a job itself left says how it ended."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests import clusters
from tests.cli import ferry as program
from tests.clusters import Cluster
from tests.schedulers.waiting import until
from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm

HOLD = (
    'echo ran >>"$HPC_WORK_DIR/runs"; while [ ! -e "$GATE/go" ]; do sleep 0.1; done; echo made >"$HPC_OUTPUT_DIR/made"'
)


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Cluster]:
    if not clusters.can_run():
        pytest.skip("no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    with clusters.forgetful() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with program.serving(tmp_path_factory.mktemp("server"), is_open=True) as server:
        yield server


@pytest.fixture
def daemon(forgetful: Cluster, served: str) -> Iterator[ClusterDaemon]:
    with program.client(served) as client:
        daemon = ClusterDaemon(forgetful, served, client)
        daemon.offer("good", script='echo made >"$HPC_OUTPUT_DIR/made"')
        daemon.offer("three", script="exit 3")
        daemon.offer("hold", script=HOLD)
        daemon.offer("held", script=HOLD, sbatch_args=["--hold"])
        yield daemon
        (daemon.folder / "go").touch()
        daemon.stop()


def test_ends_and_cancellations_need_no_accounts(daemon: ClusterDaemon) -> None:
    good, three, held, running = (daemon.submit(name) for name in ("good", "three", "held", "hold"))
    daemon.start()
    ids = [daemon.until(held, "SUBMITTED").slurm_job_id or "", daemon.until(running, "STARTED").slurm_job_id or ""]
    for job in (held, running):
        daemon.client.cancel(job)
    until(lambda: {"PENDING", "RUNNING"}.isdisjoint(_states(daemon, *ids)))
    ends = [daemon.ended(job) for job in (good, three, held, running)]

    assert ["COMPLETED", "FAILED", "CANCELLED", "CANCELLED"] == [end.status for end in ends]
    assert {"made": b"made\n"} == daemon.files(ends[0].output_artifact_id)
    assert "exit_code=3" in (ends[1].detail or "")
    assert json.loads(daemon.run("status", "--json").stdout)["standing"]["scheduler_trouble"] is None


def test_jobs_that_were_forgotten_while_nobody_looked_are_told_by_their_notes_and_lost_without(
    daemon: ClusterDaemon,
) -> None:
    daemon.offer("fails", script=f"{HOLD}; exit 3")
    # sooner than a daemon would find out by waiting: only a note saves the others
    daemon.worker["lost_seconds"] = 2
    good, bad, gone = (daemon.submit(name) for name in ("hold", "fails", "held"))
    daemon.start()
    ids = [daemon.until(job, "STARTED", "SUBMITTED").slurm_job_id or "" for job in (good, bad, gone)]
    until(lambda: all(daemon.place(job, "work/runs").exists() for job in (good, bad)))
    daemon.stop(signal.SIGKILL)
    daemon.slurm("scancel", ids[2])
    (daemon.folder / "go").touch()
    until(lambda: _states(daemon, *ids) == set())
    daemon.start()
    ends = [daemon.ended(job) for job in (good, bad, gone)]

    assert ["COMPLETED", "FAILED", "FAILED"] == [end.status for end in ends]
    assert {"made": b"made\n"} == daemon.files(ends[0].output_artifact_id)
    assert "exit_code=3" in (ends[1].detail or "")
    assert (ends[2].detail or "").startswith("lost")
    assert ["ran\n"] * 2 == [daemon.place(job, "work/runs").read_text() for job in (good, bad)]


def test_a_killed_daemon_finds_a_living_job_again_and_it_ran_once(daemon: ClusterDaemon) -> None:
    job = daemon.submit("hold")
    daemon.start()
    daemon.until(job, "STARTED")
    daemon.stop(signal.SIGKILL)
    daemon.start()
    until(lambda: daemon.log().count("worker registered") == 2)
    (daemon.folder / "go").touch()

    assert "COMPLETED" == daemon.ended(job).status
    assert "ran\n" == daemon.place(job, "work/runs").read_text()


def _states(daemon: ClusterDaemon, *ids: str) -> set[str]:
    lines = daemon.slurm("squeue", "-h", "-t", "all", "-o", "%A %T").splitlines()
    return {line.split()[1] for line in lines if line.split()[0] in ids}
