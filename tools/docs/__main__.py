"""Writes the generated pages, all or those named; with --check it says which ones are stale."""

import sys
from pathlib import Path

from tools.docs import ROLL_CALL, Page

DOCS = Path(__file__).parents[2] / "docs"


def main(arguments: list[str]) -> int:
    """The exit code: 0 when all is written or fresh, 1 when a page is stale, 2 when there is no such page."""
    names = [argument for argument in arguments if argument != "--check"]
    pages = {_name(page): page for page in ROLL_CALL}
    if unknown := sorted(set(names) - set(pages)):
        print(f"no page is called {', '.join(unknown)}; there are: {', '.join(pages) or 'none yet'}")
        return 2
    wanted = [pages[name] for name in names] or list(ROLL_CALL)
    return _check(wanted) if "--check" in arguments else _write(wanted)


def _name(page: Page) -> str:
    return page.__name__.rpartition(".")[2]


def _check(pages: list[Page]) -> int:
    stale = [page for page in pages if not _is_fresh(page)]
    for page in stale:
        print(f"docs/{page.PATH} is stale: make docs")
    return 1 if stale else 0


def _is_fresh(page: Page) -> bool:
    path = DOCS / page.PATH
    return path.exists() and path.read_text() == page.text()


def _write(pages: list[Page]) -> int:
    for page in pages:
        path = DOCS / page.PATH
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text())
        print(f"wrote docs/{page.PATH}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
