"""The command that runs jobs of the worker contract in containers on this machine."""

import shlex
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cableferry.cli.commands import command, usage

if TYPE_CHECKING:
    from cableferry.client.schemes import Scheme
    from cableferry.daemon.containers.runtimes import Runtime

_SECONDS = click.FloatRange(min=0.05)
_EXECUTORS = click.Choice(["auto", "docker", "podman", "apptainer", "process"])


@command(
    "run",
    "Run jobs of the worker contract until SIGTERM or Ctrl-C; what runs goes on and is found again.",
    "cableferry worker run --server http://ferry:8710 --shared-dir /opt/opeva_shared_data\n"
    "cableferry worker run --executor process --entrypoint 'python simulate.py' --max-jobs 4",
)
@click.option("--server", envvar="OPEVA_SERVER", default="http://127.0.0.1:8710", help="Address of the server.")
@click.option("--worker-id", envvar="WORKER_ID", help="Name of this worker; by default that of the machine.")
@click.option(
    "--shared-dir",
    envvar="OPEVA_SHARED_DIR",
    type=click.Path(path_type=Path),
    default="/opt/opeva_shared_data",
    help="The shared folder as this machine sees it.",
)
@click.option("--executor", envvar="WORKER_EXECUTOR", type=_EXECUTORS, default="auto", help="What runs jobs.  [auto]")
@click.option("--entrypoint", metavar="COMMAND", help="Run this in place of what the image would run.")
@click.option("--max-jobs", envvar="WORKER_MAX_ACTIVE_JOBS", type=click.IntRange(1, 1000), default=1, help="[1]")
@click.option("--poll-seconds", envvar="POLL_INTERVAL", type=_SECONDS, default=5.0, help="Pause between polls.  [5]")
@click.option("--status-seconds", envvar="STATUS_POLL_INTERVAL", type=_SECONDS, default=10.0, help="Refresh.  [10]")
@click.option("--heartbeat-seconds", envvar="WORKER_HEARTBEAT_INTERVAL", type=_SECONDS, default=30.0, help="[30]")
@click.option("--stop-seconds", type=_SECONDS, default=10.0, help="Time to end after being asked, before a kill.  [10]")
@click.option("--allow-mount", "mounts", multiple=True, type=click.Path(path_type=Path), help="May be repeated.")
@click.option("--gpus", is_flag=True, envvar="WORKER_ENABLE_GPU", help="Give containers the machine's GPUs.")
@click.option("--secret-file", type=click.Path(path_type=Path), help="The worker's secret, to sign requests with.")
@click.option("--token-file", type=click.Path(path_type=Path), help="A token to send instead.")
@click.option(
    "--work-dir", type=click.Path(path_type=Path), default="cableferry-worker", help="Folder of its own journal."
)
def run(
    server: str,
    worker_id: str | None,
    shared_dir: Path,
    executor: str,
    entrypoint: str | None,
    max_jobs: int,
    poll_seconds: float,
    status_seconds: float,
    heartbeat_seconds: float,
    stop_seconds: float,
    mounts: tuple[Path, ...],
    gpus: bool,
    secret_file: Path | None,
    token_file: Path | None,
    work_dir: Path,
    as_json: bool,
) -> None:
    from cableferry.cli import logs, signals
    from cableferry.daemon.config import BadConfig
    from cableferry.daemon.containers.runtimes import Site
    from cableferry.daemon.containers.worker import ContainerWorker, Course

    logs.begin(as_json)
    name = worker_id or socket.gethostname()
    course = Course(server, name, max_jobs, poll_seconds, status_seconds, heartbeat_seconds, stop_seconds)
    given = tuple(shlex.split(entrypoint or ""))
    site = Site(_runtime(executor), shared_dir.absolute(), given, tuple(mounts), gpus)
    try:
        worker = ContainerWorker(course, site, _scheme(name, secret_file, token_file), work_dir.absolute())
    except BadConfig as error:
        raise usage(str(error)) from error

    signals.run(worker.run, worker.stop)


def _runtime(wanted: str) -> "Runtime":
    from cableferry.daemon.containers import runtimes
    from cableferry.daemon.containers.runtimes import Runtime

    found = runtimes.probe() if wanted == "auto" else Runtime(wanted)
    if found is None:
        raise usage("neither docker nor podman nor apptainer answers here: install one, or use --executor process")
    if wanted not in ("auto", "process") and not runtimes.answers(found):
        raise usage(f"{found} does not answer here: install or start it, or choose another --executor")
    return found


def _scheme(worker: str, secret_file: Path | None, token_file: Path | None) -> "Scheme":
    import os

    from cableferry.client.schemes import Bearer, Signed, Unsigned
    from cableferry.daemon.config import SECRET_VARIABLE, read_secret

    if secret := os.environ.get(SECRET_VARIABLE):
        return Signed(worker, secret)
    if secret_file is not None:
        return Signed(worker, read_secret(secret_file))
    return Unsigned(worker) if token_file is None else Bearer(read_secret(token_file), worker)


worker = click.Group(
    "worker",
    commands=[run],
    help="Run jobs in containers on this machine, with a folder that it shares with the server.",
    no_args_is_help=True,
)
