"""A daemon's whole cycle at a real server, with a scheduler that runs nothing."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client.emx2 import Emx2
from cableferry.client.schemes import Unsigned
from cableferry.core.jobs import State
from cableferry.daemon import launch, standing
from cableferry.daemon.config import BadConfig, Config, Profile
from cableferry.daemon.held import Held, Stage
from cableferry.daemon.journal import Journal
from cableferry.daemon.loop import Daemon
from cableferry.schedulers.protocol import Order
from cableferry.schedulers.simulated import Simulated
from cableferry.wire.emx2.bodies import Capability, CreateBody, RegisterBody, SessionBody, TransitionBody
from tests.cli import ferry as program


class Site:
    """A worker's folder, and a client of its server."""

    def __init__(self, folder: Path, server: str, client: Emx2) -> None:
        self.client = client
        self.state = folder / "state"
        self.config = Config(
            worker_id="w1",
            server=server,
            state_dir=str(self.state),
            jobs_dir=str(folder / "jobs"),
            profiles=(Profile(processor="a", profile="b"),),
            backend="simulate",
            max_concurrent_jobs=3,
        )

    def daemon(self, scheduler: Simulated | None = None) -> Daemon:
        return Daemon(self.config, Unsigned("w1"), scheduler or Simulated())

    def submit(self) -> str:
        return self.client.create(CreateBody("a", "b")).id

    def claimed(self) -> Held:
        """A job that the server gave this worker and that is ready to be submitted."""
        self.client.register(RegisterBody("w1", "here", [Capability("a", "b", 3)]))
        job = self.client.claim(self.submit(), "w1")
        return launch.held(self.config, job, 1, 100)

    def remember(self, *held: Held) -> None:
        self.state.mkdir(exist_ok=True)
        with contextlib.closing(Journal(self.state / "journal.db", Held, TransitionBody)) as journal:
            for each in held:
                journal.note(each)

    def held(self) -> list[Held]:
        with contextlib.closing(Journal(self.state / "journal.db", Held, TransitionBody)) as journal:
            return journal.held()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with program.serving(tmp_path / "data", is_open=True) as server, program.client(server) as client:
        yield Site(tmp_path, server, client)


def _at(held: Held, stage: Stage, **changed: object) -> Held:
    return msgspec.structs.replace(held, stage=stage, **changed)


def test_nobody_of_its_crew_outlives_a_daemon(site: Site) -> None:
    before = set(threading.enumerate())
    site.daemon().once()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)

    assert set() == {thread for thread in threading.enumerate() if thread.name.startswith("crew-")} - before


def test_a_daemon_takes_no_more_than_it_has_room_for(site: Site) -> None:
    jobs = [site.submit() for _ in range(5)]
    site.daemon().once()

    assert [held.id for held in site.held()] == jobs[:3]


def test_a_daemon_counts_what_it_does(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "ferry.prom"
    site.config = msgspec.structs.replace(site.config, metrics_file=str(file))
    for _ in range(5):
        site.submit()
    site.daemon().once()
    lines = file.read_text().splitlines()

    assert "cableferry_daemon_claims_total 3" in lines
    assert 'cableferry_daemon_submissions_total{outcome="accepted"} 3' in lines
    stages = [line.rpartition(" ")[2] for line in lines if line.startswith("cableferry_daemon_jobs{")]
    assert sum(map(int, stages)) == 3
    assert any(line.startswith('cableferry_daemon_request_seconds_count{method="POST",status="200"}') for line in lines)
    assert any(line.startswith("cableferry_daemon_clock_skew_seconds ") for line in lines)


@pytest.mark.parametrize("stage", [Stage.CLAIMED, Stage.READY])
def test_a_daemon_whose_place_was_taken_submits_nothing_and_ends_nothing(site: Site, stage: Stage) -> None:
    held = _at(site.claimed(), stage)
    site.remember(held)
    site.client.register(RegisterBody("w1", "there", [], SessionBody("another-session", "there", 7)))
    scheduler = Simulated()
    trouble = site.daemon(scheduler).once()

    assert "in use by there" in (trouble or "")
    job = site.client.job(held.id)
    assert job is not None
    assert (site.held(), scheduler.find(held.name, 0).tickets, job.status) == ([], (), "CLAIMED")


def test_a_claim_whose_answer_was_lost_is_found_out_about_and_not_forgotten(site: Site) -> None:
    held = site.claimed()
    site.daemon().once()

    assert [(one.id, one.stage) for one in site.held()] == [(held.id, Stage.INTENT)]


def test_a_job_that_runs_under_its_name_is_adopted_and_not_submitted_again(site: Site) -> None:
    held = site.claimed()
    scheduler = Simulated()
    scheduler.submit(Order(held.name, (), "", "", {}))
    site.daemon(scheduler).once()

    job = site.client.job(held.id)
    assert job is not None
    assert (job.status, job.slurm_job_id) == ("STARTED", f"sim-{held.name}")


def test_a_report_that_could_not_be_told_is_told_by_the_next(site: Site) -> None:
    held = site.claimed()
    site.remember()
    with contextlib.closing(Journal(site.state / "journal.db", Held, TransitionBody)) as journal:
        done = _at(held, Stage.DONE, told=State.CLAIMED)
        journal.note(done, [TransitionBody("FAILED", detail="exit_code=3", epoch=held.epoch)])
    site.daemon().once()

    job = site.client.job(held.id)
    assert job is not None
    assert (job.status, job.detail, site.held()) == ("FAILED", "exit_code=3", [])


def test_a_job_deleted_while_nobody_looked_is_let_go(site: Site) -> None:
    held = _at(site.claimed(), Stage.STARTED, called="sim-x", told=State.RUNNING)
    site.remember(held)
    site.client.delete(held.id)
    daemon = site.daemon()
    daemon.once()
    site.daemon().once()

    assert site.held() == []


def test_a_folder_in_use_is_refused_before_anything_is_read(site: Site) -> None:
    first = site.daemon()
    with pytest.raises(BadConfig, match="another worker uses"):
        site.daemon()
    first.once()

    assert standing.read(site.state) is not None
