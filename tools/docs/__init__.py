"""The roll-call of the pages of docs/ that are written from code."""

from typing import Protocol

from tools.docs import cli, crash_matrix, endpoints, errors, failures, logs, metrics, settings, statements, states


class Page(Protocol):
    """A module of this package: where it goes below docs/, and what it says."""

    __name__: str
    PATH: str

    def text(self) -> str:
        """The whole page."""


ROLL_CALL: tuple[Page, ...] = (
    states, endpoints, errors, settings, cli, metrics, logs, statements, crash_matrix, failures,
)  # fmt: skip
MECHANISM = ("deaths", "events", "markdown", "played", "refusals")
