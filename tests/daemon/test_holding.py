"""Jobs between the server's word and this machine, when the two do not agree."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cableferry.client.answers import Job
from cableferry.daemon.config import Config, Processor
from cableferry.daemon.holding import Holding
from cableferry.daemon.journal import Journal
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Ticket


class Bench:
    """A worker's hands without its voice."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.journal = journal
        self.local = Local(folder / "runs")
        processors = {"echo": Processor(("sleep", "60"))}
        config = Config(worker_id="w1", server="", work_dir=str(folder), processors=processors)
        self.holding = Holding(config, journal, self.local)

    def told(self) -> list[str]:
        return [entry.report.status for entry in self.journal.outbox()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with closing(Journal(tmp_path / "journal.db")) as journal:
        bench = Bench(tmp_path, journal)
        yield bench
        for run in (tmp_path / "runs").iterdir():
            bench.local.cancel(Ticket(run.name, ""), is_urgent=True)


def _job(id_: str = "j1", attempt: int = 1, status: str = "CLAIMED") -> Job:
    return Job(id_, status, "echo", attempt=attempt, epoch=attempt)


def test_a_new_attempt_waits_until_the_earlier_one_has_ended_here(bench: Bench) -> None:
    bench.holding.take([_job()])
    bench.holding.advance()

    is_all = bench.holding.take([_job(attempt=2)])

    assert (is_all, [held.stop for held in bench.journal.held()]) == (False, ["server"])


def test_the_same_claim_told_twice_changes_nothing(bench: Bench) -> None:
    bench.holding.take([_job()])

    assert bench.holding.take([_job()]) is True
    assert [held.stop for held in bench.journal.held()] == [None]


def test_attempts_run_under_names_of_their_own(bench: Bench) -> None:
    bench.holding.take([_job(), _job("j2", attempt=3)])

    assert [held.name for held in bench.journal.held()] == ["j1", "j2-a3"]


@pytest.mark.parametrize("id_", ["../j1", "", ".", "a/b", "a\nb", "x" * 200])
def test_an_id_that_is_no_name_for_a_folder_is_ignored(bench: Bench, id_: str) -> None:
    bench.holding.take([_job(id_)])
    bench.holding.recover([_job(id_)])

    assert bench.holding.ids() == frozenset()


def test_a_job_stopped_before_its_start_is_never_started(bench: Bench, tmp_path: Path) -> None:
    bench.holding.take([_job()])
    bench.holding.stop(["j1"])
    bench.holding.advance()
    bench.holding.forget_told()

    assert bench.holding.ids() == frozenset()
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_claim_whose_answer_was_lost_is_started_after_all(bench: Bench) -> None:
    bench.holding.recover([_job()])
    bench.holding.advance()

    assert bench.told() == ["SUBMITTED", "STARTED"]


@pytest.mark.parametrize(
    ("status", "told"), [("CLAIMED", ["SUBMITTED", "STARTED"]), ("SUBMITTED", ["STARTED"]), ("STARTED", [])]
)
def test_a_job_that_runs_here_is_adopted_and_only_the_news_is_told(
    bench: Bench, tmp_path: Path, status: str, told: list[str]
) -> None:
    bench.holding.take([_job()])
    bench.holding.advance()
    with closing(Journal(tmp_path / "another.db")) as empty:
        other = Bench(tmp_path, empty)
        other.holding.recover([_job(status=status)])

        assert (other.told(), other.holding.ids()) == (told, frozenset({"j1"}))


def test_an_ended_job_is_held_until_all_of_it_is_told(bench: Bench) -> None:
    bench.holding.recover([_job(status="STARTED")])
    bench.holding.forget_told()
    before = bench.holding.ids()
    bench.journal.told([entry.number for entry in bench.journal.outbox()])
    bench.holding.forget_told()

    assert (before, bench.holding.ids()) == (frozenset({"j1"}), frozenset())
