"""The command that runs a small worker on this machine."""

from pathlib import Path

import click

from cableferry.cli.commands import command, usage


@command(
    "local-worker",
    "Run jobs as commands on this machine until SIGTERM or Ctrl-C; running jobs are left alone and found again.",
    "cableferry local-worker --config worker.toml",
)
@click.option("--config", "file", type=click.Path(path_type=Path), required=True, help="The worker's settings (TOML).")
def local_worker(file: Path, as_json: bool) -> None:
    from cableferry.cli import daemons, logs
    from cableferry.daemon import worker_file
    from cableferry.daemon.config import BadConfig

    logs.begin(as_json)
    try:
        daemons.run(daemons.opened(worker_file.load(file)))
    except BadConfig as error:
        raise usage(str(error)) from error
