"""What a job writes, from the command line, against a real server."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client.artifacts import Description
from cableferry.client.emx2 import Emx2
from cableferry.client.http import Content
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from cableferry.wire.emx2.bodies import Capability, CreateBody, RegisterBody, TransitionBody
from cableferry.wire.emx2.logs import NamedChunk
from cableferry.wire.emx2.remarks import Usage
from tests.cli import ferry as program
from tests.cli.ferry import Ended, ferry, serving

SAID = b"one\ntwo \xff\nthree\n"


class Desk:
    """A worker with one running job after the other, and somebody who reads along."""

    def __init__(self, home: Path, server: str, client: Emx2) -> None:
        self.home = home
        self.server = server
        self.client = client
        client.register(RegisterBody("w1", capabilities=[Capability("echo", None, 100)]))

    def start(self) -> str:
        job = self.client.create(CreateBody("echo")).id
        self.client.claim(job, "w1")
        self.end(job, "SUBMITTED", "STARTED")
        return job

    def end(self, job: str, *statuses: str, **said: object) -> None:
        for status in statuses:
            self.client.transition(job, TransitionBody(status, "w1", **said))

    def write(self, job: str, offset: int, content: bytes, stream: str = "stdout") -> None:
        (result,) = self.client.logs.append("w1", [NamedChunk(offset, content, job_id=job, stream=stream)])
        assert 200 == result.code

    def ask(self, *arguments: str) -> Ended:
        return ferry(self.home, *arguments, more={"CABLEFERRY_SERVER": self.server})

    def bytes_of(self, *arguments: str) -> bytes:
        return subprocess.run(
            [*program.FERRY, *arguments],
            capture_output=True,
            env=program.environment(self.home, {"CABLEFERRY_SERVER": self.server}),
            check=True,
        ).stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with serving(folder / "data", is_open=True) as server, program.client(server) as client:
        yield Desk(folder, server, client)


def test_a_log_is_shown_byte_for_byte(desk: Desk) -> None:
    job = desk.start()
    desk.write(job, 0, SAID)
    desk.write(job, 0, b"oops\n", "stderr")

    assert SAID == desk.bytes_of("jobs", "logs", job)
    assert b"three\n" == desk.bytes_of("jobs", "logs", job, "--tail", "1")
    assert b"oops\n" == desk.bytes_of("jobs", "logs", job, "--stream", "stderr")
    listed = json.loads(desk.ask("jobs", "logs", job, "--json").out)["items"]
    assert [("stderr", 5), ("stdout", len(SAID))] == [(each["stream"], each["size_bytes"]) for each in listed]


def test_a_log_is_followed_to_the_end_of_its_job(desk: Desk) -> None:
    job = desk.start()
    desk.write(job, 0, b"one\ntwo\n")

    def go_on() -> None:
        desk.write(job, 8, b"three\n")
        desk.end(job, "FAILED")

    later = threading.Thread(target=go_on)
    following = subprocess.Popen(
        [*program.FERRY, "jobs", "logs", job, "-f", "--tail", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=program.environment(desk.home, {"CABLEFERRY_SERVER": desk.server}),
    )
    assert following.stdout is not None
    first = following.stdout.readline()
    later.start()
    out, err = following.communicate(timeout=30)
    later.join()

    assert (b"two\n", b"three\n", 8) == (first, out, following.returncode)
    assert b"is FAILED" in err


def test_patience_ends(desk: Desk) -> None:
    job = desk.start()
    desk.write(job, 0, b"x")

    assert 9 == desk.ask("jobs", "logs", job, "-f", "--max-wait", "0").code


def test_what_was_not_written_is_not_found(desk: Desk) -> None:
    job = desk.start()

    assert 3 == desk.ask("jobs", "logs", job).code
    assert 3 == desk.ask("jobs", "logs", job, "--stream", "stderr").code
    assert 3 == desk.ask("jobs", "logs", "01a1f0aa-0000-7000-8000-000000000000").code


def test_the_log_artifact_is_shown_when_there_is_nothing_else(desk: Desk) -> None:
    job = desk.start()
    artifact = desk.client.artifacts.create(CreateArtifactBody("log", metadata=_of(job))).id
    for name in ("stdout.log", "stderr.log"):
        content = f"{name} 1\n{name} 2\n".encode()
        desk.client.artifacts.put(artifact, Description(name), Content(lambda c=content: iter([c]), len(content)))
    desk.client.artifacts.commit(artifact)
    desk.end(job, "COMPLETED", log_artifact_id=artifact)

    assert b"==> stderr.log <==\nstderr.log 1\n" in desk.bytes_of("jobs", "logs", job)
    assert b"stderr.log 2\n" == desk.bytes_of("jobs", "logs", job, "--stream", "stderr", "--tail", "1")
    assert 3 == desk.ask("jobs", "logs", job, "--stream", "batch").code


def _of(job: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode({"job_id": job}))


def test_what_a_job_took_is_shown(desk: Desk) -> None:
    job = desk.start()
    desk.end(job, "FAILED", cause="out-of-memory", usage=Usage(2.5, 1.25, 1024, 1, 9, "node3"))

    shown = desk.ask("jobs", "show", job).out

    assert "out-of-memory" in shown
    for line in ("used elapsed seconds", "used max rss bytes", "used signal"):
        assert line in shown
    assert "2.5" in json.dumps(json.loads(desk.ask("jobs", "show", job, "--json").out)["usage"])


def test_a_watch_shows_progress(desk: Desk) -> None:
    job = desk.start()
    desk.end(job, "STARTED", phase="train", message="epoch 3", progress=0.425)
    desk.end(job, "COMPLETED")

    assert "train; epoch 3  42%" in desk.ask("jobs", "watch", job).out
