"""What comes over a connection and never becomes a request is refused like everything else."""

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Running
from tests.server import streaming

HEAD = (
    b"GET /api/hpc/jobs HTTP/1.1\r\nHost: x\r\nX-EMX2-API-Version: 2025-01\r\n"
    b"X-Request-Id: 00000000-0000-4000-8000-000000000000\r\nX-Timestamp: 1735689600\r\n"
)
MEGABYTE = 1024 * 1024


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path)) as running:
        yield running


def _answer(server: Running, *pieces: bytes) -> bytes:
    """All that comes back until the server hangs up or is silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        with contextlib.suppress(ConnectionError):
            return connection.recv(65536)
    return b""


@pytest.mark.parametrize(
    "content",
    [
        b"BREW /api/hpc/jobs HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/hpc/jobs HTTP/9.9\r\n\r\n",
        HEAD + b"Content-Length: abc\r\n\r\n",
        HEAD + b"X-Odd: \x00\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["method", "version", "length", "NUL", "chunk", "TLS", "tunnel"],
)
def test_what_is_no_http_gets_a_problem_document(server: Running, content: bytes) -> None:
    head, _, body = _answer(server, content).partition(b"\r\n\r\n")

    problem = json.loads(body)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert b"x-trace-id: " in head
    assert ("urn:cableferry:problem:malformed", 400) == (problem["type"], problem["status"])
    assert "HTTP/1.1" in problem["detail"]


def test_one_header_may_not_be_larger_than_all_may_be(server: Running) -> None:
    answer = _answer(server, HEAD + b"X-Filler: " + b"y" * 70_000 + b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"urn:cableferry:problem:too-large" in answer


def test_a_head_without_an_end_is_not_read_for_ever(server: Running) -> None:
    answer = _answer(server, HEAD + b"X-Filler: ", *[b"y" * MEGABYTE] * 4)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"urn:cableferry:problem:too-large" in answer


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[Running]:
    settings = servers.settings_in(tmp_path)
    section = msgspec.structs.replace(settings.server, patience_seconds=1)
    with servers.running(msgspec.structs.replace(settings, server=section)) as running:
        yield running


@pytest.mark.parametrize("piece", [HEAD, HEAD + b"Content-Length: 10\r\n\r\n{"], ids=["head", "body"])
def test_a_request_that_does_not_come_is_not_waited_for_for_ever(hasty: Running, piece: bytes) -> None:
    answer = _answer(hasty, piece)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"urn:cableferry:problem:too-slow" in answer


def test_a_connection_without_a_word_is_ended(hasty: Running) -> None:
    assert _answer(hasty) == b""


def test_a_long_poll_outlives_the_patience_for_its_request(hasty: Running) -> None:
    reply = hasty.client().get("/api/hpc/jobs?wait=2")

    assert (reply.status, reply.headers["preference-applied"]) == (200, "wait=2")


def test_a_head_that_comes_in_pieces_is_read(server: Running) -> None:
    filler = b"X-Filler: " + b"y" * 30_000 + b"\r\n"

    assert _answer(server, HEAD, filler, b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_many_requests_on_one_connection_may_be_larger_than_one_head(server: Running) -> None:
    request = HEAD + b"X-Filler: " + b"y" * 40_000 + b"\r\n\r\n"

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        for _ in range(4):
            connection.sendall(request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_body_is_no_part_of_the_head_behind_it(server: Running) -> None:
    body = b'{"processor":"p","parameters":{"text":"' + b"x" * 100_000 + b'"}}'
    create = HEAD.replace(b"GET", b"POST") + b"Content-Length: %d\r\n\r\n" % len(body) + body

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(create + HEAD)
        assert connection.recv(12) == b"HTTP/1.1 201"


def _statuses(server: Running, content: bytes) -> list[bytes]:
    """Of all answers until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(content)
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)


def test_a_tunnel_asked_for_after_an_answer_is_refused_too(server: Running) -> None:
    tunnel = b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"

    assert _statuses(server, HEAD + b"\r\n" + tunnel) == [b"200", b"400"]


BROKEN = HEAD.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"


@pytest.mark.parametrize("before", [1, 2])
def test_what_makes_no_sense_is_refused_after_the_answers_before_it(server: Running, before: int) -> None:
    waiting = HEAD.replace(b"/jobs", b"/jobs?wait=1") + b"\r\n"

    assert _statuses(server, waiting * before + BROKEN) == [b"200"] * before + [b"400"]


def test_whoever_asks_much_at_once_and_goes_is_forgotten(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    waiting = HEAD.replace(b"/jobs", b"/jobs?wait=50") + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(waiting * 3)
        assert streaming.until(lambda: server.app.live.count == 1)

    assert streaming.until(lambda: server.app.live.count == 0)

    assert [record.name for record in caplog.records if record.name == "uvicorn.error"] == []


def test_an_upgrade_is_answered_as_if_nobody_had_asked(server: Running) -> None:
    answer = _answer(server, HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 ")
