"""Two connections at one upload: one brings bytes, the other waits, is refused, or takes its place."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cableferry.client.errors import Unreachable
from cableferry.testing.servers import Client
from tests.dialects.sender import CONTENT, DRAFT, PART, TUS, Sender, head
from tests.server.streaming import until

SIZE = len(CONTENT)


@pytest.fixture
def sending(client: Client) -> Sender:
    return Sender(client)


@pytest.fixture
def upload(sending: Sender) -> str:
    return sending.begun()


@pytest.fixture
def first(sending: Sender, upload: str) -> Iterator[socket.socket]:
    """A connection over which the first thousand bytes came, and the rest is still to come."""
    with sending.connect() as connection:
        said = {**TUS, **PART, "Upload-Offset": "0", "Content-Length": str(SIZE), "Expect": "100-continue"}
        connection.sendall(head("PATCH", upload, said))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(CONTENT[:1000])
        yield connection


def test_a_second_writer_is_refused_and_the_first_goes_on(sending: Sender, upload: str, first: socket.socket) -> None:
    second = sending.append(upload, 0, b"other bytes")
    first.sendall(CONTENT[1000:])

    assert (second.status, second.kind, second.json["retryable"]) == (423, "upload-busy", True)
    assert first.recv(65536).startswith(b"HTTP/1.1 204 ")
    assert sending.file() == CONTENT


def test_whoever_looks_disturbs_nobody(sending: Sender, upload: str, first: socket.socket) -> None:
    assert sending.offset(upload) == 0
    first.sendall(CONTENT[1000:])

    assert first.recv(65536).startswith(b"HTTP/1.1 204 ")


def test_a_client_of_the_draft_that_comes_again_ends_its_old_connection(
    sending: Sender, upload: str, first: socket.socket
) -> None:
    looked = sending.client.call("HEAD", upload, headers=DRAFT)
    offset = int(looked.headers["upload-offset"])

    assert b"" == first.recv(65536)
    assert sending.go_on(upload, offset, CONTENT[offset:], "?1").status == 201
    assert sending.file() == CONTENT


def test_a_writer_of_the_draft_takes_the_place_of_the_one_before(
    sending: Sender, upload: str, first: socket.socket
) -> None:
    reply = sending.go_on(upload, 0, CONTENT, "?1")

    # what the other one had brought counts, however much of it was read by then
    assert (reply.status, reply.kind.rpartition("#")[2]) in ((201, ""), (409, "mismatching-upload-offset"))
    assert b"" == first.recv(65536)
    assert sending.offset(upload) in (1000, SIZE)


def test_a_connection_that_brings_nothing_any_more_makes_way(
    sending: Sender, upload: str, first: socket.socket
) -> None:
    assert until(lambda: sending.offset(upload) == 1000)

    assert b"" == first.recv(65536)
    assert sending.append(upload, 1000, CONTENT[1000:]).status == 204
    assert sending.file() == CONTENT


def test_a_stranger_ends_nothing(sending: Sender, upload: str, first: socket.socket) -> None:
    unknown = sending.client.call("HEAD", f"{upload}0", headers=DRAFT)
    first.sendall(CONTENT[1000:])

    assert unknown.status == 404
    assert first.recv(65536).startswith(b"HTTP/1.1 204 ")


def test_many_that_take_the_same_place_at_once_mix_nothing(sending: Sender, upload: str) -> None:
    contents = [bytes([number]) * SIZE for number in range(8)]
    said = {**TUS, **PART, "Upload-Offset": "0", "Content-Length": str(SIZE), "Expect": "100-continue"}

    def take(content: bytes) -> int:
        try:
            return sending.go_on(upload, 0, content, "?1").status
        except Unreachable:
            return 0  # a later one took the place

    with sending.connect() as silent, ThreadPoolExecutor(8) as pool:
        silent.sendall(head("PATCH", upload, said))
        assert silent.recv(65536).startswith(b"HTTP/1.1 100 ")
        statuses = list(pool.map(take, contents))

    assert set(statuses) <= {0, 201, 400, 409, 423}
    won = [content for content, status in zip(contents, statuses, strict=True) if status == 201]
    assert len(won) <= 1
    # one that was cut off may have brought all of it, and not have heard so
    assert sending.file() in (won or [None, *contents])
