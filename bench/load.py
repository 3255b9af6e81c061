"""A load generator: many connections in one thread, with as little work per request as Python allows."""

import contextlib
import gc
import itertools
import math
import select
import socket
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

Address = tuple[str, int]
Script = Sequence[bytes]

# small, so that reading a small answer never maps fresh memory
_FIRST_CHUNK = 1 << 14
_MORE = 1 << 18
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


class Answer(NamedTuple):
    """One answer; `raw` is the whole of it, head and body."""

    status: int
    raw: bytes

    @property
    def body(self) -> bytes:
        return self.raw[self.raw.index(_HEAD_END) + len(_HEAD_END) :]


class Timed(NamedTuple):
    """One answer of a run: which script it belongs to, and how long it took."""

    script: int
    seconds: float
    answer: Answer


class Run(NamedTuple):
    """What came of some scripts, in the order in which it came."""

    seconds: float
    answers: list[Timed]

    @property
    def per_second(self) -> float:
        return len(self.answers) / self.seconds

    def percentile(self, percent: float) -> float:
        """The latency in seconds that so many percent of the requests stayed within."""
        return percentile([timed.seconds for timed in self.answers], percent)

    def refused(self) -> list[Answer]:
        return [timed.answer for timed in self.answers if timed.answer.status >= 300]

    def bodies(self) -> list[bytes]:
        return [timed.answer.body for timed in self.answers]


class Line:
    """One keep-alive connection; after `ask`, feed it until the answer is whole."""

    __slots__ = ("_held", "_requests", "_socket", "fileno", "script", "sent_at")

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""
        self.fileno = self._socket.fileno()
        self.sent_at = 0.0
        self.script = -1
        self._requests: Iterator[bytes] = iter(())

    def ask(self, request: bytes) -> None:
        self.sent_at = perf_counter()
        self._socket.sendall(request)

    def feed(self) -> Answer | None:
        """Read what has arrived; None while the answer is not whole."""
        data = self._socket.recv(_MORE if self._held else _FIRST_CHUNK)
        if not data:
            raise ConnectionError("the server closed a connection that was waiting for an answer")
        if self._held:
            data = self._held + data
        whole = length(data)
        if whole < 0 or whole > len(data):
            self._held = data
            return None
        self._held = b""
        return Answer(int(data[9:12]), data)

    def goes_on(self, work: Iterator[tuple[int, Script]]) -> bool:
        """Send the next request of this script, or the first of the next one; False when all are done."""
        while (request := next(self._requests, None)) is None:
            if (following := next(work, None)) is None:
                return False
            self.script, self._requests = following[0], iter(following[1])
        self.ask(request)
        return True

    def close(self) -> None:
        self._socket.close()


def length(data: bytes) -> int:
    """How long the answer that begins here is with its head; -1 while the head is not whole."""
    end = data.find(_HEAD_END)
    if end < 0:
        return -1
    at = data.find(_LENGTH, 0, end)
    if at < 0:
        at = data[: end + 2].lower().find(_LENGTH)
    if at < 0:
        return end + len(_HEAD_END)
    stop = data.index(b"\r\n", at + 2)
    return end + len(_HEAD_END) + int(data[at + len(_LENGTH) : stop])


def drive(addresses: Sequence[Address], scripts: Sequence[Script], connections: int = 64) -> Run:
    """Send every request of every script; those of one script in order, on one connection."""
    lines = [Line(address) for address, _ in zip(itertools.cycle(addresses), range(connections), strict=False)]
    try:
        with _undisturbed():
            return _drive(lines, scripts)
    finally:
        for line in lines:
            line.close()


def _drive(lines: list[Line], scripts: Sequence[Script]) -> Run:
    work = enumerate(scripts)
    answers: list[Timed] = []
    epoll = select.epoll()
    began = perf_counter()
    busy = {line.fileno: line for line in lines if line.goes_on(work)}
    for fileno in busy:
        epoll.register(fileno, select.EPOLLIN)
    while busy:
        for fileno, _ in epoll.poll():
            line = busy[fileno]
            if (answer := line.feed()) is None:
                continue
            answers.append(Timed(line.script, perf_counter() - line.sent_at, answer))
            if not line.goes_on(work):
                epoll.unregister(fileno)
                del busy[fileno]
    epoll.close()
    return Run(perf_counter() - began, answers)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage collection while the clock runs."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of all values stay within."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
