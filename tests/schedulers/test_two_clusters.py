"""Two real clusters of one site: a job goes to the one that its profile names, and is known by both its names."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from cableferry.schedulers.protocol import Accepted, Ending, Order, Phase, Resources, Sighting, Ticket
from cableferry.schedulers.slurm.clusters import Clusters
from cableferry.schedulers.slurm.scheduler import Place
from tests import clusters
from tests.clusters import Cluster
from tests.schedulers.waiting import until

pytestmark = pytest.mark.slurm


class Site(NamedTuple):
    """Both clusters behind one scheduler, and the folder of their jobs."""

    slurm: Clusters
    here: Cluster
    there: Cluster
    prefix: str

    def order(self, name: str, cluster: str | None, *command: str) -> Order:
        folder = f"{self.here.jobs}/{self.prefix}"
        where = Resources(cluster=cluster, memory="100M", time="5")
        return Order(f"{self.prefix}-{name}", command, folder, folder, {}, where, "cf:j:1")

    def submit(self, name: str, cluster: str | None, *command: str) -> Ticket:
        submission = self.slurm.submit(self.order(name, cluster, *command))
        assert isinstance(submission, Accepted), submission
        return submission.ticket

    def sight(self, *tickets: Ticket) -> dict[str, Sighting]:
        return dict(self.slurm.sight(tickets, time.time()).jobs)


@pytest.fixture(scope="module")
def there(slurm_cluster: Cluster) -> Iterator[Cluster]:
    if not slurm_cluster.has_accounting:
        pytest.skip("clusters know of each other through their accounts")
    with clusters.beside(slurm_cluster) as there:
        yield there


@pytest.fixture
def site(slurm_cluster: Cluster, there: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("SLURM_CONF", slurm_cluster.slurm_conf)
    folder = slurm_cluster.folder()
    with clusters.acting_as(slurm_cluster.user):
        place = Place(folder / "runs", folder.name)
        yield Site(Clusters(place, {None, there.name}), slurm_cluster, there, folder.name)


def test_each_job_runs_on_the_cluster_that_it_was_meant_for(site: Site) -> None:
    tickets = [
        site.submit(name, cluster, "sh", "-c", "echo $SLURM_CLUSTER_NAME >$0", name)
        for name, cluster in (("a", None), ("b", site.there.name))
    ]
    until(lambda: {seen.phase for seen in site.sight(*tickets).values()} == {Phase.ENDED})
    folder = f"{site.here.jobs}/{site.prefix}"
    ran = []
    for name in ("a", "b"):
        with open(f"{folder}/{name}") as file:
            ran.append(file.read().strip())

    assert [site.here.name, site.there.name] == ran
    assert {Ending.DONE} == {seen.ending for seen in site.sight(*tickets).values()}


def test_a_job_is_found_and_cancelled_on_its_own_cluster(site: Site) -> None:
    ticket = site.submit("c", site.there.name, "sleep", "600")
    wrong = Ticket(ticket.name, ticket.called)
    until(lambda: site.sight(ticket)[ticket.name].phase is Phase.RUNNING)
    found = site.slurm.find(ticket.name, time.time() - 60)
    site.slurm.cancel(wrong, is_urgent=False)
    elsewhere = site.sight(wrong)[ticket.name].phase
    alive = site.sight(ticket)[ticket.name].phase
    site.slurm.cancel(ticket, is_urgent=False)
    until(lambda: site.sight(ticket)[ticket.name].ending is Ending.CANCELLED)

    assert [(ticket.called, site.there.name)] == [(each.called, each.cluster) for each in found.tickets]
    assert (Phase.MISSING, Phase.RUNNING) == (elsewhere, alive)


def test_a_cluster_that_is_silent_silences_no_other(site: Site) -> None:
    ticket = site.submit("d", None, "sleep", "600")
    nowhere = Ticket("cf-nowhere", "1", cluster="nosuch")
    look = site.slurm.sight([ticket, nowhere], time.time())
    found = site.slurm.find(ticket.name, time.time() - 60)
    site.slurm.cancel(ticket, is_urgent=False)

    assert (True, {ticket.name}) == (look.is_ok, set(look.jobs))
    assert "nosuch" in (look.trouble or "")
    assert found.is_ok is False
