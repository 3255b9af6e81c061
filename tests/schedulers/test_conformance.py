"""The same questions to every scheduler, the simulated one too."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Accepted, Ending, Found, Order, Phase, Resources, Scheduler, Sighting, Ticket
from cableferry.schedulers.simulated import Simulated
from cableferry.schedulers.slurm.scheduler import Place, Slurm
from tests import clusters
from tests.schedulers.waiting import until

SLURM = pytest.param("slurm", marks=pytest.mark.slurm)


class Site:
    """A scheduler and a folder that its jobs can write in."""

    def __init__(self, scheduler: Scheduler, folder: Path) -> None:
        self.scheduler = scheduler
        self.folder = folder

    def order(self, *command: str, name: str = "cf-a") -> Order:
        return Order(
            name, command, str(self.folder), str(self.folder), {"WORD": "$(id)"}, Resources(time="5", memory="100M")
        )

    def submit(self, *command: str, name: str = "cf-a") -> Ticket:
        submission = self.scheduler.submit(self.order(*command, name=name))
        assert isinstance(submission, Accepted), submission
        return submission.ticket

    def sight(self, ticket: Ticket) -> Sighting | None:
        return self.scheduler.sight([ticket], time.time()).jobs.get(ticket.name)

    def seen_to_the_end(self, ticket: Ticket) -> list[Sighting]:
        seen: list[Sighting] = []

        def is_over() -> bool:
            found = self.sight(ticket)
            if found is not None and found not in seen:
                seen.append(found)
            return found is not None and found.phase in (Phase.ENDED, Phase.GONE)

        until(is_over)
        return seen


@pytest.fixture(params=["simulated", "local", SLURM])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        if request.param == "slurm":
            cluster: clusters.Cluster = request.getfixturevalue("slurm_cluster")
            folder = cluster.folder()
            monkeypatch.setenv("SLURM_CONF", cluster.slurm_conf)
            stack.enter_context(clusters.acting_as(cluster.user))
            yield Site(Slurm(Place(folder / "runs", f"cf-{os.path.basename(folder)}")), folder)
        elif request.param == "local":
            local = Local(tmp_path / "runs")
            yield Site(local, tmp_path)
            for run in (tmp_path / "runs").iterdir():
                local.cancel(Ticket(run.name, ""), is_urgent=True)
        else:
            yield Site(Simulated(), tmp_path)


def _name(site: Site) -> str:
    """Slurm's cluster is shared by tests, so names are new in each."""
    return f"cf-{site.folder.name}-a1"


def test_a_job_runs_to_a_good_end(site: Site) -> None:
    seen = site.seen_to_the_end(site.submit("true", name=_name(site)))

    assert (seen[-1].phase, seen[-1].ending, seen[-1].exit_code) == (Phase.ENDED, Ending.DONE, 0)
    assert {one.phase for one in seen[:-1]} <= {Phase.QUEUED, Phase.RUNNING, Phase.ENDED}


def test_a_submitted_name_is_found(site: Site) -> None:
    ticket = site.submit("sleep", "60", name=_name(site))
    found: list[Found] = []
    until(lambda: bool((found.append(site.scheduler.find(ticket.name, time.time())), found[-1].tickets)[1]))
    site.scheduler.cancel(ticket, is_urgent=False)

    assert [(one.name, one.called) for one in found[-1].tickets] == [(ticket.name, ticket.called)]


def test_a_name_that_was_never_submitted_is_not_found(site: Site) -> None:
    found = site.scheduler.find(f"{_name(site)}x", time.time())

    assert (found.is_ok, found.tickets) == (True, ())


def test_a_name_submitted_twice_runs_once(site: Site) -> None:
    first = site.submit("sh", "-c", "echo once >>ran", name=_name(site))
    second = site.submit("sh", "-c", "echo once >>ran", name=_name(site))
    ends = [site.seen_to_the_end(ticket)[-1] for ticket in (first, second)]

    assert {end.ending for end in ends} <= {Ending.DONE, Ending.DUPLICATE}
    if not isinstance(site.scheduler, Simulated):
        assert (site.folder / "ran").read_text() == "once\n"


def test_a_cancelled_job_ends_and_not_well(site: Site) -> None:
    ticket = site.submit("sleep", "60", name=_name(site))
    site.sight(ticket)

    assert site.scheduler.cancel(ticket, is_urgent=False)
    assert site.seen_to_the_end(ticket)[-1].ending not in (None, Ending.DONE)


def test_cancelling_what_has_ended_changes_nothing(site: Site) -> None:
    ticket = site.submit("true", name=_name(site))
    end = site.seen_to_the_end(ticket)[-1]

    assert site.scheduler.cancel(ticket, is_urgent=True)
    assert site.seen_to_the_end(ticket)[-1].ending == end.ending


def test_a_look_names_when_it_was_taken(site: Site) -> None:
    assert site.scheduler.sight([], 17.5).taken_at == 17.5
