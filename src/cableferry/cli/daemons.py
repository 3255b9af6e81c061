"""Opens a daemon with the scheduler that its configuration names, and runs it until a signal."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cableferry.daemon.config import Config
    from cableferry.daemon.loop import Daemon
    from cableferry.daemon.metrics import Metrics
    from cableferry.schedulers.protocol import Scheduler


def opened(config: "Config") -> "Daemon":
    from cableferry.daemon.config import scheme
    from cableferry.daemon.loop import Daemon
    from cableferry.daemon.metrics import Metrics

    metrics = Metrics(config)
    return Daemon(config, scheme(config), scheduler(config, metrics), metrics)


def scheduler(config: "Config", metrics: "Metrics") -> "Scheduler":
    from cableferry.daemon import launch
    from cableferry.schedulers.local import Local
    from cableferry.schedulers.simulated import Simulated
    from cableferry.schedulers.slurm.clusters import Clusters
    from cableferry.schedulers.slurm.scheduler import Place

    folder = Path(config.jobs_dir) / launch.RUNS
    match config.backend:
        case "slurm":
            place = Place(folder, launch.prefix(config), config.command_seconds, config.cluster, metrics.commanded)
            return Clusters(place, {profile.resources.cluster for profile in config.profiles} or {config.cluster})
        case "local":
            return Local(folder)
        case "simulate":
            return Simulated()


def register(config: "Config") -> None:
    """Make the worker known, beside a daemon that may run."""
    from cableferry.client import emx2
    from cableferry.client.patience import Patience
    from cableferry.daemon import registering
    from cableferry.daemon.config import scheme

    client = emx2.connect(config.server, scheme(config), Patience(tries=3, most_seconds=2))
    try:
        registering.register(client, config, None)
    finally:
        client.close()


def run(daemon: "Daemon") -> None:
    """Until SIGTERM or Ctrl-C."""
    from cableferry.cli import signals

    signals.run(daemon.run, daemon.stop)
