"""Nothing can go wrong that the operator's pages do not tell of."""

import re

from cableferry.core.jobs import Cause
from cableferry.schedulers.protocol import Ending
from tests.docs import pages
from tools.docs import deaths, failures, played


def test_every_cause_has_its_row() -> None:
    assert list(Cause) == list(failures.JOBS)


def test_every_ending_has_its_row_but_those_of_the_program_itself() -> None:
    assert set(Ending) - {Ending.DONE, Ending.FAILED} == set(failures.SCHEDULER)


def test_every_complaint_of_the_daemon_has_its_row() -> None:
    assert failures.complaints() == set(failures.DAEMON)


def test_every_cell_of_the_crash_matrix_says_what_is_seen_of_it() -> None:
    cells = played.read().cells

    assert [cell.what for cell in cells if deaths.told(cell.what) is None] == []


def test_the_published_matrix_has_no_fault() -> None:
    cells = played.read().cells

    assert [cell for cell in cells if not cell.is_good] == []
    assert len(cells) > 200


def test_every_setting_that_a_row_names_is_one() -> None:
    named = set(re.findall(r"`(timeouts\.\w+|worker\.\w+|slurm\.\w+|apptainer\.\w+)`", failures.text()))
    settings = (pages.DOCS / "settings.md").read_text()
    daemon = (pages.DOCS / "how-to" / "run-a-daemon.md").read_text()

    assert named
    assert [name for name in named if f"`{name}`" not in settings and f"`{name.partition('.')[2]}`" not in daemon] == []
