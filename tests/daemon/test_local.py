"""A real worker at a real server, with all our extensions and with none of them."""

import contextlib
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client import transfers
from cableferry.client.answers import Job, Transition
from cableferry.client.emx2 import Emx2
from cableferry.daemon.outcomes import SETTLE_SECONDS
from cableferry.daemon.tailing import sending
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Ticket
from cableferry.wire.emx2.bodies import CreateBody
from tests.cli import ferry as program
from tests.daemon import plain_server

COMMANDS = {
    "hello": """echo hello
        printf '{"phase": "one", "progress": 0.5}\\n{"phase": "two"}\\n' >"$HPC_OUTPUT_DIR/.hpc_progress.jsonl"
        printf '%s' "$HPC_PARAMETERS" >"$HPC_OUTPUT_DIR/result" """,
    "fail": "exit 3",
    "gate": 'mkfifo "$HPC_WORK_DIR/gate"; echo $$ >"$HPC_WORK_DIR/pid"; exec cat "$HPC_WORK_DIR/gate"',
    "linger": 'mkfifo "$HPC_WORK_DIR/gate"; echo $$ >"$HPC_WORK_DIR/pid"; sleep 60 & wait',
}


class Bench:
    """A folder with a worker's settings, and a client of its server."""

    def __init__(self, folder: Path, server: str, client: Emx2) -> None:
        self.folder = folder
        self.client = client
        lines = {"worker_id": "w1", "server": server, "work_dir": "jobs", "poll_seconds": 0.2}
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
        for name, script in COMMANDS.items():
            text += f"[processors.{name}]\ncommand = {json.dumps(['sh', '-c', script])}\n"
        (folder / "worker.toml").write_text(text)

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*program.FERRY, "local-worker", "--config", str(self.folder / "worker.toml"), "--json"],
            env=program.environment(self.folder),
            stderr=subprocess.PIPE,
            text=True,
        )

    def submit(self, processor: str, parameters: object = None, timeout: int | None = None) -> str:
        raw = msgspec.Raw(msgspec.json.encode(parameters))
        return self.client.create(CreateBody(processor, parameters=raw, timeout_seconds=timeout)).id

    def until(self, job: str, *statuses: str, seconds: float = 30) -> Job:
        """The job as soon as it has one of the statuses."""
        end, known = time.monotonic() + seconds, None
        while time.monotonic() < end:
            found = self.client.job(job, 0 if known is None else 10, known)
            if found is not None and found.status in statuses:
                return found
            known = found.revision if found is not None else known
        raise AssertionError(f"job {job} is still not {statuses}: {self.client.job(job)}")

    def history(self, job: str) -> list[Transition]:
        return self.client.transitions(job)

    def file(self, job: str, name: str) -> Path:
        return self.folder / "jobs" / job / name

    def brought(self, artifact: str | None, path: str) -> bytes:
        assert artifact is not None
        target = self.folder / "brought"
        (found,) = [each for each in self.client.artifacts.files(artifact) if each.path == path]
        transfers.download(self.client.artifacts, artifact, found, target)
        return target.read_bytes()

    def forget(self) -> None:
        """Take from the worker what it knows of its jobs, and the jobs themselves."""
        runs = self.folder / "jobs" / "runs"
        for run in runs.iterdir():
            Local(runs).cancel(Ticket(run.name, ""), is_urgent=True)
            shutil.rmtree(run)
        with contextlib.closing(sqlite3.connect(self.folder / "jobs" / "journal.db")) as journal:
            journal.execute("delete from held")
            journal.commit()

    def process(self, job: str) -> int:
        """A descriptor of the job's process, which can be waited for."""
        path = self.file(job, "work/pid")
        end = time.monotonic() + 30
        while not (path.exists() and path.read_text()):
            assert time.monotonic() < end
            select.select([], [], [], 0.01)
        return os.pidfd_open(int(path.read_text()))


