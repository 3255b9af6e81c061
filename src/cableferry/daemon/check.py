"""Looks whether everything that a daemon will need is there, and says what to do about what is not."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cableferry.client import emx2
from cableferry.client.errors import Trouble
from cableferry.client.patience import Patience
from cableferry.daemon import launch, site
from cableferry.daemon.config import BadConfig, Config, Profile, scheme
from cableferry.daemon.findings import Finding, judged
from cableferry.daemon.staging import buckets
from cableferry.schedulers.protocol import Order
from cableferry.schedulers.slurm import commands, runs
from cableferry.schedulers.slurm.scheduler import sbatch

_LEAST_BYTES = 2**30
_MOST_SKEW_SECONDS = 60.0
_OLDEST_APPTAINER = (1, 1)
_PATIENCE = Patience(tries=2, most_seconds=1)


def findings(config: Config) -> Iterator[Finding]:
    """Each as soon as it is known; the first ones are what the others stand on."""
    yield from _configuration(config)
    yield from _server(config)
    yield from _folders(config)
    yield from _keys(config)
    yield from _numbers(config)
    if config.backend == "slurm":
        yield from site.findings(config)
    for profile in config.profiles if config.backend != "simulate" else ():
        yield from _profile(config, profile)


def binds(config: Config) -> Iterator[Finding]:
    """What containers are to see besides, as far as this machine can tell; nodes are asked by `probing`."""
    for profile in config.profiles:
        sources = () if profile.container is None else profile.container.binds
        missing = [source for source in (bind.partition(":")[0] for bind in sources) if not os.path.exists(source)]
        if missing:
            advice = "correct bind_paths; whether nodes have what this machine has not, --probe says"
            yield Finding(f"binds of {profile.label}", False, f"{', '.join(missing)} not here", advice)


def _configuration(config: Config) -> Iterator[Finding]:
    for warning in config.warnings:
        yield Finding("configuration", False, warning, "run the command that it names")
    is_some = bool(config.profiles)
    found = f"worker {config.worker_id}, {len(config.profiles)} profiles"
    yield Finding(
        "configuration", is_some, found, "" if is_some else "name at least one profile: without, no job comes"
    )


def _server(config: Config) -> Iterator[Finding]:
    try:
        client = emx2.connect(config.server, scheme(config), _PATIENCE)
    except BadConfig as error:
        yield Finding("secret", False, str(error), "let the daemon's user alone read the file")
        return
    try:
        skew = client.skew_seconds()
        client.poll(emx2.Filter("PENDING"))
        yield Finding("server", True, f"{config.server} answers and knows us")
        yield _skew(skew)
    except Trouble as trouble:
        advice = "check the address, the proxy settings, the firewall towards outside, and the worker's secret"
        yield Finding("server", False, f"{config.server}: {trouble}", advice)
    finally:
        client.close()


def _skew(skew: float | None) -> Finding:
    if skew is None:
        return Finding("clock", True, "the server does not say its time")
    is_ok = abs(skew) < _MOST_SKEW_SECONDS
    return Finding(
        "clock", is_ok, f"{skew:+.1f} s to the server's", "" if is_ok else "let chrony or ntpd set this clock"
    )


def _folders(config: Config) -> Iterator[Finding]:
    yield _folder("state", Path(config.state_dir), "give the daemon's user a folder on this machine's own disk")
    if config.backend != "simulate":
        advice = "set apptainer.tmp_dir to a folder that this user may write in and that every node sees"
        yield _folder("jobs", Path(config.jobs_dir), advice)


def _folder(what: str, folder: Path, advice: str) -> Finding:
    """Written in, linked in as the fence does it, and with room left."""
    probe = folder / f".check-{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.mkdir()
        (probe / "a").write_bytes(b"x")
        os.link(probe / "a", probe / "b")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(what, False, f"{folder}: {error.strerror}", advice)
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    is_ok = free >= _LEAST_BYTES
    return Finding(what, is_ok, f"{folder}, {free / 2**30:.1f} GiB free", "" if is_ok else "make room on that disk")


def _numbers(config: Config) -> Iterator[Finding]:
    """Whether the file for Prometheus can be written."""
    if config.metrics_file is not None:
        is_ok = os.access(Path(config.metrics_file).parent, os.W_OK)
        yield judged("metrics", is_ok, config.metrics_file, "let the daemon's user write into its folder")


def _keys(config: Config) -> Iterator[Finding]:
    """Of the buckets that inputs come from."""
    for name, bucket in config.web.buckets.items():
        what = f"bucket {name}"
        try:
            key = "a public bucket" if bucket.access_key_id is None else f"key {bucket.access_key_id}"
            buckets.signed(bucket, name, "")
            yield Finding(what, True, f"{bucket.endpoint}, {key}")
        except Trouble as trouble:
            yield Finding(what, False, str(trouble), "let the daemon's user alone read the file")


def _profile(config: Config, profile: Profile) -> Iterator[Finding]:
    what = f"profile {profile.label}"
    if (fault := _fault(profile)) is not None:
        yield Finding(what, False, fault[0], fault[1])
        return
    if config.backend == "local":
        yield Finding(what, True, f"runs {profile.command[0]}")
    elif shutil.which("sbatch") is not None:
        yield _rehearsed(config, profile)


def _fault(profile: Profile) -> tuple[str, str] | None:
    """What is wrong with what the profile runs, and what to do about it."""
    if profile.container is not None:
        return _container_fault(profile)
    if not profile.command:
        return "names neither an entrypoint nor an image", "set host_entrypoint, or sif_image and container_entrypoint"
    if shutil.which(profile.command[0]) is None:
        return f"{profile.command[0]} is no program here", "check its path and that it may be executed"
    return None


def _container_fault(profile: Profile) -> tuple[str, str] | None:
    container = profile.container
    if container is None or not os.access(container.image, os.R_OK):
        image = "" if container is None else container.image
        return f"image {image} cannot be read", "bring it there, or correct sif_image"
    if not container.entrypoint and not profile.takes_commands:
        return "names no command in its image", "set container_entrypoint"
    ran = commands.run((container.program, "--version"), 30)
    if not ran.is_ok:
        return f"{container.program}: {ran.trouble}", "install Apptainer, or name it by apptainer.command"
    if site.version(ran.out) < _OLDEST_APPTAINER:
        return f"{ran.out.strip()} reads what jobs say with a shell", "Apptainer 1.1 or later is needed"
    return None


def _rehearsed(config: Config, profile: Profile) -> Finding:
    """What Slurm says of such a job, which it does not run."""
    what = f"profile {profile.label}"
    run = Path(config.jobs_dir) / launch.RUNS / f".check-{os.getpid()}"
    order = Order("cf-check", ("true",), str(run), str(run), {}, profile.resources, "check")
    try:
        runs.prepare(run, order)
        first, *rest = sbatch(order, run, _site(profile))
        ran = commands.run((first, "--test-only", *rest), config.command_seconds)
    except OSError as error:
        return Finding(what, False, f"{run}: {error.strerror}", "see the row of jobs")
    finally:
        shutil.rmtree(run, ignore_errors=True)
    if ran.is_ok:
        return Finding(what, True, ran.trouble.removeprefix("sbatch: "))
    return Finding(what, False, ran.trouble, "correct partition, account, qos, cpus, memory, time, gres or sbatch_args")


def _site(profile: Profile) -> tuple[str, ...]:
    cluster = profile.resources.cluster
    return () if cluster is None else (f"--clusters={cluster}",)
