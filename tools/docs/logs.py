"""Every log line with its level, its fields and its meaning."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cableferry
from tools.docs import events, markdown

PATH = "logs.md"
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")


class Line(NamedTuple):
    """One call that writes to the log."""

    event: str
    level: str
    fields: tuple[str, ...]


def text() -> str:
    return markdown.page(
        "Logs",
        "The server writes one line per request and one for what an operator should know, to its standard output.\n"
        "`log.format` chooses between one JSON object per line and lines for people.\n"
        "Every line has the time, the level and the event; the other fields are those below.\n"
        "No line holds a secret or a body.\n"
        "`request` is the caller's `X-Request-Id`; `trace` is the same in every line of one request, comes from"
        " `traceparent` when the caller sent one, and goes back as `X-Trace-Id`.",
        markdown.table(("event", "level", "fields", "means"), [_row(line) for line in sorted(written())]),
        "`request answered` has these fields as far as they are known: method, route, status, ms, request, trace,"
        " bytes_in, bytes_out, caller, job, worker, and the kind of a refusal.",
    )


def written() -> set[Line]:
    """Every line that the product can write."""
    package = Path(cableferry.__file__).parent
    return {line for file in package.rglob("*.py") for line in lines(ast.parse(file.read_text()))}


def lines(tree: ast.Module) -> Iterator[Line]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="log"), attr=level),
                args=[ast.Constant(value=str(event)), *_],
                keywords=keywords,
            ) if level in LEVELS:
                fields = tuple(keyword.arg for keyword in keywords if keyword.arg is not None)
                yield Line(event, "error" if level == "exception" else level, fields)


def _row(line: Line) -> tuple[str, str, str, str]:
    return line.event, line.level, ", ".join(line.fields), events.TOLD.get(line.event, "")
