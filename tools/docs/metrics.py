"""Every metric that `/metrics` shows, with its type and its meaning."""

import inspect
import re
from datetime import UTC, datetime
from typing import get_args

from cableferry.daemon import metrics as daemon_metrics
from cableferry.server import metrics
from tools.docs import markdown

PATH = "metrics.md"

_COMMENTED = re.compile(r'^    "(\w+)",  # (.+)$', re.MULTILINE)
_TYPED = re.compile(r"^# TYPE (\w+) (\w+)$", re.MULTILINE)


def text() -> str:
    return markdown.page(
        "Metrics",
        "What `/metrics` tells Prometheus.\n"
        "Unless `metrics.public` is set, it answers callers on the same machine only.\n"
        "Numbers about jobs come from the database and are the same at every server process;"
        " the others are those of one process.\n"
        "[Watching a server](how-to/watch.md) shows which of them to alert on.",
        markdown.table(("metric", "type", "means"), [_row(name) for name in get_args(metrics.Name)]),
        "## The daemon's",
        "What the daemon on a head node tells, in a file or on a port of its machine,"
        " as [its configuration](how-to/run-a-daemon.md) says.\n"
        "A summary has a sum and a count: their rates, divided, are the mean.",
        markdown.table(
            ("metric", "type", "means"),
            [
                (markdown.code(each.name), each.kind, f"{each.meaning[0].upper()}{each.meaning[1:]}.")
                for each in daemon_metrics.EVERY
            ],
        ),
    )


def comments() -> dict[str, str]:
    """The comment that stands behind each name."""
    return dict(_COMMENTED.findall(inspect.getsource(metrics)))


def _row(name: str) -> tuple[str, str, str]:
    shown, kind = next((found, kind) for found, kind in _types() if found in (name, f"{name}_total"))
    meaning = comments()[name]
    return markdown.code(shown), kind, f"{meaning[0].upper()}{meaning[1:]}."


def _types() -> list[tuple[str, str]]:
    page = metrics.Metrics(lambda: 0).page(metrics.Observed({}, None, datetime(2000, 1, 1, tzinfo=UTC)))
    return _TYPED.findall(page.decode())
