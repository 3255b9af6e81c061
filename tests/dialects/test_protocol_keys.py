"""Every answer has at least the keys that the newest text of the protocol demands, in both contracts."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cableferry.server.settings import Emx2Section
from cableferry.testing import servers
from tests.dialects.desk import Desk

PAGE = {"items", "count", "total_count", "limit", "offset", "_links"}
WORKER = {"worker_id", "hostname", "registered_at", "last_heartbeat_at", "_links"}
JOB = {"id", "processor", "status", "phase", "message", "progress", "_links"}
TRANSITION = {"id", "job_id", "from_status", "to_status", "timestamp", "phase", "message", "progress"}
CREDENTIAL = {"id", "worker_id", "status", "label", "created_at", "expires_at"}
ISSUED = CREDENTIAL | {"secret", "_links"}
LISTED = CREDENTIAL | {"created_by", "last_used_at", "revoked_at"}
CONTRACTS = ("seed", "latest")


@pytest.fixture(scope="module", params=CONTRACTS)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    settings = servers.settings_in(tmp_path_factory.mktemp(request.param))
    section = Emx2Section(contract=request.param)
    with servers.running(msgspec.structs.replace(settings, emx2=section)) as running:
        yield Desk(running.client(), "w", "p")


def test_health_says_what_works(desk: Desk) -> None:
    wanted = {"status", "api_version", "database", "hpc_enabled", "hpc_initialized", "worker_auth_mode"}

    shown = desk.client.get("/api/hpc/health").json

    assert wanted | {"credentials_key_configured"} <= set(shown)


def test_a_registration_has_its_keys(desk: Desk) -> None:
    assert set(desk.register().json) >= WORKER


def test_a_job_has_its_keys_from_its_creation_to_its_end(desk: Desk) -> None:
    desk.register()
    created: Any = desk.client.post("/api/hpc/jobs", {"processor": "p", "profile": "small"}).json
    job = created["id"]
    answers = [created, desk.claim(job).json, *(desk.report(job, word).json for word in ("SUBMITTED", "STARTED"))]
    answers.append(desk.client.post(f"/api/hpc/jobs/{job}/complete", {"status": "COMPLETED", "worker_id": "w"}).json)

    assert [JOB - set(answer) for answer in answers] == [set()] * 5


def test_a_cancelled_job_has_its_keys(desk: Desk) -> None:
    assert JOB <= set(desk.client.post(f"/api/hpc/jobs/{desk.create()}/cancel").json)


def test_a_list_of_jobs_has_its_keys(desk: Desk) -> None:
    desk.create()

    listing: Any = desk.client.get("/api/hpc/jobs").json

    assert set(listing) >= PAGE
    assert set(listing["items"][0]) >= JOB


def test_a_history_has_its_keys(desk: Desk) -> None:
    shown: Any = desk.client.get(f"/api/hpc/jobs/{desk.job_in('STARTED')}/transitions").json

    assert {"items", "count"} <= set(shown)
    assert [TRANSITION - set(item) for item in shown["items"]] == [set()] * shown["count"]


def test_credentials_have_their_keys(desk: Desk) -> None:
    home = "/api/hpc/workers/head-1/credentials"
    issued: Any = desk.client.post(f"{home}/issue", {"label": "first"}).json
    rotated: Any = desk.client.post(f"{home}/rotate", {}).json
    revoked: Any = desk.client.post(f"{home}/{rotated['id']}/revoke").json
    listed: Any = desk.client.get(home).json

    assert [ISSUED - set(issued), ISSUED - set(rotated), LISTED - set(revoked)] == [set()] * 3
    assert {"items", "count", "_links"} <= set(listed)
    assert [LISTED - set(item) for item in listed["items"]] == [set()] * 2


def test_a_problem_has_its_keys(desk: Desk) -> None:
    refused = desk.client.get("/api/hpc/jobs/x")

    assert {"type", "title", "status", "detail", "instance", "request_id"} <= set(refused.json)
    assert refused.headers["content-type"] == "application/problem+json"
