"""Two real daemons with one worker id, each with a folder of its own, as on two head nodes."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.client.emx2 import Emx2
from cableferry.testing import processes
from cableferry.wire.emx2.bodies import CreateBody
from tests.chaos.daemons import Local
from tests.cli import ferry as program
from tests.schedulers.waiting import until

TTL = {"CABLEFERRY_WORKERS__SESSION_TTL_SECONDS": "2"}
HOLD = 'echo $$ >>"$GATE/runs"; while [ ! -e "$GATE/go" ]; do sleep 0.1; done; echo over >"$HPC_OUTPUT_DIR/over"'


class Pair:
    """A daemon, another one that wants its place, and their server."""

    def __init__(self, folder: Path, server: str, client: Emx2) -> None:
        self.client = client
        self.gate = folder
        self.first, self.second = (Local(folder / name, server, jobs=folder / "jobs" / name) for name in ("a", "b"))
        for daemon in (self.first, self.second):
            daemon.offer("hold", HOLD, environment={"GATE": str(folder)})

    def submit(self) -> str:
        return self.client.create(CreateBody("hold", "small")).id

    def until(self, job: str, *statuses: str) -> None:
        until(lambda: self.status(job) in statuses)

    def status(self, job: str) -> str:
        found = self.client.job(job)
        assert found is not None
        return found.status

    def change_places(self) -> None:
        """The first one is silent until the second one has its place, then it goes on."""
        self.first.signal(signal.SIGSTOP)
        self.second.start()
        until(lambda: bool(self.second.events("worker registered")))
        self.first.signal(signal.SIGCONT)
        until(lambda: bool(self.first.events("place taken")))


def _displaced(daemon: Local) -> str:
    standing = daemon.status()
    return "" if standing is None else standing.displaced or ""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with (
        processes.running(tmp_path, "--auth-off", settings=TTL) as server,
        program.client(f"http://127.0.0.1:{server.port}") as client,
    ):
        pair = Pair(tmp_path, f"http://127.0.0.1:{server.port}", client)
        yield pair
        (tmp_path / "go").touch()
        pair.first.stop()
        pair.second.stop()


def test_one_whose_place_was_taken_claims_nothing_and_says_so_but_still_reports(pair: Pair) -> None:
    pair.first.start()
    running = pair.submit()
    pair.until(running, "STARTED")
    pair.change_places()
    later = pair.submit()
    pair.until(later, "STARTED")
    (pair.gate / "go").touch()
    for job in (running, later):
        pair.until(job, "COMPLETED", "FAILED")

    assert [pair.status(job) for job in (running, later)] == ["COMPLETED", "COMPLETED"]
    assert [line["job"] for line in pair.first.events("job claimed")] == [running]
    assert [line["job"] for line in pair.second.events("job claimed")] == [later]
    until(lambda: "can be taken over at" in _displaced(pair.first))
    assert _displaced(pair.second) == ""
    assert len((pair.gate / "runs").read_text().split()) == 2


def test_a_place_that_is_free_again_is_taken_back(pair: Pair) -> None:
    pair.first.start()
    until(lambda: bool(pair.first.events("worker registered")))
    pair.change_places()
    pair.second.stop()
    until(lambda: bool(pair.first.events("place is ours again")))
    (pair.gate / "go").touch()
    job = pair.submit()
    pair.until(job, "COMPLETED")

    assert [line["job"] for line in pair.first.events("job claimed")] == [job]


def test_a_second_one_waits_as_long_as_the_first_is_heard_of(pair: Pair) -> None:
    pair.first.start()
    job = pair.submit()
    pair.until(job, "STARTED")
    pair.second.start()
    until(lambda: bool(pair.second.events("place taken")))

    said = str(pair.second.events("place taken")[0]["reason"])
    assert "is in use by" in said
    assert "can be taken over at" in said
    assert pair.second.events("job claimed") == []
