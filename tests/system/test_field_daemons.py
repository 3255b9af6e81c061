"""Daemons of all three generations do their work here, each by the very requests it sends in the field."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from cableferry.core.access import Role
from cableferry.server.settings import AuthSection, Secret
from tests.server import serving
from tests.server.serving import Server
from tests.system.field_daemon import Answered, FieldDaemon, Generation

SHARED = "a-shared-secret-of-at-least-32-characters"
PROCESSOR = "text embedding:v3"
PROFILE = "gpu-medium"


class Place(NamedTuple):
    """A server that knows a daemon's secret, and that daemon."""

    server: Server
    daemon: FieldDaemon

    def create(self, **more: object) -> str:
        return str(self._call("/api/hpc/jobs", {"processor": PROCESSOR, "profile": PROFILE, **more})["id"])

    def committed(self) -> str:
        """An artifact that a job may take as input."""
        draft = {"type": "blob", "residence": "reference", "content_url": "urn:corpus:1"}
        artifact = self._call("/api/hpc/artifacts", draft)["id"]
        self._call(f"/api/hpc/artifacts/{artifact}/commit", {"sha256": "ab" * 32, "size_bytes": 7})
        return str(artifact)

    def _call(self, target: str, body: dict[str, object]) -> Any:
        content = msgspec.json.encode(body)
        headers = serving.signed(SHARED, "POST", target, content, worker="platform")
        return self.server.call("POST", target, content, headers).json

    def again(self, worker: str | None = None) -> FieldDaemon:
        """The same daemon started anew."""
        daemon = self.daemon
        return FieldDaemon(daemon.generation, self.server.port, worker or daemon.worker, daemon.secret)


@pytest.fixture(params=["S", "F", "N"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with placed(request.param, tmp_path) as place:
        yield place


@contextlib.contextmanager
def placed(generation: Generation, folder: Path) -> Iterator[Place]:
    auth = AuthSection(shared_secret=Secret(SHARED))
    with serving.serving(serving.settings(folder, auth)) as server:
        secret = _issued(server, "hpc-1") if generation == "N" else SHARED
        yield Place(server, FieldDaemon(generation, server.port, "hpc-1", secret))


def _issued(server: Server, worker: str) -> str:
    """A credential of its own, as a Manager gives it to a worker of the newest generation."""
    headers = serving.bearer(serving.token(server, Role.MANAGER))
    reply = server.call("POST", f"/api/hpc/workers/{worker}/credentials/issue", b"{}", headers)
    return str(reply.json["secret"])


def test_a_daemon_takes_a_job_from_its_poll_to_its_end(place: Place) -> None:
    inputs = [place.committed()]
    job = place.create(parameters={"q": "a 'quote' and $(more)\n"}, inputs=inputs, timeout_seconds=3600)
    daemon = place.daemon

    daemon.register(PROCESSOR, PROFILE)
    recovered = daemon.recover()
    polled = daemon.poll(PROCESSOR, PROFILE)
    claimed = daemon.claim(job)
    daemon.report(job, "SUBMITTED", detail="Slurm job 45678", slurm_job_id="45678")
    seen = daemon.status(job)
    daemon.report(job, "STARTED", detail="slurm_state=RUNNING; node=node-05")
    daemon.end(job, "COMPLETED", detail="slurm_state=COMPLETED; exit_code=0:0", slurm_job_id="45678")

    assert ([], [job], "SUBMITTED") == (recovered, polled, seen)
    assert {"q": "a 'quote' and $(more)\n"} == claimed["parameters"]
    assert (inputs, 3600, PROCESSOR, PROFILE) == tuple(
        claimed[name] for name in ("inputs", "timeout_seconds", "processor", "profile")
    )
    assert daemon.status(job) == "COMPLETED"


def test_a_started_daemon_finds_the_jobs_it_left(place: Place) -> None:
    job = place.create()
    place.daemon.register(PROCESSOR, PROFILE)
    place.daemon.claim(job)
    place.daemon.report(job, "SUBMITTED", detail="Slurm job 1", slurm_job_id="1")

    again = place.again()
    again.register(PROCESSOR, PROFILE)
    recovered = again.recover()

    assert recovered == ([] if place.daemon.generation == "S" else [job])


def test_a_lost_answer_is_asked_for_again_without_harm(place: Place) -> None:
    job = place.create()
    place.daemon.register(PROCESSOR, PROFILE)
    place.daemon.claim(job)

    for _ in range(2):
        place.daemon.report(job, "SUBMITTED", detail="Slurm job 1", slurm_job_id="1")
    place.daemon.report(job, "STARTED", detail="slurm_state=RUNNING")
    for _ in range(2):
        place.daemon.end(job, "COMPLETED", detail="exit code 0")

    headers = serving.signed(SHARED, "GET", f"/api/hpc/jobs/{job}/transitions", worker="platform")
    history = place.server.call("GET", f"/api/hpc/jobs/{job}/transitions", b"", headers).json["items"]
    words = [item["to_status"] for item in history]
    assert words == ["PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED"]


def test_queue_reports_and_progress_are_no_errors(place: Place) -> None:
    job = place.create()
    place.daemon.register(PROCESSOR, PROFILE)
    place.daemon.claim(job)
    place.daemon.report(job, "SUBMITTED", detail="Slurm job 1", slurm_job_id="1")

    place.daemon.report(job, "SUBMITTED", detail="slurm_state=PENDING; reason=Resources; queued=300s")
    place.daemon.report(job, "STARTED", detail="slurm_state=RUNNING")
    place.daemon.report(
        job, "STARTED", detail="progress: train; epoch 2; 50%", phase="train", message="epoch 2", progress=0.5
    )

    assert place.daemon.status(job) == "STARTED"


def test_a_submission_that_failed_ends_the_job_from_claimed(place: Place) -> None:
    job = place.create()
    place.daemon.register(PROCESSOR, PROFILE)
    place.daemon.claim(job)

    place.daemon.report(job, "FAILED", detail="input_hash_mismatch: corpus-01")

    assert place.daemon.status(job) == "FAILED"


def test_the_second_of_two_daemons_is_told_of_the_conflict_in_json(place: Place) -> None:
    job = place.create()
    place.daemon.register(PROCESSOR, PROFILE)
    place.daemon.claim(job)

    with pytest.raises(Answered, match="already claimed by hpc-1") as told:
        place.again().claim(job)

    assert told.value.status == 409


def test_a_daemon_that_was_removed_is_told_to_register(place: Place) -> None:
    with pytest.raises(Answered, match="not found") as told:
        place.daemon.call("POST", "/api/hpc/workers/hpc-1/heartbeat")

    assert told.value.status == 404
