"""The load generator reads answers as they come off a socket."""

import socket
import threading
from collections.abc import Iterator

import pytest

from bench import load

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\nhello"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(ANSWER, len(ANSWER), id="a whole answer ends with its body"),
        pytest.param(ANSWER[:-3], len(ANSWER), id="the head tells the length before the body is there"),
        pytest.param(ANSWER.replace(b"content-", b"Content-"), len(ANSWER), id="header names have no case"),
        pytest.param(ANSWER[:40], -1, id="half a head tells nothing"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 27, id="no length means no body"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\ncontent-length: 7\r\n", 27, id="a body is not a head"),
    ],
)
def test_an_answers_length_is_read_from_its_head(data: bytes, expected: int) -> None:
    assert expected == load.length(data)


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(50, 50), (99, 99), (100, 100), (0, 1)],
    ids=["median", "p99", "the slowest", "the fastest"],
)
def test_a_percentile_is_one_of_the_values(percent: float, expected: float) -> None:
    assert expected == load.percentile(list(range(100, 0, -1)), percent)


@pytest.fixture
def dribbling_server() -> Iterator[load.Address]:
    """Answers two requests on each of two connections, one byte at a time."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_dribble, args=(listener,))
    thread.start()
    yield listener.getsockname()
    thread.join()
    listener.close()


def _dribble(listener: socket.socket) -> None:
    peers = [listener.accept()[0] for _ in range(2)]
    for _ in range(2):
        for peer in peers:
            peer.recv(1000)
            for byte in ANSWER:
                peer.send(bytes([byte]))
    for peer in peers:
        peer.close()


def test_scripts_are_sent_in_order_and_answers_joined(dribbling_server: load.Address) -> None:
    run = load.drive([dribbling_server], [[b"a", b"b"], [b"c", b"d"]], connections=2)

    assert run.bodies() == [b"hello"] * 4
    assert sorted(timed.script for timed in run.answers) == [0, 0, 1, 1]
    assert run.refused() == []
