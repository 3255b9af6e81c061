"""The commands about the database."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cableferry.cli import output, place
from cableferry.cli.commands import command
from cableferry.cli.exits import Exit

if TYPE_CHECKING:
    from cableferry.server.settings import Settings


@command("upgrade", "Make the database, or bring it to this program's version.", "cableferry db upgrade")
@place.options
def upgrade(settings: "Settings", as_json: bool) -> None:
    from cableferry.store import connect

    with place.told():
        applied = connect.upgrade_database(settings.database_url)
    if as_json:
        output.document({"applied": applied})
    else:
        click.echo("\n".join(f"applied {name}" for name in applied) or "the database is up to date")


@command("check", "Look for damage; exit code 1 says that there is some.", "cableferry db check --json")
@place.options
def check(settings: "Settings", as_json: bool) -> int:
    from cableferry.store import check as checking

    with place.opened(settings) as store:
        checkup = checking.check(store)
    if as_json:
        output.document(checkup)
    else:
        click.echo(f"the database is at version {checkup.version} ({checkup.name})")
        click.echo("\n".join(checkup.problems) or "nothing is wrong with it")
    return Exit.OTHER if checkup.problems else Exit.OK


@command("backup", "Copy the database in use to a new FILE, mode 0600.", "cableferry db backup /backups/ferry.db")
@click.argument("file", type=click.Path(path_type=Path))
@place.options
def backup(settings: "Settings", file: Path, as_json: bool) -> None:
    from cableferry.store import backup as backups

    with place.told():
        backups.backup(settings.database_url, file)
    size = file.stat().st_size
    if as_json:
        output.document({"file": str(file), "bytes": size})
    else:
        click.echo(f"{file} holds the database ({size} bytes)")


db = click.Group(
    "db", commands=[upgrade, check, backup], help="Upgrade, check and back up the database.", no_args_is_help=True
)
