"""What every command has in common: `--json`, and trouble turned into an exit code."""

from collections.abc import Callable
from typing import TypeVar

import click

from cableferry.cli.exits import Exit, Failure

F = TypeVar("F", bound=Callable[..., object])

# libraries of extras other than the server's own
_EXTRAS = {"psycopg": "postgres", "opentelemetry": "otel"}

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, and errors as JSON too.")


class Command(click.Command):
    """A command whose troubles end in a sentence and an exit code, not in a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        from cableferry.cli import troubles

        try:
            return super().invoke(ctx)
        except troubles.KNOWN as error:
            raise troubles.failure(error) from error
        except ModuleNotFoundError as error:
            raise _missing(error) from error


def _missing(error: ModuleNotFoundError) -> Exception:
    """A library of an extra that is not installed, as a sentence; anything else is a bug."""
    library = (error.name or "").partition(".")[0]
    if library in ("", "cableferry"):
        return error
    extra = _EXTRAS.get(library, "server")
    return Failure(f"this needs {library}, which is not installed: pip install 'cableferry[{extra}]'", Exit.OTHER)


def command(name: str, summary: str, examples: str = "") -> Callable[[Callable[..., object]], Command]:
    """A command with its help text and examples as they are typed."""
    epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples.split("\n")) if examples else None

    def make(function: Callable[..., object]) -> Command:
        made = click.command(name, cls=Command, help=summary, epilog=epilog)(as_json(function))
        return made

    return make


def usage(message: str) -> Failure:
    return Failure(message, Exit.USAGE)
