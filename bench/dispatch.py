"""How soon a job is in the hands of a waiting worker, with a thousand others waiting beside it."""

import contextlib
import json
import resource
import select
from collections.abc import Iterator
from time import perf_counter, sleep
from typing import NamedTuple

from bench import load, report, seeding, servers, signed

WAITERS = 1000
JOBS = 500
IDLE_SECONDS = 8
LIMIT_MS, CPU_LIMIT = 50, 2


class Dispatched(NamedTuple):
    """Seconds from create to a claim's answer, and what the waiters cost while nothing happened."""

    seconds: list[float]
    idle_percent: float
    bytes_per_waiter: float

    @property
    def p99_ms(self) -> float:
        return load.percentile(self.seconds, 99) * 1000


class Parked(NamedTuple):
    """How many wait for which processor, and for how long they are watched waiting."""

    waiters: int
    processor: str
    seconds: float

    @property
    def can_take(self) -> bool:
        return self.waiters > 0 and self.processor == seeding.PROCESSOR


class Waiting:
    """Workers that hold a list request open, each on a connection of its own."""

    def __init__(self, address: load.Address, workers: int, processor: str) -> None:
        self._poll = f"/jobs?status=PENDING&processor={processor}&profile={seeding.PROFILE}&wait=55"
        self._epoll = select.epoll()
        self._daemon = signed.Daemon("bench-0")
        self._lines: dict[int, load.Line] = {}
        self._claiming: set[int] = set()
        for _ in range(workers):
            line = load.Line(address)
            self._lines[line.fileno] = line
            self._epoll.register(line.fileno, select.EPOLLIN)
            self._park(line)

    def claim_one(self) -> None:
        """Let whoever is told of a job claim it; come back when one has."""
        while True:
            for fileno, _ in self._epoll.poll():
                line = self._lines[fileno]
                if (answer := line.feed()) is not None and self._goes_on(line, answer):
                    return

    def _goes_on(self, line: load.Line, answer: load.Answer) -> bool:
        if line.fileno in self._claiming:
            self._claiming.discard(line.fileno)
            self._park(line)
            return answer.status == 200
        if items := json.loads(answer.body)["items"]:
            self._claiming.add(line.fileno)
            line.ask(self._daemon.post(f"/jobs/{items[0]['id']}/claim", {"worker_id": self._daemon.worker}))
        else:
            self._park(line)
        return False

    def _park(self, line: load.Line) -> None:
        line.ask(self._daemon.get(self._poll))

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._epoll.close()


def main(waiters: int = WAITERS, jobs: int = JOBS, idle_seconds: float = IDLE_SECONDS) -> None:
    _allow_files(4 * waiters + 1000)
    alone = _measure(Parked(0, seeding.PROCESSOR, 0), jobs)
    others = _measure(Parked(waiters, "some-other-processor", idle_seconds), jobs)
    same = _measure(Parked(waiters, seeding.PROCESSOR, idle_seconds), jobs)
    rows = [
        _row("nobody else waits (floor)", alone),
        _row(f"{waiters} wait for other processors", others),
        _row(f"{waiters} wait for the same jobs", same),
    ]
    report.table(
        "From create to claimed by a long-polling worker",
        ("", "p50", "p99", "slowest", "idle CPU", "memory a waiter"),
        rows,
    )
    worst = max(others.p99_ms, same.p99_ms)
    idle = max(others.idle_percent, same.idle_percent)
    passed = "yes" if worst < LIMIT_MS and idle < CPU_LIMIT else "no"
    report.result("dispatch", worst, "ms p99", alone.p99_ms, idle_cpu_percent=idle, within_limits=passed)


def _measure(parked: Parked, jobs: int) -> Dispatched:
    with servers.on_sqlite() as server, contextlib.ExitStack() as stack:
        seeding.register(server, [signed.Daemon("bench-0")])
        seeding.claim(server, signed.Daemon("bench-0"), len(seeding.create(server, signed.Daemon("bench-0"), 20)))
        before = server.resident_bytes()
        waiting = stack.enter_context(_waiting(server, parked.waiters, parked.processor))
        idle_percent = _idle_percent(server, parked.seconds)
        per_waiter = (server.resident_bytes() - before) / max(1, parked.waiters)
        takers = waiting if parked.can_take else stack.enter_context(_waiting(server, 1, seeding.PROCESSOR))
        return Dispatched(_dispatch(server, takers, jobs), idle_percent, per_waiter)


def _dispatch(server: servers.Server, takers: Waiting, jobs: int) -> list[float]:
    creator = load.Line(server.address)
    seconds = []
    for request in seeding.creations(signed.Daemon("bench-creator"), jobs):
        began = perf_counter()
        creator.ask(request)
        takers.claim_one()
        seconds.append(perf_counter() - began)
        while creator.feed() is None:
            pass
    creator.close()
    return seconds


@contextlib.contextmanager
def _waiting(server: servers.Server, workers: int, processor: str) -> Iterator[Waiting]:
    waiting = Waiting(server.address, workers, processor)
    try:
        yield waiting
    finally:
        waiting.close()


def _idle_percent(server: servers.Server, seconds: float) -> float:
    """Of one core, once the last of them has been parked."""
    sleep(seconds / 4)
    before, began = server.cpu_seconds(), perf_counter()
    sleep(seconds)
    return 100 * (server.cpu_seconds() - before) / (perf_counter() - began)


def _allow_files(count: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _row(name: str, done: Dispatched) -> report.Row:
    latencies = (load.percentile(done.seconds, 50), done.p99_ms / 1000, max(done.seconds))
    memory = f"{done.bytes_per_waiter / 1024:.1f} KiB" if done.bytes_per_waiter else ""
    return (name, *map(report.ms, latencies), f"{done.idle_percent:.1f} %", memory)


if __name__ == "__main__":
    main()
