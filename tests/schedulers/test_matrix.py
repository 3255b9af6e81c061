"""What make cluster-matrix makes of its runs: which there are, how each went, and the page that tells of them."""

from pathlib import Path

import pytest

from tools import matrix
from tools.matrix import Cell, Outcome

WITH, WITHOUT = Cell("trixie", "slurmdbd"), Cell("trixie", "none")
XML = """<testsuites><testsuite>
<testcase classname="tests.system.test_jobs" name="test_a_job_ends"/>
<testcase classname="tests.system.test_jobs" name="test_a_job_ends[at|once]"><error>x</error></testcase>
<testcase classname="tests.system.test_jobs" name="test_a_job_ends[at|once]"/>
<testcase classname="tests.system.test_jobs" name="test_of_accounts"><skipped/></testcase>
</testsuite></testsuites>"""


def test_every_version_is_run_with_accounting_and_without() -> None:
    assert len(matrix.SUITES) * 2 == len(list(matrix.chosen([])))
    assert [WITH, WITHOUT, Cell("sid", "none")] == list(matrix.chosen(["sid:none", "trixie"]))
    assert [] == list(matrix.chosen(["buster"]))


def test_each_cell_has_a_cluster_of_its_own_and_its_commands_run_there() -> None:
    assert 6 == len({cell.folder for cell in matrix.chosen([])})
    command = WITHOUT.command("sinfo", "-h")
    assert ["trixie", "sinfo", "-h"] == [command[1], *command[-2:]]
    assert {f"CLUSTER_DIR={WITHOUT.folder}", "CLUSTER_ACCOUNTING=none"} <= set(command)


def test_a_story_that_failed_in_any_part_failed(tmp_path: Path) -> None:
    (tmp_path / "xml").write_text(XML)

    told = {"jobs: a job ends": "passed", "jobs: a job ends (at once)": "failed", "jobs: of accounts": "skipped"}
    assert told == matrix.read(tmp_path / "xml")


@pytest.mark.parametrize(
    ("stories", "is_good"),
    [({"a": "passed", "b": "skipped"}, True), ({"a": "passed", "b": "failed"}, False), ({"b": "skipped"}, False)],
)
def test_a_cell_in_which_nothing_passed_is_no_success(stories: dict[str, str], is_good: bool) -> None:
    assert is_good is Outcome(WITH, "24.11.5", stories, 1).is_good


def test_the_page_tells_of_each_story_on_each_version() -> None:
    told = matrix.page([Outcome(WITH, "24.11.5", {"a": "passed"}, 61), Outcome(WITHOUT, "24.11.5", {"a": "failed"}, 9)])

    assert "| 24.11.5 | slurmdbd | 1 | 0 | 0 |" in told
    assert "| story | 24.11.5 | 24.11.5, no accounting |" in told
    assert "| a | yes | **no** |" in told
