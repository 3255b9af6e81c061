"""Groups of commands that are imported when one of them is called, not when they are listed."""

import importlib
from collections.abc import Mapping
from typing import NamedTuple

import click


class Place(NamedTuple):
    """Where a command stands, and the line that help shows of it."""

    module: str
    name: str
    summary: str


class Group(click.Group):
    """A group over a written list of commands."""

    def __init__(self, name: str, places: Mapping[str, Place], summary: str, epilog: str | None = None) -> None:
        super().__init__(name, help=summary, epilog=epilog, no_args_is_help=True)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self.places.get(cmd_name)
        if place is None:
            return None
        command = getattr(importlib.import_module(f"cableferry.cli.{place.module}"), place.name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in self.places.items()])
