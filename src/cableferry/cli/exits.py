"""Exit codes: what each says, and which trouble ends with which."""

from enum import IntEnum

import click


class Exit(IntEnum):
    """Part of the contract with scripts; docs/cli.md shows the table."""

    OK = 0
    OTHER = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    REFUSED = 5
    UNAUTHENTICATED = 6
    UNREACHABLE = 7
    JOB_FAILED = 8
    TIMEOUT = 9
    INTERRUPTED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "it was done",
    Exit.OTHER: "something else went wrong; the message says what",
    Exit.USAGE: "the command line or a file it names makes no sense",
    Exit.NOT_FOUND: "the job, worker, user, token or credential is not there",
    Exit.CONFLICT: "it is there, but not in a state that allows this",
    Exit.REFUSED: "the server understood and refuses: not allowed, not valid or too often",
    Exit.UNAUTHENTICATED: "the server does not know who is asking",
    Exit.UNREACHABLE: "no server answered, or it cannot serve for now",
    Exit.JOB_FAILED: "the awaited job ended, but not as COMPLETED",
    Exit.TIMEOUT: "the awaited job had not ended when `--max-wait` was over",
    Exit.INTERRUPTED: "Ctrl-C",
}


class Failure(click.ClickException):
    """The end of a command that could not do what it was asked."""

    def __init__(self, message: str, code: Exit, problem: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.problem = problem


def code(error: click.ClickException) -> int:
    return error.code if isinstance(error, Failure) else error.exit_code


def problem(error: click.ClickException) -> dict[str, object]:
    """The problem document of an error, for `--json`."""
    told = error.problem if isinstance(error, Failure) else None
    return told or {"type": "about:blank", "title": type(error).__name__, "detail": error.format_message()}
