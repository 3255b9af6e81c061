"""The pages hold together: links lead somewhere, each is reachable, and sentences have lines of their own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs import pages

SECOND_SENTENCE = re.compile(r"[a-z0-9)`][.!?] +[A-Z`]")
NUMBER = re.compile(r"^\d+\. ")
ABBREVIATIONS = ("e.g.", "i.e.", "etc.")


@pytest.mark.parametrize("page", pages.every(), ids=pages.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [] == list(_dead(page))


def _dead(page: Path) -> Iterator[str]:
    for link in pages.links(page):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            yield link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {pages.every()[0]}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        found = {(page.parent / link.partition("#")[0]).resolve() for link in pages.links(page)}
        new = {target for target in found - reached if target.suffix == ".md" and target.exists()}
        reached |= new
        waiting += new

    assert set() == {pages.name(page) for page in pages.every() if page not in reached}


@pytest.mark.parametrize("page", pages.by_hand(), ids=pages.name)
def test_every_sentence_has_its_own_line(page: Path) -> None:
    prose = [NUMBER.sub("", line) for line in pages.prose(page).splitlines() if not line.startswith("|")]

    assert [] == [line for line in prose if SECOND_SENTENCE.search(line) and not _is_abbreviated(line)]


def _is_abbreviated(line: str) -> bool:
    return any(abbreviation in line for abbreviation in ABBREVIATIONS)
