"""Tells which stories took place, how long each took, and what came through the firewall meanwhile."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from tests.house.sources import ROOT

PAGE = ROOT / "docs" / "stories.md"
# what took place last, so that a story can be told again without all the others
_KEPT = ROOT / "build" / "stories.json"
KEY = "story"
_FAILED = " **failed**"
_ID = re.compile(r"(?P<file>[^:]+)::test_(?P<name>\w+)(?:\[(?P<case>[^]]*)\])?")
_HEAD = """# Stories on a real cluster

Each of these is a test with a real server, a real Slurm with real Apptainer, and a daemon of an ordinary user.
`make stories` runs them and writes this page; `make test` runs them too.
{where}
The seconds are those of one run on a small machine with other work on it: they show what is quick and what is not.
"""
_BEHIND = """
The server is in one network and the cluster with its daemon in another.
The firewall between them refuses every connection that somebody begins from outside, and every one that begins inside and does not go to the server; it counts all of them.
Under "out" are the connections that were begun from inside to the server, under "in" those that anybody tried to begin from outside.
"""  # noqa: E501  # one sentence, one line


class Story(msgspec.Struct, frozen=True):
    """One that took place; without a firewall nothing was counted."""

    file: str
    sentence: str
    is_good: bool
    seconds: float
    passed: Mapping[str, int]


def sentence(nodeid: str) -> tuple[str, str]:
    """The file of a test, and what its name says."""
    found = _ID.fullmatch(nodeid.partition("@")[0])
    if found is None:
        return nodeid, ""
    case = f" ({', '.join(found['case'].split('-'))})" if found["case"] else ""
    return found["file"], found["name"].replace("_", " ") + case


def stories(reports: Iterable[pytest.TestReport]) -> list[Story]:
    """In the order of files and, within each, of running."""
    seconds: dict[str, float] = {}
    good: dict[str, bool] = {}
    passed: dict[str, Mapping[str, int]] = {}
    for report in reports:
        id_ = report.nodeid
        good[id_] = good.get(id_, True) and report.passed
        # the first story's set-up starts the cluster for all of them
        seconds[id_] = seconds.get(id_, 0) + (0 if report.when == "setup" else report.duration)
        passed.update((id_, value) for name, value in report.user_properties if name == KEY and isinstance(value, dict))
    told = [Story(*sentence(id_), good[id_], seconds[id_], passed[id_]) for id_ in passed]
    return sorted(told, key=lambda story: story.file)


def transcript(told: list[Story]) -> Iterator[str]:
    """What the firewall counted, summed up."""
    knocking = [story for story in told if story.passed.get("inbound")]
    yield f"stories behind the firewall           {len(told):>6}"
    yield f"connections from inside to the server {_sum(told, 'outbound'):>6}"
    yield f"connections from inside elsewhere     {_sum(told, 'outbound_refused'):>6}"
    yield f"connections towards the inside        {_sum(told, 'inbound'):>6}"
    for story in knocking:
        yield f"  of these, tried on purpose by a story, and refused: {story.passed['inbound']}"


def write(told: list[Story]) -> None:
    """The page, with what earlier runs of this checkout know of other stories."""
    earlier = msgspec.json.decode(_KEPT.read_bytes(), type=list[Story]) if _KEPT.exists() else []
    known = {(story.file, story.sentence): story for story in (*earlier, *told) if (ROOT / story.file).exists()}
    _KEPT.parent.mkdir(exist_ok=True)
    _KEPT.write_bytes(msgspec.json.encode(list(known.values())))
    PAGE.write_text(page(sorted(known.values(), key=lambda story: story.file)))


def page(told: list[Story]) -> str:
    is_behind = any(story.passed for story in told)
    parts = [_HEAD.format(where=_BEHIND if is_behind else "")]
    for file in dict.fromkeys(story.file for story in told):
        parts.append(f"\n## {_title(ROOT / file)}\n\n| story | seconds | out | in |\n| --- | --- | --- | --- |\n")
        parts += [_row(story) for story in told if story.file == file]
    if is_behind:
        parts.append("\n## What the firewall counted\n\n```text\n" + "\n".join(transcript(told)) + "\n```\n")
    return "".join(parts)


def _row(story: Story) -> str:
    words = story.sentence[0].upper() + story.sentence[1:] + ("" if story.is_good else _FAILED)
    return f"| {words} | {story.seconds:.1f} | {_said(story, 'outbound')} | {_said(story, 'inbound')} |\n"


def _said(story: Story, name: str) -> str:
    return str(story.passed.get(name, ""))


def _sum(told: list[Story], name: str) -> int:
    return sum(story.passed.get(name, 0) for story in told)


def _title(file: Path) -> str:
    first = (ast.get_docstring(ast.parse(file.read_text())) or file.stem).partition("\n")[0]
    return first.rstrip(".")
