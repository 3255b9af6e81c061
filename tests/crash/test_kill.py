"""Killed fifty times under load, a server keeps what it acknowledged, halves nothing and takes no request twice."""

import contextlib
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cableferry.core.jobs import Filter, Job, Transition
from cableferry.core.paging import Page
from cableferry.engine import jobs, queue
from cableferry.server import configured
from cableferry.server.settings import Settings
from cableferry.store import check
from cableferry.testing import processes, stores
from cableferry.wire.emx2.words import WORDS
from tests.crash.load import DEATHS, SECRET, Crasher, Known, connected, sent

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

DEATHS_IN_ALL = 50
WORKERS = 8
RULES = configured.rules(Settings())
SETTINGS = {"CABLEFERRY_AUTH__SHARED_SECRET": SECRET}


class Toll:
    """Counts acknowledged changes and rings at the one that is to be the last."""

    def __init__(self, last: int) -> None:
        self._left = last
        self._lock = threading.Lock()
        self.rings = threading.Event()

    def count(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.rings.set()


def test_fifty_deaths_under_load_lose_nothing_and_halve_nothing(tmp_path: Path) -> None:
    chance = random.Random(50)
    crashers = [Crasher(f"w{number}", number) for number in range(WORKERS)]
    acknowledged = 0
    for death in range(DEATHS_IN_ALL + 1):
        with processes.running(tmp_path, settings=SETTINGS) as server:
            _look_after(crashers, server.port, is_first=death == 0)
            if death < DEATHS_IN_ALL:
                acknowledged += _load_and_kill(crashers, server, chance.randint(5, 120))

    assert acknowledged > DEATHS_IN_ALL * 30
    _audit(tmp_path, crashers)


def _load_and_kill(crashers: list[Crasher], server: processes.Process, last: int) -> int:
    """How many changes were acknowledged before the server died."""
    toll = Toll(last)
    with ThreadPoolExecutor(len(crashers)) as pool:
        lives = [pool.submit(_live, crasher, server.port, toll) for crasher in crashers]
        toll.rings.wait(60)
        server.kill()
        return sum(life.result(60) for life in lives)


def _live(crasher: Crasher, port: int, toll: Toll) -> int:
    changes = 0
    try:
        for _ in crasher.live(port):
            changes += 1
            toll.count()
    except DEATHS:
        return changes
    raise AssertionError("the server did not die")


def _look_after(crashers: list[Crasher], port: int, *, is_first: bool) -> None:
    """Learn what became of the requests whose answers were lost, and try to have old ones taken again."""
    with contextlib.closing(connected(port)) as connection:
        for crasher in crashers:
            if is_first:
                crasher.send(connection, crasher.registration())
            _refuses_the_last_request(connection, crasher)
            _finish_creations(connection, crasher)
            _find_out(connection, crasher)


def _refuses_the_last_request(connection: HTTPConnection, crasher: Crasher) -> None:
    assert crasher.last is not None
    status, body = sent(connection, crasher.last)

    assert (401, "urn:cableferry:problem:replayed") == (status, body["type"])


def _finish_creations(connection: HTTPConnection, crasher: Crasher) -> None:
    """The same key again is the same job, whether or not the first answer was on its way."""
    for key in [key for key, job in crasher.keys.items() if job is None]:
        job = crasher.send(connection, crasher.creation(key)).body["id"]
        crasher.keys[key] = job
        crasher.jobs[job] = Known("PENDING")


def _find_out(connection: HTTPConnection, crasher: Crasher) -> None:
    for job in [job for job, known in crasher.jobs.items() if known.or_status is not None]:
        status, body = sent(connection, crasher.signed("GET", f"/api/hpc/jobs/{job}"))
        found = "deleted" if status == 404 else body["status"]

        assert found in crasher.jobs[job]
        crasher.jobs[job] = Known(found)


def _audit(folder: Path, crashers: list[Crasher]) -> None:
    """Every job is where its worker knows it to be, with a history that leads there, and there is no other."""
    known = {job: said.status for crasher in crashers for job, said in crasher.jobs.items()}
    alive = {job: status for job, status in known.items() if status != "deleted"}
    with stores.opened(stores.sqlite_url(folder)) as store:
        assert [] == check.check(store).problems
        listed = store.read(lambda tx: queue.find(tx, "emx2", Filter(), Page(limit=10**6))).jobs
        assert alive == {job.id: WORDS[job.state] for job in listed}
        for job in listed:
            _leads_there(job, store.read(lambda tx, id=job.id: jobs.history(tx, RULES, id)))


def _leads_there(job: Job, history: list[Transition]) -> None:
    assert list(range(1, job.revision + 1)) == [row.seq for row in history]
    assert [None, *(row.new for row in history)] == [*(row.old for row in history), job.state]
