"""A sample of the crash matrix on a real Slurm: around its commands, inside of sbatch, and without its controller."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cableferry.client.answers import Job
from tests.chaos.cells import Cell
from tests.chaos.points import Points
from tests.chaos.rounds import Done, Site
from tests.chaos.story import Faults
from tests.clusters import Cluster
from tests.system.cluster_daemon import ClusterDaemon

GROUP = "slurm"
SECONDS = 240.0
GOOD = 'echo "$HPC_JOB_ID" >>"$GATE/tally"; echo written >"$HPC_OUTPUT_DIR/out"'
LONG = 'echo "$HPC_JOB_ID" >>"$GATE/tally"; sleep 600'
# the daemon is sbatch's parent; what is submitted after its death is submitted all the same
INSIDE = {
    "inside sbatch, which never asks": "kill -9 $PPID",
    "inside sbatch, which asks after that": 'kill -9 $PPID; sleep 1; exec {real} "$@"',
    "inside sbatch, which has asked": '{real} "$@"; kill -9 $PPID',
}
OURS = ("command ", "run ", "effect submit", "effect find", "effect cancel")


def found(cluster: Cluster, site: Site) -> list[Cell]:
    """What a daemon on Slurm reaches that one without it does not, and what only Slurm can do to it."""
    reached = sorted(_dies(cluster, None, site, 1).reached | _dies(cluster, None, site, 1).reached)
    instants = [instant for instant in reached if instant.partition(" ")[2].startswith(OURS)]
    dying = [Cell(GROUP, instant, partial(_dies, cluster, instant)) for instant in instants]
    inside = [Cell(GROUP, what, partial(_dies_inside, cluster, what)) for what in INSIDE]
    return [*dying, *inside]


def alone(cluster: Cluster) -> list[Cell]:
    """What all jobs of the cluster feel, so that nothing else is played meanwhile."""
    return [
        Cell(GROUP, "slurmctld killed while jobs are submitted", partial(_without_controller, cluster, _killed)),
        Cell(GROUP, "slurmctld stopped while jobs are submitted", partial(_without_controller, cluster, _breathless)),
    ]


def _dies(cluster: Cluster, instant: str | None, site: Site, when: int) -> Done:
    daemon = _daemon(cluster, site)
    points = _points(daemon)
    if instant is not None:
        points.arm(instant, when)
    jobs = [daemon.submit(_named("good", daemon)), daemon.submit(_named("long", daemon))]
    daemon.start(more=points.environment)
    _to_the_end(daemon, jobs, lambda: _start_again(daemon, points))
    is_armed = (daemon.folder / "points" / "dies-at").exists()
    return Done(not is_armed, frozenset(points.reached()), *_ended(daemon, jobs))


def _dies_inside(cluster: Cluster, what: str, site: Site, when: int) -> Done:
    daemon = _daemon(cluster, site)
    programs = daemon.folder / "bin"
    programs.mkdir(mode=0o755)
    text = INSIDE[what].format(real="/usr/bin/sbatch")
    # once only: whoever comes later finds the real one
    once = f"rm -f {programs}/sbatch"
    (programs / "sbatch").write_text(f"#!/bin/sh\n{once}\n{text}\n")
    (programs / "sbatch").chmod(0o755)
    programs.chmod(0o777)
    jobs = [daemon.submit(_named("good", daemon))]
    daemon.start(path=f"{programs}:{os.environ['PATH']}")
    points = _points(daemon)
    _to_the_end(daemon, jobs, lambda: _start_again(daemon, points))
    return Done(not (programs / "sbatch").exists(), frozenset(), *_ended(daemon, jobs))


def _without_controller(
    cluster: Cluster, away: Callable[[Cluster], contextlib.AbstractContextManager[None]], site: Site, when: int
) -> Done:
    daemon = _daemon(cluster, site)
    jobs = [daemon.submit(_named("good", daemon))]
    with away(cluster):
        daemon.start()
        until = time.monotonic() + 12
        while time.monotonic() < until and "scheduler in trouble" not in daemon.log():
            select.select((), (), (), 0.1)
        jobs.append(daemon.submit(_named("good", daemon)))
    happened = "scheduler in trouble" in daemon.log()
    _to_the_end(daemon, jobs, lambda: None)
    return Done(happened, frozenset(), *_ended(daemon, jobs))


@contextlib.contextmanager
def _killed(cluster: Cluster) -> Iterator[None]:
    """Without a controller until the block ends."""
    os.kill(_controller(cluster), signal.SIGKILL)
    try:
        yield
    finally:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "SLURM_CONF": cluster.slurm_conf}
        subprocess.run(
            ["slurmctld"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=60,
            check=True,
        )


@contextlib.contextmanager
def _breathless(cluster: Cluster) -> Iterator[None]:
    pid = _controller(cluster)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _controller(cluster: Cluster) -> int:
    return int((Path(cluster.slurm_conf).parent.parent / "run" / "slurmctld.pid").read_text())


def _daemon(cluster: Cluster, site: Site) -> ClusterDaemon:
    daemon = ClusterDaemon(cluster, f"http://127.0.0.1:{site.port}", site.client)
    daemon.offer(_named("good", daemon), script=GOOD)
    daemon.offer(_named("long", daemon), script=LONG)
    return daemon


def _named(kind: str, daemon: ClusterDaemon) -> str:
    """No other round's daemon offers it."""
    return f"{kind}-{daemon.worker_id}"


def _points(daemon: ClusterDaemon) -> Points:
    points = Points(daemon.folder / "points")
    (daemon.folder / "points").chmod(0o777)
    return points


def _start_again(daemon: ClusterDaemon, points: Points) -> None:
    if daemon.is_dead():
        daemon.start(more=points.environment)


def _to_the_end(daemon: ClusterDaemon, jobs: list[str], look: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        look()
        seen = [_job(daemon, job) for job in jobs]
        for job in seen:
            if job.processor.startswith("long") and job.status == "STARTED":
                daemon.client.cancel(job.id)
        if all(job.is_final for job in seen) and not _lives(daemon, jobs):
            break
        select.select((), (), (), 0.3)
    daemon.stop(signal.SIGTERM)


def _ended(daemon: ClusterDaemon, jobs: list[str]) -> tuple[Faults, str]:
    tally = daemon.folder / "tally"
    runs = tally.read_text().split() if tally.exists() else []
    faults = Faults(stuck=_lives(daemon, jobs))
    told = []
    for job in map(partial(_job, daemon), jobs):
        is_good = job.processor.startswith("good")
        is_lost = job.status != ("COMPLETED" if is_good else "CANCELLED")
        differs = is_good and not is_lost and daemon.files(job.output_artifact_id) != {"out": b"written\n"}
        faults += Faults(int(is_lost and job.is_final), int(runs.count(job.id) > 1), 0, int(not job.is_final), differs)
        told.append(f"{job.id} {job.status} {job.detail}")
    return faults, "; ".join(told)


def _lives(daemon: ClusterDaemon, jobs: list[str]) -> int:
    """Jobs of Slurm's that are not over."""
    names = daemon.slurm("squeue", "-h", "-o", "%j").split()
    return sum(job in name for job in jobs for name in names)


def _job(daemon: ClusterDaemon, id_: str) -> Job:
    job = daemon.client.job(id_)
    assert job is not None
    return job
