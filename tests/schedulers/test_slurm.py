"""A real Slurm: what its words do not show until one asks it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.schedulers.protocol import (
    Accepted,
    Ending,
    Order,
    Phase,
    Refused,
    Resources,
    Sighting,
    Submission,
    Ticket,
    Unknown,
    Usage,
)
from cableferry.schedulers.slurm.scheduler import Place, Slurm
from tests import clusters
from tests.clusters import Cluster
from tests.schedulers.waiting import until

pytestmark = pytest.mark.slurm

# everything that a shell would do something with
HOSTILE = "a b\t'c' \"d\" $(touch touched) `touch touched` ${HOME} \\ \n * ~ ; & | > é % # !"


class Site:
    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.prefix = f"cf-{folder.name}"
        self.slurm = self.patient(30)

    def patient(self, seconds: float) -> Slurm:
        return Slurm(Place(self.folder / "runs", self.prefix, seconds))

    def order(self, *command: str, name: str = "a", **resources: object) -> Order:
        where = Resources(**{"memory": "100M", "time": "5", **resources})  # type: ignore[arg-type] # as a test names them
        environment = {"WORD": HOSTILE, "run": "x", "word": "y", "UID": "z"}
        return Order(f"{self.prefix}-{name}", command, str(self.folder), str(self.folder), environment, where, "cf:j:1")

    def submit(self, *command: str, name: str = "a", **resources: object) -> Ticket:
        submission = self.slurm.submit(self.order(*command, name=name, **resources))
        assert isinstance(submission, Accepted), submission
        return submission.ticket

    def until(self, ticket: Ticket, *phases: Phase) -> Sighting:
        seen: list[Sighting] = []

        def is_there() -> bool:
            found = self.slurm.sight([ticket], time.time()).jobs.get(ticket.name)
            if found is not None:
                seen.append(found)
            return found is not None and found.phase in phases

        until(is_there)
        return seen[-1]

    def end(self, ticket: Ticket) -> Sighting:
        return self.until(ticket, Phase.ENDED)

    def begin_again(self, ticket: Ticket) -> None:
        """A requeued job waits for two minutes, and must not start while its first run is still being ended.

        A node refuses what starts in the very second in which it was ended.
        """
        until(lambda: (self.folder / "runs" / ticket.name / "status.json").exists())
        self.until(ticket, Phase.QUEUED)
        with clusters.acting_as_root():
            self.cluster.root("scontrol", "update", f"jobid={ticket.called}", "StartTime=now+1")

    def accounted(self, ticket: Ticket) -> Usage:
        """What accounting says of it, as soon as it does."""
        until(lambda: not self.end(ticket).may_grow)
        usage = self.end(ticket).usage
        assert usage is not None
        return usage


@pytest.fixture
def site(slurm_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("SLURM_CONF", slurm_cluster.slurm_conf)
    monkeypatch.setenv("HARMLESS", "but none of the job's business")
    folder = slurm_cluster.folder()
    with clusters.acting_as(slurm_cluster.user):
        yield Site(slurm_cluster, folder)


def test_words_and_values_arrive_byte_for_byte_and_run_nothing(site: Site) -> None:
    script = 'printf %s "$WORD" >value; printf %s "$1" >word; env -0 >environment'
    end = site.end(site.submit("sh", "-c", script, "sh", HOSTILE))

    assert (end.ending, end.exit_code) == (Ending.DONE, 0)
    assert [(site.folder / name).read_text() for name in ("value", "word")] == [HOSTILE, HOSTILE]
    assert not (site.folder / "touched").exists()
    seen = dict(line.split("=", 1) for line in (site.folder / "environment").read_text().split("\0")[:-1])
    assert [seen.get(name) for name in ("run", "word", "UID", "HARMLESS")] == ["x", "y", "z", None]


def test_an_end_has_its_exit_code_and_its_signal(site: Site) -> None:
    failed = site.end(site.submit("sh", "-c", "exit 3", name="a"))
    killed = site.end(site.submit("sh", "-c", "kill -SEGV $$", name="b"))

    assert [(end.ending, end.exit_code, end.signal) for end in (failed, killed)] == [
        (Ending.FAILED, 3, None),
        (Ending.FAILED, None, signal.SIGSEGV),
    ]


def _needs_accounting(site: Site) -> None:
    if not site.cluster.has_accounting:
        pytest.skip("this site keeps no accounts")


def test_what_a_job_took_is_measured_and_accounted(site: Site) -> None:
    """Its shell has one process that takes much memory, and for so short that only its parent knows of it."""
    hungry = "head -c 30000000 /dev/zero | tail >/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    ticket = site.submit("sh", "-c", hungry)
    measured = site.end(ticket).usage

    assert measured is not None
    assert ((measured.cpu_seconds or 0) > 0, (measured.max_rss_bytes or 0) >= 30_000_000) == (True, True)
    if site.cluster.has_accounting:
        accounted = site.accounted(ticket)
        assert ((accounted.cpu_seconds or 0) > 0, (accounted.max_rss_bytes or 0) >= 30_000_000) == (True, True)


def test_too_much_memory_has_a_word_of_its_own(site: Site) -> None:
    if not site.cluster.has_cgroup:
        pytest.skip("without cgroups a job over its memory is killed by a signal like any other")
    end = site.end(site.submit("sh", "-c", "head -c 300m /dev/zero | tail", memory="30M"))

    assert end.ending is Ending.OUT_OF_MEMORY


def test_too_much_time_has_a_word_of_its_own(site: Site) -> None:
    ticket = site.submit("sleep", "600", time="1")
    site.until(ticket, Phase.RUNNING)
    with clusters.acting_as_root():
        site.cluster.root("scontrol", "update", f"jobid={ticket.called}", "EndTime=now+1")

    assert site.end(ticket).ending is Ending.TIMEOUT


def test_a_lost_node_has_a_word_of_its_own(site: Site) -> None:
    ticket = site.submit("sleep", "600")
    node = site.until(ticket, Phase.RUNNING).node or ""
    with clusters.acting_as_root():
        site.cluster.lose(node)
    end = site.end(ticket)
    with clusters.acting_as_root():
        site.cluster.bring_back(node)

    assert end.ending is Ending.NODE_FAILED


def test_a_waiting_job_says_why_and_can_be_cancelled(site: Site) -> None:
    ticket = site.submit("true", arguments=("--hold",))
    waiting = site.until(ticket, Phase.QUEUED)
    site.slurm.cancel(ticket, is_urgent=False)

    assert (waiting.word, waiting.reason) == ("PENDING", "JobHeldUser")
    assert site.end(ticket).ending is Ending.CANCELLED


def test_two_jobs_of_one_name_run_one_payload_and_the_other_says_so(site: Site) -> None:
    first = site.submit("sh", "-c", "echo ran >>ran; sleep 1")
    second = site.submit("sh", "-c", "echo ran >>ran; sleep 1")
    ends = {site.end(ticket).ending for ticket in (first, second)}

    assert ends == {Ending.DONE, Ending.DUPLICATE}
    assert (site.folder / "ran").read_text() == "ran\n"


# these run for a second before they are requeued: Slurm fails a job that is requeued in the moment of its start


def test_a_requeued_job_does_not_run_its_payload_again(site: Site) -> None:
    ticket = site.submit("sh", "-c", "sleep 1; echo ran >>ran; sleep 60")
    until(lambda: (site.folder / "ran").exists())
    with clusters.acting_as_root():
        site.cluster.root("scontrol", "update", f"jobid={ticket.called}", "requeue=1")
        site.cluster.root("scontrol", "requeue", ticket.called)
    site.begin_again(ticket)

    assert site.end(ticket).ending is not Ending.DONE
    assert (site.folder / "ran").read_text() == "ran\n"


def test_a_job_that_may_restart_does(site: Site) -> None:
    ticket = site.submit("sh", "-c", "sleep 1; echo ran >>ran; [ $(wc -l <ran) = 2 ] || sleep 60", may_restart=True)
    until(lambda: (site.folder / "ran").exists())
    with clusters.acting_as_root():
        site.cluster.root("scontrol", "requeue", ticket.called)
    site.begin_again(ticket)

    assert site.end(ticket).ending is Ending.DONE
    assert (site.folder / "ran").read_text() == "ran\nran\n"


def test_cancelling_spares_a_job_of_another_name(site: Site) -> None:
    ticket = site.submit("sleep", "600")
    site.slurm.cancel(Ticket("cf-another", ticket.called), is_urgent=False)
    site.until(ticket, Phase.RUNNING)
    site.slurm.cancel(ticket, is_urgent=False)

    assert site.end(ticket).ending is Ending.CANCELLED


@pytest.mark.parametrize(
    ("resources", "may_pass"),
    [({"partition": "none"}, False), ({"constraint": "none"}, False), ({"memory": "9999G"}, False)],
)
def test_a_request_that_cannot_be_met_is_a_definite_no(
    site: Site, resources: dict[str, object], may_pass: bool
) -> None:
    said = site.slurm.submit(site.order("true", **resources))

    assert isinstance(said, Refused)
    assert said.may_pass is may_pass


def test_a_limit_of_submissions_may_pass(site: Site) -> None:
    _needs_accounting(site)
    tickets = [site.submit("true", name="a", account="tight", arguments=("--hold",))]
    said = site.slurm.submit(site.order("true", name="b", account="tight"))
    for ticket in tickets:
        site.slurm.cancel(ticket, is_urgent=False)

    assert isinstance(said, Refused)
    assert said.may_pass


def test_a_controller_that_holds_its_breath_leaves_it_open_and_the_job_is_found_afterwards(site: Site) -> None:
    order = site.order("sh", "-c", "echo ran >>ran")
    said: list[Submission] = []
    with clusters.acting_as_root():
        pid = int(Path(site.cluster.slurm_conf).parent.parent.joinpath("run", "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
    try:
        said.append(site.patient(2).submit(order))
        during = site.patient(2).find(order.name, time.time())
        look = site.patient(2).sight([], time.time())
    finally:
        with clusters.acting_as_root():
            os.kill(pid, signal.SIGCONT)
    assert isinstance(said[0], Unknown)
    assert (during.is_ok, during.tickets, look.is_ok) == (False, (), False)

    second = site.submit("sh", "-c", "echo ran >>ran")
    site.end(second)
    tickets = site.slurm.find(order.name, time.time() - 60).tickets
    assert second.called in {ticket.called for ticket in tickets}
    for ticket in tickets:
        site.end(ticket)
    assert (site.folder / "ran").read_text() == "ran\n"
