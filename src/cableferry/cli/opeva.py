"""The commands about the folder that workers share with the server; they work on the database itself."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cableferry.cli import output, place
from cableferry.cli.commands import command
from cableferry.cli.exits import Exit, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cableferry.dialects.opeva.contract import Contract
    from cableferry.server.settings import Settings


@command(
    "rebuild",
    "Write all files of the shared folder anew from the database, beside a running server or without one.",
    "cableferry opeva rebuild --config server.toml",
)
@place.options
def rebuild(settings: "Settings", as_json: bool) -> None:
    from cableferry.dialects.opeva import showing

    with _contract(settings) as ours:
        shown, trouble = showing.rebuild(ours)
        folder = str(ours.share.root)
    if trouble is not None:
        raise Failure(trouble, Exit.OTHER)
    if as_json:
        output.document({"folder": folder, "jobs": shown})
    else:
        click.echo(f"{folder} shows {shown} jobs")


@command(
    "import",
    "Take over the jobs of a tree that another server has written; those that are known already stay as they are.",
    "cableferry opeva import --config server.toml\ncableferry opeva import /mnt/old_shared_data --json",
)
@click.argument("tree", type=click.Path(path_type=Path, exists=True, file_okay=False), required=False)
@place.options
def import_(settings: "Settings", tree: Path | None, as_json: bool) -> int:
    from cableferry.dialects.opeva import trees
    from cableferry.store.share import Share

    with _contract(settings) as ours:
        imported = trees.take_over(ours, Share(tree) if tree else ours.share)
    if as_json:
        output.document(imported._asdict())
    else:
        click.echo(f"{len(imported.taken)} jobs were taken over, {len(imported.known)} were known already")
        for job, why in imported.unreadable.items():
            click.echo(f"{output.text(job)} cannot be read: {output.text(why)}")
    return Exit.OTHER if imported.unreadable else Exit.OK


@contextmanager
def _contract(settings: "Settings") -> "Iterator[Contract]":
    from cableferry.cli import logs
    from cableferry.server.opeva import Opeva

    logs.begin(as_json=False)
    with place.opened(settings) as store:
        yield Opeva(settings, store).contract


opeva = click.Group(
    "opeva",
    commands=[rebuild, import_],
    help="Look after the folder that container workers share with the server.",
    no_args_is_help=True,
)
