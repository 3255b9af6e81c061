"""The glossary and the code speak of the same things in the same words."""

import ast
import re
from collections.abc import Iterator

from tests.docs import pages
from tests.house import sources

GLOSSARY = pages.DOCS / "glossary.md"
COMING = "## Words for what is still to come"

_ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \|([^|]*)\|$", re.MULTILINE)
_PART = re.compile(r"[A-Z]?[a-z]+")


def test_every_word_of_the_glossary_is_used() -> None:
    text = " ".join(source.text for source in sources.product()).lower()

    assert [] == [word for word in _words() if word.lower() not in text]


def test_no_name_in_the_code_is_a_word_that_is_not_used_here() -> None:
    avoided = {word.strip() for _, others in _rows(GLOSSARY.read_text()) for word in others.split(",")} - {""}
    named = [(part, place) for source in sources.product() for place, part in _parts_of_names(source)]

    assert len(avoided) > 10
    assert [] == sorted({place for part, place in named if part in avoided})


def _words() -> list[str]:
    text = GLOSSARY.read_text()
    return [word for word, _ in _rows(text[: text.index(COMING)])]


def _rows(text: str) -> list[tuple[str, str]]:
    return [(word, others) for word, others in _ROW.findall(text) if word not in ("word", "---")]


def _parts_of_names(source: sources.Source) -> Iterator[tuple[str, str]]:
    """The words in the names of files, classes and functions, each with where it stands."""
    for part in _PART.findall(source.place):
        yield source.path, part.lower()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((source.at(node, node.name), part.lower()) for part in _PART.findall(node.name))
