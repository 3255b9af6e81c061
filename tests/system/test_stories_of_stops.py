"""A user changes their mind, wherever the job happens to be just then."""

import contextlib
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from cableferry.client.errors import Conflict
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody
from tests.schedulers.waiting import until
from tests.system.cluster_daemon import ClusterDaemon
from tests.system.sites import Site

pytestmark = pytest.mark.slurm

ENDS = ("COMPLETED", "FAILED", "CANCELLED")
HOLD = 'touch "$GATE/ran"; while [ ! -e "$GATE/go" ]; do sleep 0.1; done'


def _known_to_slurm(daemon: ClusterDaemon, job: str) -> list[str]:
    """The states of all jobs that ever had the job's name."""
    lines = daemon.slurm("squeue", "-h", "-t", "all", "-o", "%T %j").splitlines()
    return [line.split()[0] for line in lines if job in line]


def test_a_job_that_was_stopped_before_anybody_had_it_is_never_submitted(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=HOLD)
    daemon.offer("good", script="true")
    stopped = daemon.submit("hold")
    daemon.client.cancel(stopped)
    daemon.start()
    daemon.ended(daemon.submit("good"))
    ended = daemon.ended(stopped)

    assert (ended.status, ended.worker_id, _known_to_slurm(daemon, stopped)) == ("CANCELLED", None, [])


def test_a_job_that_is_stopped_while_its_input_is_brought_is_never_submitted(daemon: ClusterDaemon, site: Site) -> None:
    daemon.inputs["private_hosts"] = [f"{site.host}:{site.other_port}"]
    daemon.offer("use", script=HOLD)
    daemon.offer("good", script="true")
    with _slow(site) as asked:
        job = daemon.submit("use", inputs=[_at_the_slow_one(daemon, site)])
        daemon.start()
        assert asked.wait(60)
        claimed = daemon.until(job, "CLAIMED")
        daemon.client.cancel(job)
        until(lambda: "job to be stopped" in daemon.log())
    _let_go(daemon, job)

    assert (claimed.status, daemon.ended(job).status) == ("CLAIMED", "CANCELLED")
    assert (_known_to_slurm(daemon, job), daemon.place(job, "work/runs").exists()) == ([], False)


def _let_go(daemon: ClusterDaemon, *jobs: str) -> None:
    """It forgets what is over when it talks to its server, which another job gives it reason to."""
    daemon.ended(daemon.submit("good"))
    until(lambda: not any(job in daemon.run("status").stdout for job in jobs))


@contextlib.contextmanager
def _slow(site: Site) -> Iterator[threading.Event]:
    """Somebody who has a file to give, and gives it a byte now and then; the event says that somebody asked."""
    asked, is_over = threading.Event(), threading.Event()

    class Slow(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked.set()
            self.request.recv(65536)
            with contextlib.suppress(OSError):
                self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while not is_over.wait(0.1):
                    self.request.sendall(b"x")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True

    with Server((site.host, site.other_port), Slow) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield asked
        finally:
            is_over.set()
            server.shutdown()
            thread.join()


def _at_the_slow_one(daemon: ClusterDaemon, site: Site) -> str:
    url = f"http://{site.host}:{site.other_port}/file"
    artifact = daemon.client.artifacts.create(CreateArtifactBody(type="blob", residence="http", content_url=url))
    daemon.client.artifacts.declare(artifact.id, "file", FileMetadataBody(None, "0" * 64, 1000000))
    daemon.client.artifacts.commit(artifact.id)
    return artifact.id


def test_a_job_that_waits_behind_another_of_its_name_goes_alone(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=HOLD)
    daemon.offer("other", script="true")
    daemon.start()
    # how this daemon's names begin, as the first of its jobs shows
    name = daemon.slurm("squeue", "-h", "-t", "all", "-j", _submitted(daemon, "other"), "-o", "%j").strip()
    daemon.stop()
    job = daemon.submit("hold")
    named = f"{name[:11]}{job}-a1"
    hand = daemon.as_user("sbatch", "--parsable", f"--job-name={named}", "--output=/dev/null", "--wrap", "sleep 600")
    until(lambda: _state(daemon, hand) == "RUNNING")
    daemon.start()
    slurm_id = daemon.until(job, "SUBMITTED").slurm_job_id or ""
    until(lambda: daemon.slurm("squeue", "-h", "-j", slurm_id, "-o", "%T %r").split() == ["PENDING", "Dependency"])
    held = _state(daemon, hand)
    daemon.client.cancel(job)
    until(lambda: _state(daemon, slurm_id) == "CANCELLED")
    daemon.as_user("scancel", hand.strip())

    assert (held, (daemon.folder / "ran").exists()) == ("RUNNING", False)


def _submitted(daemon: ClusterDaemon, name: str) -> str:
    return daemon.ended(daemon.submit(name)).slurm_job_id or ""


def _state(daemon: ClusterDaemon, slurm_id: str) -> str:
    return daemon.slurm("squeue", "-h", "-t", "all", "-j", slurm_id.strip(), "-o", "%T").strip()


def test_stops_that_race_with_the_end_leave_one_clear_end_each(daemon: ClusterDaemon) -> None:
    daemon.offer("good", script="true")
    daemon.offer("short", script='echo made >"$HPC_OUTPUT_DIR/made"; sleep 0.5')
    jobs = [daemon.submit("short") for _ in range(12)]
    daemon.start()
    for number, job in enumerate(jobs):
        since = daemon.until(job, "STARTED", "COMPLETED") and time.monotonic()
        # from right at its start until after its end
        until(lambda since=since, wait=number * 0.15: time.monotonic() - since >= wait)
        with contextlib.suppress(Conflict):
            daemon.client.cancel(job)
    ended = {job: daemon.ended(job) for job in jobs}
    _let_go(daemon, *jobs)

    assert {job.status for job in ended.values()} <= {"COMPLETED", "CANCELLED"}
    for id_, job in ended.items():
        assert [row.to_status for row in daemon.history(id_) if row.to_status in ENDS] == [job.status]
        assert len(_known_to_slurm(daemon, id_)) == 1
        assert job.status == "CANCELLED" or daemon.files(job.output_artifact_id) == {"made": b"made\n"}
    assert not {"PENDING", "RUNNING"} & {state for job in jobs for state in _known_to_slurm(daemon, job)}
