"""A request that is wrong in two ways is refused for the one that is checked first."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.server.settings import AuthSection, RatesSection, Secret
from tests.house.sources import ROOT
from tests.server import serving
from tests.server.serving import Server

SECRET = "an order that holds, 0123456789 abcdefgh"
REGISTER = "/api/hpc/workers/register"
JOBS = "/api/hpc/jobs"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = serving.settings(tmp_path, AuthSection(shared_secret=Secret(SECRET)), body_limit_bytes=1000)
    with serving.serving(settings) as running:
        yield running


def _signed(server: Server, method: str, path: str, body: bytes = b"", **more: str) -> serving.Reply:
    headers = serving.signed(SECRET, method, path, body)
    return server.call(method, path, body, {**headers, **{name.replace("_", "-"): more[name] for name in more}})


def _job(server: Server) -> str:
    return str(_signed(server, "POST", JOBS, b'{"processor":"p"}').json["id"])


def test_the_route_before_the_method_and_the_headers(server: Server) -> None:
    assert _bare(server, "PUT", "/nothing") == 404


def test_the_method_before_the_headers(server: Server) -> None:
    assert _bare(server, "PUT", JOBS) == 405


def test_the_headers_before_the_size(server: Server) -> None:
    assert _bare(server, "POST", JOBS, b" " * 2000) == 400


def test_the_size_before_the_caller(server: Server) -> None:
    assert server.call("POST", JOBS, b" " * 2000).status == 413


def test_the_caller_before_the_role(server: Server) -> None:
    assert server.call("DELETE", "/api/hpc/workers/w1").status == 401


def test_the_role_before_the_body(server: Server) -> None:
    assert _signed(server, "POST", "/api/hpc/workers/w1/credentials/issue", b"{").status == 403


def test_the_caller_before_the_body(server: Server) -> None:
    assert server.call("POST", JOBS, b"{").status == 401


def test_the_body_before_the_worker(server: Server) -> None:
    reply = _signed(server, "POST", f"{JOBS}/x/claim", b'{"worker_id":5}', X_Worker_Id="w2")

    assert (reply.status, reply.kind) == (400, "malformed")


def test_the_worker_before_the_job(server: Server) -> None:
    reply = _signed(server, "POST", f"{JOBS}/x/claim", b'{"worker_id":"w2"}', X_Worker_Id="w1")

    assert (reply.status, reply.kind) == (400, "worker-mismatch")


def test_the_job_before_its_state(server: Server) -> None:
    _signed(server, "POST", REGISTER, b'{"worker_id":"w1","capabilities":[{"processor":"other"}]}')

    assert _signed(server, "POST", f"{JOBS}/x/claim", b'{"worker_id":"w1"}').status == 404
    assert _signed(server, "POST", f"{JOBS}/{_job(server)}/claim", b'{"worker_id":"w1"}').status == 409


def test_the_rate_before_the_role(tmp_path: Path) -> None:
    settings = serving.settings(tmp_path, AuthSection(shared_secret=Secret(SECRET)))
    slow = msgspec.structs.replace(settings, limits=RatesSection(requests_per_second=0.001, burst=1))
    with serving.serving(slow) as running:
        statuses = [_signed(running, "DELETE", "/api/hpc/workers/w1").status for _ in range(2)]

    assert statuses == [403, 429]


def test_the_page_tells_every_status_of_this_order() -> None:
    page = (ROOT / "docs/http.md").read_text()

    assert [] == [status for status in (404, 405, 413, 400, 401, 429, 403, 422, 409) if f"{status}" not in page]


def _bare(server: Server, method: str, path: str, body: bytes = b"") -> int:
    """The status of a request without any of the protocol's headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, path, body)
    status = connection.getresponse().status
    connection.close()
    return status
