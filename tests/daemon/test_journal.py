"""What a worker remembers over its own death."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cableferry.daemon.held import Held, Stage
from cableferry.daemon.journal import Journal
from cableferry.wire.emx2.bodies import TransitionBody

HELD = Held(id="j1", name="cf-j1-a1", folder="j1", processor="echo", stage=Stage.STARTED, epoch=2)
Notes = Journal[Held, TransitionBody]
Open = Callable[[], Notes]


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Open]:
    opened: list[Notes] = []

    def reopen() -> Notes:
        for journal in opened:
            journal.close()
        opened[:] = [Journal(tmp_path / "journal.db", Held, TransitionBody)]
        return opened[0]

    yield reopen
    opened[0].close()


def test_jobs_and_untold_reports_are_there_after_a_restart(reopened: Open) -> None:
    reopened().note(HELD, [TransitionBody("SUBMITTED", epoch=2), TransitionBody("STARTED", epoch=2)])

    journal = reopened()

    assert journal.held() == [HELD]
    assert [entry.report.status for entry in journal.outbox()] == ["SUBMITTED", "STARTED"]
    assert journal.untold() == {"j1"}


def test_what_was_told_is_not_told_again(reopened: Open) -> None:
    journal = reopened()
    journal.note(HELD, [TransitionBody("SUBMITTED"), TransitionBody("STARTED")])

    journal.told([journal.outbox()[0].number])

    assert [entry.report.status for entry in journal.outbox()] == ["STARTED"]


def test_a_forgotten_job_leaves_nothing(reopened: Open) -> None:
    journal = reopened()
    journal.note(HELD, [TransitionBody("SUBMITTED")])

    journal.forget("j1")

    assert (journal.held(), journal.outbox()) == ([], [])


def test_a_fact_stays_what_it_was(reopened: Open) -> None:
    reopened().fact("session", "first")

    assert reopened().fact("session", "second") == "first"


def test_every_change_is_on_the_disk_when_it_is_made(reopened: Open) -> None:
    journal = reopened()

    assert journal._db.execute("pragma synchronous").fetchone() == (2,)


def test_attempts_are_counted_for_servers_that_do_not(reopened: Open) -> None:
    journal = reopened()

    assert [journal.last_attempt("j1"), journal.next_attempt("j1"), journal.next_attempt("j1")] == [1, 1, 2]
    assert reopened().last_attempt("j1") == 2


def test_a_journal_of_an_older_and_of_a_newer_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path, Held, TransitionBody).close()
    least = b'{"id": "old", "name": "cf-old-a1", "folder": "old", "processor": "p", "stage": "started", "called": "7"}'
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("insert into held values ('old', ?)", (least,))
        db.execute("insert into held values ('new', ?)", (least.replace(b"}", b', "not_known_yet": [1]}'),))
        report = b'{"status": "SUBMITTED", "not_known_yet": 1}'
        db.execute("insert into outbox (job, body) values ('old', ?)", (report,))
        db.commit()

    with contextlib.closing(Journal(path, Held, TransitionBody)) as journal:
        assert [(held.stage, held.called) for held in journal.held()] == [(Stage.STARTED, "7")] * 2
        assert [entry.report.status for entry in journal.outbox()] == ["SUBMITTED"]
