"""Small pieces of Markdown that the generated pages are made of."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- written by `make docs` from the code: change it there -->"


def page(title: str, *blocks: str) -> str:
    """A whole page: its title, the note that it is generated, and its blocks with a line between each."""
    return "\n\n".join([f"# {title}", NOTE, *(block.strip("\n") for block in blocks if block)]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """One line per row; a bar inside a cell is escaped."""
    lines = [_row(header), _row(["---"] * len(header)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """Something to be typed or read literally; nothing for nothing."""
    return f"`{text}`" if text not in (None, "") else ""


def block(language: str, text: str) -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```"


def sentences(text: str) -> str:
    """A docstring as the pages write prose: without its line breaks."""
    return " ".join(text.split())
