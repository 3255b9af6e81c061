"""The list of stories tells of stories that there are, and of ends that were good."""

import ast

from tests.house.sources import ROOT
from tests.system import telling


def test_every_story_that_is_told_can_be_run_again() -> None:
    there = {
        telling.sentence(f"{path.relative_to(ROOT)}::{node.name}")[1].casefold()
        for path in (ROOT / "tests" / "system").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    rows = [line.split(" | ")[0].removeprefix("| ") for line in telling.PAGE.read_text().splitlines() if "| " in line]
    told = [row.partition(" (")[0].casefold() for row in rows if row not in ("story", "---")]

    assert [row for row in told if row not in there] == []
    assert len(told) > 20
    assert "**failed**" not in telling.PAGE.read_text()
