"""Daemons of all three generations do their work here, each by the very requests it sends in the field."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from cableferry.core.access import Role
from cableferry.server.settings import AuthSection, Emx2Section, Secret
from tests.server import serving
from tests.server.serving import Server
from tests.system.field_client import ClaimConflict, FieldClient, Generation, NotFound
from tests.system.field_daemon import ARTIFACTS, JOBS, Cluster, FieldDaemon, Tracker

SHARED = "a-shared-secret-of-at-least-32-characters"
PROCESSOR = "text embedding:v3"
PROFILE = "gpu-medium"
POLL = f"GET {JOBS}?status=PENDING&processor={PROCESSOR}&profile={PROFILE}"
REGISTER = "POST /api/hpc/workers/register"
LISTS = [f"GET {JOBS}?status={status}" for status in ("CLAIMED", "SUBMITTED", "STARTED")]
LOGS = [f"POST {ARTIFACTS}", "PUT /L/files/slurm-1.out", "PUT /L/files/stderr.log", "POST /L/commit"]
RESULTS = [f"POST {ARTIFACTS}", "PUT /O/files/result.txt", "POST /O/commit"]


class Place(msgspec.Struct):
    """A server, a site, and the daemon that stands between them."""

    server: Server
    generation: Generation
    secret: str
    cluster: Cluster
    tracker: Tracker
    clients: list[FieldClient] = []

    def daemon(self, worker: str = "hpc-1", residence: str = "managed") -> FieldDaemon:
        """The daemon started anew, with what it wrote down before."""
        client = FieldClient(self.generation, self.server.port, worker, self.secret)
        self.clients.append(client)
        return FieldDaemon(client, self.cluster, self.tracker, residence=residence)

    def ask(self, method: str, target: str, body: object = None) -> Any:
        """As the platform asks, which has the shared secret too."""
        content = b"" if body is None else msgspec.json.encode(body)
        reply = self.server.call(
            method, target, content, serving.signed(SHARED, method, target, content, worker="platform")
        )
        return reply.json if reply.body else None

    def create(self, **more: object) -> str:
        return str(self.ask("POST", JOBS, {"processor": PROCESSOR, "profile": PROFILE, **more})["id"])

    def hold(self, worker: str, secret: str, count: int) -> None:
        """So many jobs in the hands of a worker."""
        for _ in range(count):
            self.create()
        client = FieldClient("F", self.server.port, worker, secret)
        self.clients.append(client)
        offers = [{"processor": "*"}]
        client.ask("POST", "/api/hpc/workers/register", {"worker_id": worker, "capabilities": offers})
        client.ask("POST", f"{JOBS}/claim", {"worker_id": worker, "limit": count})

    def job(self, job: str) -> Any:
        return self.ask("GET", f"{JOBS}/{job}")

    def history(self, job: str) -> list[str]:
        return [item["to_status"] for item in self.ask("GET", f"{JOBS}/{job}/transitions")["items"]]

    def calls(self, daemon: FieldDaemon, job: str) -> list[str]:
        """What was asked, with short names for ids."""
        shown = self.job(job)
        names = {
            f"{JOBS}/{job}": "/J",
            f"{ARTIFACTS}/{shown['log_artifact_id']}": "/L",
            f"{ARTIFACTS}/{shown['output_artifact_id']}": "/O",
        }
        told = []
        for call in daemon.client.calls:
            for address, name in names.items():
                call = call.replace(address, name)
            told.append(call)
        return told


@pytest.fixture(params=["S", "F", "N"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with placed(request.param, tmp_path, "seed") as place:
        yield place


@contextlib.contextmanager
def placed(generation: Generation, folder: Path, contract: Literal["seed", "latest"]) -> Iterator[Place]:
    plain = serving.settings(folder, AuthSection(shared_secret=Secret(SHARED)))
    with serving.serving(msgspec.structs.replace(plain, emx2=Emx2Section(contract=contract))) as server:
        secret = _issued(server, "hpc-1") if generation == "N" else SHARED
        place = Place(server, generation, secret, Cluster(), {})
        try:
            yield place
        finally:
            for client in place.clients:
                client.close()


def _issued(server: Server, worker: str) -> str:
    """A credential of its own, as a Manager gives it to a worker of the newest generation."""
    headers = serving.bearer(serving.token(server, Role.MANAGER))
    reply = server.call("POST", f"/api/hpc/workers/{worker}/credentials/issue", b"{}", headers)
    return str(reply.json["secret"])


def test_the_first_start_takes_a_job_up_to_where_it_runs(place: Place) -> None:
    job = place.create()
    daemon = place.daemon()

    daemon.once()

    recovery = [f"GET {JOBS}?status=PENDING"] if place.generation == "S" else LISTS
    taken = ["POST /J/claim", "POST /J/transition", "GET /J", "POST /J/transition"]
    assert [REGISTER, *recovery, POLL, *taken] == place.calls(daemon, job)
    assert ("STARTED", f"sim-{job[-8:]}") == (place.job(job)["status"], place.job(job)["slurm_job_id"])
    assert daemon.errors == []


@pytest.mark.parametrize("generation", ["F", "N"])
def test_the_second_start_brings_what_the_job_left_and_ends_it(tmp_path: Path, generation: Generation) -> None:
    with placed(generation, tmp_path, "seed") as place:
        job = place.create()
        place.daemon().once()
        second, third = place.daemon(), place.daemon()

        second.once()
        third.once()

        assert [REGISTER, *LISTS, POLL, "GET /J", *LOGS, *RESULTS, "POST /J/complete"] == place.calls(second, job)
        assert [REGISTER, *LISTS, POLL] == third.client.calls
        ended = place.job(job)
        assert ("COMPLETED", "COMMITTED") == (ended["status"], ended["output_artifact"]["status"])
        assert ("log", "COMMITTED") == (ended["log_artifact"]["type"], ended["log_artifact"]["status"])


def test_the_first_generation_forgets_its_jobs_when_it_ends(tmp_path: Path) -> None:
    with placed("S", tmp_path, "seed") as place:
        job = place.create()
        place.daemon().once()
        second = place.daemon()

        second.once()

        assert [REGISTER, f"GET {JOBS}?status=PENDING", POLL] == second.client.calls
        assert place.job(job)["status"] == "STARTED"


def test_a_running_daemon_takes_a_job_to_its_end(place: Place) -> None:
    place.cluster.outputs = {"b.log.txt": b"content-b", "a b.csv": b"content-a", "caf\u00e9.csv": b"content-c"}
    place.cluster.says = ["PENDING", "RUNNING", "RUNNING", "COMPLETED"]
    place.cluster.progress = {"phase": "train", "message": "epoch 2", "progress": 0.5}
    job = place.create(parameters={"q": "a 'quote' and $(more)\n"}, timeout_seconds=3600)
    daemon = place.daemon()
    daemon.start()

    for _ in range(5):
        daemon.cycle()

    ended = place.job(job)
    files = place.ask("GET", f"{ARTIFACTS}/{ended['output_artifact_id']}/files")["items"]
    assert ("COMPLETED", [], {}) == (ended["status"], daemon.errors, daemon.tracker)
    assert set(place.cluster.outputs) == {item["path"] for item in files}
    waited, went_on = (["SUBMITTED"], ["STARTED"]) if place.generation != "S" else ([], [])
    expected = ["PENDING", "CLAIMED", "SUBMITTED", *waited, "STARTED", *went_on, "COMPLETED"]
    assert expected == place.history(job)
    assert (0.5 if place.generation == "N" else None) == ended["progress"]


def test_inputs_come_to_the_job_as_they_were_brought(place: Place) -> None:
    artifact = place.ask("POST", ARTIFACTS, {"type": "blob", "residence": "managed"})["id"]
    platform = FieldClient("F", place.server.port, "platform", SHARED)
    files = {"a.csv": b"1", "deep/b c.csv": b"2"}
    for path, content in files.items():
        platform.upload(f"{ARTIFACTS}/{artifact}/files/{path}", content)
    place.ask("POST", f"{ARTIFACTS}/{artifact}/commit", {"size_bytes": 2})
    platform.close()
    jobs = [place.create(inputs=[artifact]), place.create(inputs=[{"artifact_id": artifact}])]
    daemon = place.daemon()

    daemon.once()

    assert place.cluster.staged == files
    assert ["STARTED", "STARTED"] == [place.job(job)["status"] for job in jobs]


def test_answers_that_are_lost_are_asked_for_again_without_harm(place: Place) -> None:
    job = place.create()
    daemon = place.daemon()
    daemon.client.losing = [*["/register", "/transition", "/files/", "/commit", "/complete"] * 2, "/artifacts"]
    daemon.start()

    for _ in range(3):
        daemon.cycle()

    assert place.job(job)["status"] == "COMPLETED"
    assert ["PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED"] == place.history(job)
    assert daemon.errors == []


def test_a_claim_whose_answer_is_lost_is_found_at_the_next_start(place: Place) -> None:
    job = place.create()
    daemon = place.daemon()
    daemon.client.losing = ["/claim"]
    daemon.start()
    daemon.poll()

    again = place.daemon()
    again.start()

    assert ("CLAIMED", "hpc-1") == (place.job(job)["status"], place.job(job)["worker_id"])
    assert list(again.tracker) == ([] if place.generation == "S" else [job])


@pytest.mark.parametrize("generation", ["F", "N"])
def test_a_start_finds_every_job_it_left_however_many_there_are(tmp_path: Path, generation: Generation) -> None:
    with placed(generation, tmp_path, "seed") as place:
        for worker, secret in (("other", SHARED), ("hpc-1", place.secret)):
            place.hold(worker, secret, 120)

        daemon = place.daemon()
        daemon.recover()

        assert len(daemon.tracker) == 120


def test_a_job_that_was_too_fast_to_be_seen_running(place: Place) -> None:
    place.cluster.says = ["COMPLETED"]
    job = place.create()
    daemon = place.daemon()

    daemon.once()

    # the first generation leaves the state out, which the specification refuses
    is_first = place.generation == "S"
    assert ("SUBMITTED" if is_first else "COMPLETED") == place.job(job)["status"]
    assert len(daemon.errors) == is_first


@pytest.mark.parametrize("said", ["FAILED", "TIMEOUT"])
def test_a_job_that_failed_leaves_its_log(place: Place, said: str) -> None:
    place.cluster.says = ["RUNNING", said]
    job = place.create()
    daemon = place.daemon()
    daemon.start()

    for _ in range(2):
        daemon.cycle()

    ended = place.job(job)
    assert ("FAILED", None) == (ended["status"], ended["output_artifact_id"])
    assert (ended["log_artifact_id"] is None) == (place.generation == "S")


def test_a_submission_that_failed_ends_the_job_from_claimed(place: Place) -> None:
    place.cluster.refuses = "sbatch: error: invalid partition"
    job = place.create()

    place.daemon().once()

    ended = place.job(job)
    assert ("FAILED", "sbatch: error: invalid partition") == (ended["status"], ended["detail"])
    assert ["PENDING", "CLAIMED", "FAILED"] == place.history(job)


def test_a_cancelled_job_is_stopped_and_its_place_is_free(place: Place) -> None:
    place.cluster.says = ["RUNNING"]
    job = place.create()
    daemon = place.daemon()
    daemon.once()

    headers = serving.bearer(serving.token(place.server, Role.OWNER))
    place.server.call("POST", f"{JOBS}/{job}/cancel", b"", headers)
    daemon.cycle()

    assert ([job], {}) == (place.cluster.cancelled, daemon.tracker)


def test_a_deleted_job_is_told_of_in_every_cycle_and_disturbs_no_other(place: Place) -> None:
    place.cluster.says = ["RUNNING"]
    job = place.create()
    daemon = place.daemon()
    daemon.once()

    headers = serving.bearer(serving.token(place.server, Role.OWNER))
    deleted = place.server.call("DELETE", f"{JOBS}/{job}", b"", headers)
    other = place.create()
    daemon.cycle()

    assert deleted.status == 204
    assert ("was deleted" in daemon.errors[0], "STARTED") == (True, place.job(other)["status"])


def test_the_second_of_two_daemons_is_told_of_the_conflict(place: Place) -> None:
    job = place.create()
    daemon = place.daemon()
    daemon.once()

    with pytest.raises(ClaimConflict, match="already claimed by hpc-1"):
        daemon.client.ask("POST", f"{JOBS}/{job}/claim", {"worker_id": "hpc-1"})


def test_a_daemon_that_was_removed_registers_again_if_it_knows_how(place: Place) -> None:
    daemon = place.daemon()

    daemon.heartbeat()

    is_newest = place.generation == "N"
    assert ([] if is_newest else ["404 worker hpc-1 not found: register it"]) == daemon.errors
    assert (REGISTER in daemon.client.calls) == is_newest


def test_outputs_on_the_sites_disk_are_registered_where_they_are(place: Place) -> None:
    job = place.create()
    daemon = place.daemon(residence="posix")
    daemon.start()

    for _ in range(2):
        daemon.cycle()

    ended = place.job(job)
    artifact = place.ask("GET", f"{ARTIFACTS}/{ended['output_artifact_id']}")
    files = place.ask("GET", f"{ARTIFACTS}/{artifact['id']}/files")["items"]
    assert ("COMPLETED", "posix", "COMMITTED") == (ended["status"], artifact["residence"], artifact["status"])
    assert ([] if place.generation == "S" else ["result.txt"]) == [item["path"] for item in files]


@pytest.mark.parametrize("generation", ["S", "F", "N"])
def test_by_the_newest_contract_files_without_a_hash_are_refused_and_jobs_end_all_the_same(
    tmp_path: Path, generation: Generation
) -> None:
    with placed(generation, tmp_path, "latest") as place:
        job = place.create()
        daemon = place.daemon()
        daemon.start()

        for _ in range(3):
            daemon.cycle()

        ended = place.job(job)
        assert (ended["status"], ended["output_artifact_id"] is None) == ("COMPLETED", generation != "N")
        refused = "400 Content-SHA256 header is required for binary uploads"
        assert ({refused} if generation != "N" else set()) == {error[: len(refused)] for error in daemon.errors}


def test_the_hash_over_all_bytes_of_the_first_generation_is_kept_as_a_tree(tmp_path: Path) -> None:
    with placed("S", tmp_path, "seed") as place:
        place.cluster.outputs = {"b.log": b"content-b", "a.log": b"content-a"}
        job = place.create()
        daemon = place.daemon()
        daemon.start()

        for _ in range(2):
            daemon.cycle()

        artifact = place.ask("GET", f"{ARTIFACTS}/{place.job(job)['output_artifact_id']}")
        lines = "".join(
            f"{name}:{hashlib.sha256(f'content-{name[0]}'.encode()).hexdigest()}" for name in ("a.log", "b.log")
        )
        assert hashlib.sha256(lines.encode()).hexdigest() == artifact["sha256"]


def test_a_job_nobody_knows_is_not_found(place: Place) -> None:
    with pytest.raises(NotFound, match="there is no job x"):
        place.daemon().client.ask("GET", f"{JOBS}/x")
