"""What commands print: one JSON document for programs, or columns and fields for people."""

import re
from collections.abc import Iterable, Sequence

import click
import msgspec

# a job's text may hold anything, and a terminal obeys some of it
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def document(value: object) -> None:
    """One JSON document, laid out for reading."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def ignore(value: object) -> None:
    """For what is told in one document at the end."""


def line(value: object) -> None:
    """One JSON document of several, each on its own line as it happens."""
    click.echo(msgspec.json.encode(value))


def listing(items: Sequence[object]) -> None:
    document({"items": items, "count": len(items)})


def columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under their names, as wide as they need to be."""
    cells = [list(names)] + [[text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def fields(values: Iterable[tuple[str, object]]) -> None:
    """What is known, one field per line."""
    known = [(name, text(value)) for name, value in values if value is not None]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        click.echo(f"{name.ljust(width)}  {value}")


def harmless(text: str) -> str:
    """A line for a terminal, its tabs kept."""
    return _CONTROL.sub("?", text)


def text(value: object) -> str:
    """A value for a terminal: whatever would move its cursor becomes a question mark."""
    if value is None:
        return "-"
    shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return _CONTROL.sub("?", shown).replace("\n", " ").replace("\t", " ")
