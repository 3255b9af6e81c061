"""The pages of the documentation, as these tests read them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.house.sources import ROOT
from tools.docs import ROLL_CALL

DOCS = ROOT / "docs"
GENERATED = frozenset(DOCS / page.PATH for page in ROLL_CALL)

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """One fenced block: what stands behind the fence, and the text in it."""

    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.partition(" ")[0]

    @property
    def marks(self) -> frozenset[str]:
        """The words behind the language: `bash run` is a block that the tests run."""
        return frozenset(self.info.split()[1:])


def every() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def by_hand() -> list[Path]:
    return [page for page in every() if page not in GENERATED]


def blocks(page: Path) -> list[Block]:
    return [Block(info, text) for info, text in _FENCE.findall(page.read_text())]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    yield from _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The fragments that links can go to, as they are made from headings."""
    return {_anchor(heading) for heading in _HEADING.findall(prose(page))}


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
