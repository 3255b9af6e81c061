"""Disks that are really full: nothing new is claimed, nothing that runs is lost, and all goes on by itself."""

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client.artifacts import Description
from cableferry.client.emx2 import Emx2
from cableferry.client.http import Content
from cableferry.daemon.disks import Disks
from cableferry.testing.servers import Client
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from cableferry.wire.emx2.bodies import CreateBody
from tests.chaos.daemons import Local
from tests.cli import ferry as program
from tests.schedulers.waiting import until

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
# what it writes is its own affair on a full disk, so it writes nothing
HOLD = 'while [ ! -e "$GATE/go" ]; do sleep 0.1; done'
MIB = 2**20


class Site:
    """A daemon on two small disks of its own, one for its state and one for its jobs."""

    def __init__(self, folder: Path, server: str, client: Emx2) -> None:
        self.client = client
        self._dashboard = Client(int(server.rpartition(":")[2]))
        self.gate = folder
        self.daemon = Local(folder / "daemon", server, least_free_mb=1)
        self.state, self.jobs = self.daemon.state, self.daemon.jobs
        self.daemon.offer("hold", HOLD, environment={"GATE": str(folder)})
        self.daemon.offer("count", 'wc -c <"$HPC_INPUT_DIR"/*/input >"$HPC_OUTPUT_DIR/size"')

    def submit(self, name: str, *inputs: str) -> str:
        return self.client.create(CreateBody(name, "small", inputs=msgspec.Raw(msgspec.json.encode(inputs)))).id

    def until(self, job: str, status: str) -> None:
        until(lambda: self.status(job) == status)

    def status(self, job: str) -> str:
        found = self.client.job(job)
        assert found is not None
        return found.status

    def input(self, size: int) -> str:
        content = os.urandom(size)
        made = self.client.artifacts.create(CreateArtifactBody(type="blob")).id
        body = Content(lambda: iter([content]), size, hashlib.sha256(content).hexdigest())
        self.client.artifacts.put(made, Description("input"), body)
        self.client.artifacts.commit(made)
        return made

    @property
    def trouble(self) -> str:
        standing = self.daemon.status()
        return "" if standing is None else standing.disk_trouble or ""

    @property
    def told(self) -> str:
        """What the server shows of the daemon's trouble."""
        shown = self._dashboard.call("GET", "/api/ui/workers").json["items"]
        assert isinstance(shown, list)
        return shown[0]["trouble"] or ""


@contextlib.contextmanager
def disk(folder: Path, size: int) -> Iterator[None]:
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, timeout=30)
    try:
        yield
    finally:
        # what a test leaves running may still write there
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=30)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with (
        program.serving(tmp_path / "data", is_open=True) as server,
        program.client(server) as client,
        disk(tmp_path / "daemon" / "state.cableferry", 4 * MIB),
        disk(tmp_path / "daemon" / "jobs", 8 * MIB),
    ):
        site = Site(tmp_path, server, client)
        yield site
        (tmp_path / "go").touch()
        site.daemon.stop()


def _fill(folder: Path) -> Path:
    """To the last byte, as somebody else's file does."""
    with (folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return folder / "filler"


def _is_of_room(trouble: str) -> bool:
    """A journal that did not take something is told of first."""
    return "MiB left" in trouble or "cannot be written" in trouble


@ROOT_ONLY
@pytest.mark.parametrize("full", ["state", "jobs"])
def test_on_a_full_disk_nothing_is_claimed_what_runs_goes_on_and_all_comes_back(site: Site, full: str) -> None:
    site.daemon.start()
    running = site.submit("hold")
    site.until(running, "STARTED")
    filler = _fill(site.state if full == "state" else site.jobs)
    until(lambda: bool(site.daemon.events("disk full")))
    waiting = site.submit("hold")
    until(lambda: _is_of_room(site.trouble))
    (site.gate / "go").touch()
    until(lambda: any(site.jobs.glob("runs/*/exit.json")))
    until(lambda: _is_of_room(site.told))
    before = site.status(waiting)
    filler.unlink()
    for job in (running, waiting):
        site.until(job, "COMPLETED")

    assert before == "PENDING"
    assert site.daemon.events("disk has room again")
    assert not site.daemon.is_dead()
    assert site.trouble == ""


@ROOT_ONLY
def test_what_the_journal_could_not_take_has_not_happened_and_is_found_again(site: Site) -> None:
    """A claim that the server has given and that does not fit: nothing holds the daemon back from it here."""
    site.daemon.says(least_free_mb=0)
    (site.gate / "go").touch()
    site.daemon.start()
    until(lambda: bool(site.daemon.events("worker registered")))
    filler = _fill(site.state)
    large = msgspec.Raw(b'{"text": "%s"}' % (b"x" * 100_000))
    job = site.client.create(CreateBody("hold", "small", parameters=large)).id
    until(lambda: bool(site.daemon.events("disk full")))
    said = str(site.daemon.events("disk full")[0]["reason"])
    filler.unlink()
    site.until(job, "COMPLETED")

    assert "the journal cannot be written" in said
    assert not site.daemon.is_dead()


@ROOT_ONLY
def test_an_input_that_does_not_fit_now_waits_for_room_and_holds_others_back(site: Site) -> None:
    filler = site.jobs / "filler"
    filler.write_bytes(b"x" * 4 * MIB)
    site.daemon.start()
    large = site.submit("count", site.input(5 * MIB))
    until(lambda: "no room for" in site.trouble)
    status = site.status(large)
    filler.unlink()
    site.until(large, "COMPLETED")

    assert status == "CLAIMED"


@ROOT_ONLY
def test_an_input_that_no_room_can_ever_hold_fails_its_job_at_once(site: Site) -> None:
    site.daemon.start()
    huge = site.submit("count", site.input(9 * MIB))
    site.until(huge, "FAILED")
    job = site.client.job(huge)

    assert job is not None
    assert "more than the whole disk" in (job.detail or "")
    assert site.trouble == ""


def test_a_disk_that_did_not_take_something_is_left_alone_for_a_while(tmp_path: Path) -> None:
    disks = Disks("w1", [tmp_path], 0)
    disks.hit("the journal cannot be written", 100)
    seen = [(disks.rests(now), disks.trouble) for now in (101, 104.9)]
    disks.look(105)

    assert seen == [(True, "the journal cannot be written")] * 2
    assert (disks.rests(105), disks.trouble) == (False, None)


def test_a_disk_counts_as_full_before_it_is(tmp_path: Path) -> None:
    disks = Disks("w1", [tmp_path], 2**60)
    disks.look(100)

    assert "MiB left" in (disks.trouble or "")