@pytest.fixture(params=["with our extensions", "plain"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(program.serving(tmp_path / "data", is_open=True))
        seen = server if request.param != "plain" else stack.enter_context(plain_server.before(server))
        yield Bench(tmp_path, seen, stack.enter_context(program.client(server)))
        for run in (tmp_path / "jobs" / "runs").iterdir():
            Local(tmp_path / "jobs" / "runs").cancel(Ticket(run.name, ""), is_urgent=True)


@contextlib.contextmanager
def _working(bench: Bench) -> Iterator["subprocess.Popen[str]"]:
    worker = bench.start()
    try:
        yield worker
        worker.terminate()
        worker.communicate(timeout=20)
    finally:
        # whatever became of the test, no worker outlives it
        worker.kill()
        worker.communicate()


def _ends_within(descriptor: int, seconds: float) -> bool:
    ended = bool(select.select([descriptor], [], [], seconds)[0])
    os.close(descriptor)
    return ended


def test_a_job_runs_and_every_line_of_progress_is_told(bench: Bench) -> None:
    job = bench.submit("hello", {"n": "$(x)"})
    with _working(bench):
        ended = bench.until(job, "COMPLETED", "FAILED")

    made = f"log_artifact={ended.log_artifact_id}; output_artifact={ended.output_artifact_id}"
    assert ended.detail == f"exit_code=0; {made}"
    assert json.loads(bench.brought(ended.output_artifact_id, "result")) == {"n": "$(x)"}
    assert bench.brought(ended.log_artifact_id, "stdout.log") == b"hello\n"
    assert [(row.to_status, row.phase) for row in bench.history(job)] == [
        ("PENDING", None),
        ("CLAIMED", None),
        ("SUBMITTED", None),
        ("STARTED", None),
        ("STARTED", "one"),
        ("STARTED", "two"),
        ("COMPLETED", None),
    ]


@pytest.mark.parametrize("bench", ["with our extensions"], indirect=True)
def test_the_first_line_of_a_log_comes_before_anybody_can_follow_it(bench: Bench) -> None:
    job = bench.submit("gate")
    with _working(bench):
        bench.until(job, "STARTED")
        os.close(bench.process(job))
        with bench.file(job, "work/gate").open("w", buffering=1) as gate:
            gate.write("at last\n")
            end = time.monotonic() + sending.UNWATCHED_SECONDS / 2
            while not (listed := bench.client.logs.find(job).items) and time.monotonic() < end:
                select.select([], [], [], 0.05)
        bench.until(job, "COMPLETED")

    assert [each.stream for each in listed] == ["stdout"]


def test_a_failure_is_told_with_its_exit_code(bench: Bench) -> None:
    job = bench.submit("fail")
    with _working(bench):
        ended = bench.until(job, "COMPLETED", "FAILED")

    assert (ended.status, (ended.detail or "").partition(";")[0]) == ("FAILED", "exit_code=3")


def test_a_job_that_wishes_for_danger_is_not_started(bench: Bench) -> None:
    job = bench.submit("hello", {"environment": {"LD_PRELOAD": "/tmp/evil.so"}})
    with _working(bench):
        ended = bench.until(job, "COMPLETED", "FAILED")

    assert (ended.status, "LD_PRELOAD may not be set" in (ended.detail or "")) == ("FAILED", True)
    assert not bench.file(job, "output/result").exists()


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_job_that_is_taken_away_stops_at_once(bench: Bench, verb: str) -> None:
    job = bench.submit("linger")
    with _working(bench):
        process = bench.process(job)
        bench.until(job, "STARTED")
        (bench.client.cancel if verb == "cancel" else bench.client.delete)(job)

        # a second for us, one more for a busy machine
        assert _ends_within(process, 2)


def test_a_job_beyond_its_time_is_stopped_and_told(bench: Bench) -> None:
    job = bench.submit("linger", timeout=1)
    with _working(bench):
        ended = bench.until(job, "FAILED")

    assert (ended.detail or "").startswith("timeout: job timeout_seconds (1s) exceeded; signal=15")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_running_job_outlives_its_worker_and_is_told_by_the_next(bench: Bench, number: int) -> None:
    job = bench.submit("gate")
    with _working(bench) as first:
        process = bench.process(job)
        bench.until(job, "STARTED")
        first.send_signal(number)
        first.communicate(timeout=20)
    is_running = not select.select([process], [], [], 0)[0]
    bench.file(job, "work/gate").write_text("go")
    assert _ends_within(process, 20)
    with _working(bench):
        ended = bench.until(job, "COMPLETED", "FAILED")

    assert (is_running, ended.status) == (True, "COMPLETED")
    assert bench.file(job, "output/stdout.log").read_text() == "go"
    assert [row.to_status for row in bench.history(job)].count("STARTED") == 1


def test_a_worker_takes_no_more_than_it_has_room_for(bench: Bench) -> None:
    first = bench.submit("gate")
    with _working(bench):
        os.close(bench.process(first))
        bench.until(first, "STARTED")
        second = bench.submit("hello")
        # nothing becomes of it in a second, in which the worker asks several times
        changed = bench.client.job(second, wait=1, known=1)
        bench.file(first, "work/gate").write_text("go")
        bench.until(second, "COMPLETED")

    assert changed is None


def test_a_job_that_the_worker_has_forgotten_is_told_to_be_lost(bench: Bench) -> None:
    job = bench.submit("gate")
    with _working(bench):
        os.close(bench.process(job))
        bench.until(job, "STARTED")
    bench.forget()
    with _working(bench):
        # first it is given time, for whoever told of it may be there still
        ended = bench.until(job, "FAILED", seconds=SETTLE_SECONDS + 60)

    assert (ended.detail or "").startswith("lost:")


def test_two_workers_do_not_share_a_folder(bench: Bench) -> None:
    job = bench.submit("hello")
    with _working(bench):
        bench.until(job, "COMPLETED")
        second = bench.start()
        _, said = second.communicate(timeout=20)

    assert (second.returncode, "another worker uses" in said) == (2, True)
