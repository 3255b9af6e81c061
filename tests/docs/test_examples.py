"""The requests that the pages show are sent to a real server, and answered as the pages say."""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Client, Reply
from tests.docs import pages
from tests.docs.pages import Block

PAGES = [page for page in pages.by_hand() if any(block.language == "http" for block in pages.blocks(page))]
ANYTHING = "…"

Value = object


@pytest.mark.parametrize("page", PAGES, ids=pages.name)
def test_a_server_answers_as_the_page_says(page: Path, tmp_path: Path) -> None:
    names: dict[str, str] = {}

    with servers.running(servers.settings_in(tmp_path)) as server:
        for request, answer in _pairs(page):
            reply = _send(server.client(), _filled(request.text, names))
            assert answer.info == f"json {reply.status}", (request.text, reply.body)
            assert [] == list(_missing(json.loads(answer.text), reply.json, names, "")), (request.text, reply.body)


def test_some_page_shows_requests() -> None:
    assert "docs/extensions.md" in [pages.name(page) for page in PAGES]


def _pairs(page: Path) -> Iterator[tuple[Block, Block]]:
    """Each request with the answer that stands below it."""
    shown = [block for block in pages.blocks(page) if block.language in ("http", "json")]
    for request, answer in itertools.pairwise(shown):
        if request.language == "http":
            assert answer.language == "json", f"no answer below {request.text}"
            yield request, answer


def _send(client: Client, text: str) -> Reply:
    head, _, body = text.partition("\n\n")
    first, *lines = head.strip().splitlines()
    method, target = first.split(" ", 1)
    return client.call(method, target, body.encode() or None, dict(line.split(": ", 1) for line in lines))


def _filled(text: str, names: dict[str, str]) -> str:
    """`$first` becomes what an earlier answer had where the page says `$first`."""
    return re.sub(r"\$(\w+)", lambda found: names.get(found[1], found[0]), text)


def _missing(wanted: Value, got: Value, names: dict[str, str], place: str) -> Iterator[str]:
    """Where the answer does not hold what the page shows."""
    match wanted:
        case dict() if isinstance(got, dict):
            for key, value in wanted.items():
                yield from _missing(value, got.get(key), names, f"{place}.{key}")
        case list() if isinstance(got, list) and len(wanted) == len(got):
            for position, value in enumerate(wanted):
                yield from _missing(value, got[position], names, f"{place}[{position}]")
        case str() if wanted.startswith("$"):
            if names.setdefault(wanted[1:], str(got)) != got:
                yield f"{place}: {got} is not {wanted}"
        case _ if wanted == ANYTHING:
            if got is None:
                yield f"{place}: nothing there"
        case _ if wanted != got:
            yield f"{place}: {got} is not {wanted}"
