"""The command that shows one job going from submit to its output."""

import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from cableferry.cli import output
from cableferry.cli.commands import command

if TYPE_CHECKING:
    from cableferry.cli.stage import Shown


@command(
    "demo",
    "Start a server and a worker here, with authentication on, and follow one job to its output.",
    "cableferry demo\ncableferry demo --keep --dir ./demo-data",
)
@click.option("--dir", "folder", type=click.Path(file_okay=False, path_type=Path), help="Where to keep it all.")
@click.option("--keep/--no-keep", default=None, help="Leave the server running until Ctrl-C.  [on a terminal]")
def demo(folder: Path | None, keep: bool | None, as_json: bool) -> None:
    from cableferry.cli import stage

    began = time.monotonic()
    signal.signal(signal.SIGTERM, _leave)
    with _folder(folder) as place, stage.raised(place) as (server, client):
        click.echo(f"server and worker are running: {server}", err=True)
        shown = stage.play(client, place)
        stays = keep if keep is not None else sys.stdout.isatty() and not as_json
        if as_json:
            output.document({**shown.document(), "server": server, "seconds": round(time.monotonic() - began, 2)})
        else:
            _tell(shown, server)
        if stays:
            _stay(server, place)
        elif not as_json:
            click.echo("Both stop now: `cableferry demo --keep` leaves them running until Ctrl-C.")


def _leave(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends the demo as Ctrl-C does: everything it started is stopped."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield given.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="cableferry-demo-") as name:
        yield Path(name)


def _tell(shown: "Shown", server: str) -> None:
    click.echo(f"\nThe job's history (cableferry jobs history {shown.job.id}):\n")
    rows = [(row.timestamp, row.from_status, row.to_status, row.actor, row.detail) for row in shown.history]
    output.columns(("TIME", "FROM", "TO", "BY", "DETAIL"), rows)
    click.echo(f"\nIts output ({shown.file}):\n\n  {output.text(shown.content)}\n")
    click.echo(f"The dashboard: {server}/  (the contract: {server}/api/hpc/docs)")


def _stay(server: str, place: Path) -> None:
    from cableferry.cli.stage import OWNER

    click.echo(f"Sign in as {OWNER} with the password in {place / 'password'}.")
    click.echo(f"To ask it yourself: export CABLEFERRY_SERVER={server} CABLEFERRY_TOKEN=$(cat {place / 'token'})")
    click.echo("\nCtrl-C stops the server and the worker.", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
