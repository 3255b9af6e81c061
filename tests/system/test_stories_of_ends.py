"""Ends that nobody wished for: time, memory, an operator and other people's jobs."""

import contextlib
from pathlib import Path

import pytest

from tests.schedulers.waiting import until
from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm

# Slurm fails a job that is requeued in the moment of its start
_ONE_TRY_WAITS = (
    'sleep 1; echo ran >>"$GATE/ran"; [ $(wc -l <"$GATE/ran") = 2 ] || sleep 600; echo made >"$HPC_OUTPUT_DIR/made"'
)


def test_a_job_over_its_wall_time_is_told_so_whatever_it_says_itself(daemon: ClusterDaemon) -> None:
    forgiving = "trap 'echo half >\"$HPC_OUTPUT_DIR/made\"; exit 0' TERM; echo begun; sleep 600 & wait"
    daemon.offer("slow", script="echo begun; sleep 600", time="1")
    daemon.offer("polite", script=forgiving, time="1")
    inside = ["/bin/sh", "-c", "echo begun; sleep 600"]
    daemon.offer("slow-inside", sif_image=daemon.cluster.image, container_entrypoint=inside, time="1")
    jobs = [daemon.submit(name) for name in ("slow", "polite", "slow-inside")]
    daemon.start()
    for job in jobs:
        slurm_id = daemon.until(job, "STARTED").slurm_job_id or ""
        _until_said(daemon, job, "begun\n")
        daemon.slurm("scontrol", "update", f"jobid={slurm_id}", "EndTime=now+1")
    ended = [daemon.ended(job) for job in jobs]

    assert [(job.status, job.cause) for job in ended] == [("FAILED", "timeout")] * 3, [job.detail for job in ended]
    assert all((job.detail or "").startswith("timeout: the time limit at its scheduler") for job in ended)
    assert [daemon.files(job.log_artifact_id)["stdout.log"] for job in ended] == [b"begun\n"] * 3


def _until_said(daemon: ClusterDaemon, job: str, words: str) -> None:
    place = daemon.place(job, "output/stdout.log")
    until(lambda: place.exists() and place.read_text() == words)


def test_memory_has_its_limit_inside_a_container_too(daemon: ClusterDaemon) -> None:
    inside = ["/bin/sh", "-c", "head -c 300m /dev/zero | tail"]
    daemon.offer("hungry", sif_image=daemon.cluster.image, container_entrypoint=inside, memory="60M")
    job = daemon.submit("hungry")
    daemon.start()
    ended = daemon.ended(job)

    assert (ended.status, ended.cause) == ("FAILED", "out-of-memory" if daemon.cluster.has_cgroup else "signal")


def test_a_job_that_an_operator_puts_back_does_not_run_twice_unless_its_site_allows_that(
    daemon: ClusterDaemon,
) -> None:
    daemon.offer("once", script=_ONE_TRY_WAITS)
    daemon.offer("again", script=_ONE_TRY_WAITS.replace("/ran", "/ran-again"), may_restart=True)
    once, again = daemon.submit("once"), daemon.submit("again")
    daemon.start()
    for job, ran in ((once, "ran"), (again, "ran-again")):
        slurm_id = daemon.until(job, "STARTED").slurm_job_id or ""
        until((daemon.folder / ran).exists)
        _put_back(daemon, slurm_id)
    ended = {job: daemon.ended(job) for job in (once, again)}

    assert (ended[once].status, (daemon.folder / "ran").read_text()) == ("FAILED", "ran\n")
    assert (ended[once].detail or "").startswith("put-back: ")
    assert (ended[again].status, (daemon.folder / "ran-again").read_text()) == ("COMPLETED", "ran\nran\n")
    assert daemon.files(ended[again].output_artifact_id) == {"made": b"made\n"}


def _put_back(daemon: ClusterDaemon, slurm_id: str) -> None:
    """It would wait for two minutes, as sites want it, and here need not."""
    daemon.slurm("scontrol", "update", f"jobid={slurm_id}", "requeue=1")
    daemon.slurm("scontrol", "requeue", slurm_id)
    _let_begin(daemon, slurm_id)


def _let_begin(daemon: ClusterDaemon, slurm_id: str) -> None:
    until(lambda: daemon.slurm("squeue", "-h", "-j", slurm_id, "-o", "%T").strip() == "PENDING")
    # Slurm takes a late word on the first run for the end of the second one
    until(lambda: not _still_ends(daemon, f"slurmstepd: [{slurm_id}.batch]"))
    # and a node refuses what starts in the very second in which it was ended
    daemon.slurm("scontrol", "update", f"jobid={slurm_id}", "StartTime=now+1")


def _still_ends(daemon: ClusterDaemon, title: str) -> bool:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_one = (process / "cmdline").read_bytes().startswith(title.encode())
            if is_one and f"SLURM_CONF={daemon.cluster.slurm_conf}".encode() in (process / "environ").read_bytes():
                return True
    return False


def test_a_displaced_job_ends_is_tried_again_or_restarts_as_its_site_wishes(daemon: ClusterDaemon) -> None:
    for name, wish in {"ends": {}, "tried": {"retries": {"preempted": 1}}, "restarts": {"may_restart": True}}.items():
        script = _ONE_TRY_WAITS.replace("/ran", f"/ran-{name}")
        daemon.offer(name, script=script, partition="low", **wish)
    jobs = {name: daemon.submit(name) for name in ("ends", "tried", "restarts")}
    daemon.start()
    slurm_ids = {name: daemon.until(job, "STARTED").slurm_job_id or "" for name, job in jobs.items()}
    for name in jobs:
        until((daemon.folder / f"ran-{name}").exists)
    # all there is of the partition that comes first, for as long as it takes
    script = f'while [ ! -e "{daemon.folder}/room" ]; do sleep 0.1; done'
    daemon.as_user("sbatch", "--partition=cpu", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap", script)
    first = daemon.ended(jobs["ends"])
    until(lambda: daemon.slurm("squeue", "-h", "-j", slurm_ids["restarts"], "-o", "%T").strip() == "PENDING")
    (daemon.folder / "room").touch()
    _let_begin(daemon, slurm_ids["restarts"])
    ended = {name: daemon.ended(job) for name, job in jobs.items()}

    assert (first.status, first.cause) == ("FAILED", "preempted")
    assert {name: job.status for name, job in ended.items() if name != "ends"} == {
        "tried": "COMPLETED",
        "restarts": "COMPLETED",
    }
    ran = {name: (daemon.folder / f"ran-{name}").read_text().count("ran") for name in jobs}
    assert ran == {"ends": 1, "tried": 2, "restarts": 2}
    assert ended["tried"].slurm_job_id != slurm_ids["tried"]
    assert ended["restarts"].slurm_job_id == slurm_ids["restarts"]
