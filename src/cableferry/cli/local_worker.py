"""The command that runs a small worker on this machine."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import click

from cableferry.cli.commands import command, usage


@command(
    "local-worker",
    "Run jobs as commands on this machine until SIGTERM or Ctrl-C; running jobs are left alone and found again.",
    "cableferry local-worker --config worker.toml",
)
@click.option("--config", "file", type=click.Path(path_type=Path), required=True, help="The worker's settings (TOML).")
def local_worker(file: Path, as_json: bool) -> None:
    from cableferry.cli import logs
    from cableferry.daemon import config
    from cableferry.daemon.local import LocalWorker

    logs.begin(as_json)
    try:
        settings = config.load(file)
        worker = LocalWorker(settings, config.scheme(settings))
    except config.BadConfig as error:
        raise usage(str(error)) from error

    def stop(number: int, frame: FrameType | None) -> None:
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with ThreadPoolExecutor(1) as pool:
        # not in this thread: a handler must not wait for a lock that the code it interrupts holds
        pool.submit(worker.run).result()
