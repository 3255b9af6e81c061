"""Who may do what once somebody has to say who they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from cableferry.core.access import Role
from cableferry.server.settings import AuthSection, Secret
from tests.dialects.opeva import port as ports
from tests.server import serving
from tests.server.serving import Server

SECRET = "shared-secret-0123456789abcdef0123456789"
CONFIG = b'{"config":{"a":1}}'
POLL = b'{"worker_id":"worker-a"}'


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    settings = ports.settings_in(
        tmp_path, AuthSection(shared_secret=Secret(SECRET)), allow_anonymous_workers=request.param
    )
    with serving.serving(settings) as server:
        yield server


NOBODY = pytest.mark.parametrize("server", [[]], indirect=True)
FROM_HERE = pytest.mark.parametrize("server", [["10.0.0.0/8", "127.0.0.0/8"]], indirect=True)


def call(server: Server, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None) -> int:
    return server.call(method, target, body, headers or {}).status


@NOBODY
def test_without_credentials_nothing_is_answered_but_health(server: Server) -> None:
    assert 200 == call(server, "GET", "/health")
    assert 204 == call(server, "POST", "/api/agent/next-job", POLL)
    for method, target in (("GET", "/jobs"), ("POST", "/run-simulation"), ("POST", "/api/agent/heartbeat")):
        reply = server.call(method, target, CONFIG)
        assert (401, {"detail"}) == (reply.status, set(reply.json))


@FROM_HERE
def test_workers_of_a_trusted_network_need_none_and_may_only_read_and_report(server: Server) -> None:
    manager = serving.bearer(serving.token(server, Role.MANAGER))
    job = server.call("POST", "/run-simulation", CONFIG, manager).json["job_id"]

    got = server.call("POST", "/api/agent/next-job", POLL)
    assert (200, job) == (got.status, got.json["job_id"])
    said = b'{"job_id":"%s","status":"running","worker_id":"worker-a"}' % job.encode()
    assert [200, 200, 200] == [
        call(server, "POST", "/api/agent/job-status", said),
        call(server, "POST", "/api/agent/heartbeat", POLL),
        call(server, "GET", f"/status/{job}"),
    ]
    refused = {
        "/run-simulation": CONFIG,
        f"/stop/{job}": b"",
        f"/ops/jobs/{job}/fail": b"{}",
        "/ops/queue/cleanup": b"",
        "/experiment-config/create": b'{"file_name":"a.yaml","config":{"a":1}}',
    }
    assert {401} == {call(server, "POST", target, body) for target, body in refused.items()}
    assert 401 == call(server, "DELETE", f"/job/{job}?force=true")
    assert 401 == call(server, "GET", "/api/hpc/jobs")


@FROM_HERE
def test_wrong_credentials_are_refused_from_anywhere(server: Server) -> None:
    wrong = serving.bearer("cft_wrong")

    assert 401 == call(server, "GET", "/jobs", headers=wrong)


@NOBODY
def test_a_worker_speaks_for_itself_alone(server: Server) -> None:
    secret = serving.issued(server, "worker-a")
    other = b'{"worker_id":"worker-b"}'
    path = "/api/agent/heartbeat"

    assert 200 == call(server, "POST", path, POLL, serving.signed(secret, "POST", path, POLL, worker="worker-a"))
    assert 403 == call(server, "POST", path, other, serving.signed(secret, "POST", path, other, worker="worker-a"))


@NOBODY
@pytest.mark.parametrize(
    ("role", "statuses"),
    [(Role.VIEWER, [200, 403, 403]), (Role.EDITOR, [200, 200, 403]), (Role.MANAGER, [200, 200, 200])],
)
def test_each_role_may_what_it_may_elsewhere(server: Server, role: Role, statuses: list[int]) -> None:
    headers = serving.bearer(serving.token(server, role))

    assert statuses == [
        call(server, "GET", "/jobs", headers=headers),
        call(server, "POST", "/run-simulation", CONFIG, headers),
        call(server, "POST", "/ops/jobs/cleanup", b"{}", headers),
    ]


def test_without_a_shared_folder_the_contract_is_not_there(tmp_path: Path) -> None:
    settings = ports.settings_in(tmp_path, shared_data=None)
    with serving.serving(settings) as server:
        assert [404, 404] == [call(server, "GET", "/jobs"), call(server, "GET", "/health")]
    on = replace(settings, opeva=replace(settings.opeva, enabled=False, shared_data=tmp_path / "share"))
    with serving.serving(on) as server:
        assert 404 == call(server, "GET", "/jobs")
