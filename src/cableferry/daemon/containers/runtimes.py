"""The programs that run containers on this machine, and the command line of each; nothing here is run by a shell."""

import itertools
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import msgspec

from cableferry.client.opeva import Dispatched, Volume

ROOT = "/data"
PROBE_SECONDS = 20
ID_FILE, VARIABLES_FILE = "container.id", "container.env"
_IMAGE = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_./:@+-]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Runtime(StrEnum):
    """What runs a job: a container runtime, or a bare process."""

    DOCKER = "docker"
    PODMAN = "podman"
    APPTAINER = "apptainer"
    PROCESS = "process"


class NotRunnable(Exception):
    """A job that this worker cannot start, ever."""


class Site(msgspec.Struct, frozen=True):
    """How jobs are run here: the shared folder as this machine sees it, and what else may be mounted.

    `entrypoint` is run in place of what the image would run; without a container it is all there is to run.
    """

    runtime: Runtime
    shared_dir: Path
    entrypoint: tuple[str, ...] = ()
    mounts: tuple[Path, ...] = ()
    has_gpus: bool = False


class Launch(msgspec.Struct, frozen=True):
    """A command, its environment beside that of every command, and what a file for its container's variables holds.

    Docker's own program must not get the variables: some of them would change what it does.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    variables: str = ""


def probe() -> Runtime | None:
    """The first runtime that answers; one that is installed may still have nobody behind it."""
    for runtime in (Runtime.DOCKER, Runtime.PODMAN, Runtime.APPTAINER):
        if shutil.which(runtime) and answers(runtime):
            return runtime
    return None


def answers(runtime: Runtime) -> bool:
    asked = ["--version"] if runtime is Runtime.APPTAINER else ["info"]
    try:
        done = subprocess.run([runtime, *asked], capture_output=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def launch(site: Site, job: Dispatched, folder: Path) -> Launch:
    """What to start for a job; whatever a server could slip into it is refused."""
    arguments = _split(job.command)
    unsafe = [name for name in job.env if not _VARIABLE.fullmatch(name)]
    if unsafe:
        raise NotRunnable(f"{unsafe[0][:40]!r} is no name of a variable")
    volumes = [_allowed(site, volume) for volume in job.volumes]
    match site.runtime:
        case Runtime.PROCESS:
            return Launch(_process(site, arguments), dict(job.env))
        case Runtime.APPTAINER:
            return Launch(_apptainer(site, job, volumes, arguments), _for_apptainer(job.env))
        case _:
            return Launch(_docker(site, job, volumes, (str(folder), *arguments)), {}, _variables(job.env))


def clear(runtime: Runtime, name: str) -> None:
    """Remove a container that an earlier attempt left under the same name."""
    if runtime in (Runtime.DOCKER, Runtime.PODMAN) and _NAME.fullmatch(name):
        _quietly([runtime, "rm", "--force", name])


def kill(runtime: Runtime, name: str) -> None:
    """End a container whose own program no longer hears."""
    if runtime in (Runtime.DOCKER, Runtime.PODMAN) and _NAME.fullmatch(name):
        _quietly([runtime, "kill", name])


def config(site: Site, job: Dispatched) -> Path | None:
    """Where the configuration of a job should lie, as this machine sees it."""
    arguments = _split(job.command)
    named = [following for flag, following in itertools.pairwise(arguments) if flag == "--config"]
    return Path(_here(site, named[0])) if named else None


def _quietly(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return


def _process(site: Site, arguments: Iterable[str]) -> tuple[str, ...]:
    if not site.entrypoint:
        raise NotRunnable("without a container there is nothing to run: start the worker with --entrypoint")
    return (*site.entrypoint, *(_here(site, argument) for argument in arguments))


def _docker(site: Site, job: Dispatched, volumes: Iterable[Volume], rest: tuple[str, ...]) -> tuple[str, ...]:
    folder, *arguments = rest
    if not _NAME.fullmatch(job.container_name):
        raise NotRunnable(f"{job.container_name[:80]!r} is no name for a container")
    entry, *before = site.entrypoint or (None,)
    return (
        site.runtime, "run", "--rm", "--name", job.container_name, "--cidfile", f"{folder}/{ID_FILE}",
        *(["--gpus", "all"] if site.has_gpus else []),
        *(part for volume in volumes for part in ("--volume", f"{volume.host}:{volume.container}:{volume.mode}")),
        # no list of processes shows what stands in a file
        "--env-file", f"{folder}/{VARIABLES_FILE}",
        *(["--entrypoint", entry] if entry else []),
        _image(job.image), *(before if entry else []), *arguments,
    )  # fmt: skip


def _apptainer(site: Site, job: Dispatched, volumes: Iterable[Volume], rest: Iterable[str]) -> tuple[str, ...]:
    image = _image(job.image)
    address = image if "://" in image or Path(image).exists() else f"docker://{image}"
    return (
        site.runtime, "exec" if site.entrypoint else "run", "--contain", "--cleanenv",
        *(["--nv"] if site.has_gpus else []),
        *(part for volume in volumes for part in ("--bind", f"{volume.host}:{volume.container}:{volume.mode}")),
        address, *site.entrypoint, *rest,
    )  # fmt: skip


def _for_apptainer(env: dict[str, str]) -> dict[str, str]:
    return {f"APPTAINERENV_{name}": value for name, value in env.items()}


def _variables(env: dict[str, str]) -> str:
    broken = [name for name, value in env.items() if "\n" in value or "\0" in value]
    if broken:
        raise NotRunnable(f"the variable {broken[0]} holds more than one line")
    return "".join(f"{name}={value}\n" for name, value in env.items())


def _image(image: str) -> str:
    if not _IMAGE.fullmatch(image):
        raise NotRunnable(f"{image[:80]!r} is no image")
    return image


def _allowed(site: Site, volume: Volume) -> Volume:
    """The shared folder as this machine has it; any other folder only where the site said so."""
    if volume.mode not in ("rw", "ro") or not volume.container.startswith("/") or ":" in volume.container:
        raise NotRunnable(f"the volume {volume.container[:80]!r} makes no sense")
    if volume.container == ROOT:
        return Volume(str(site.shared_dir), ROOT, volume.mode)
    wanted = Path(volume.host).resolve()
    if ":" in volume.host or not any(wanted.is_relative_to(mount.resolve()) for mount in site.mounts):
        raise NotRunnable(f"the folder {volume.host[:80]} is not mounted here: start the worker with --allow-mount")
    return Volume(str(wanted), volume.container, volume.mode)


def _here(site: Site, argument: str) -> str:
    """A path below the shared folder as a process without a container sees it."""
    is_below = argument == ROOT or argument.startswith(f"{ROOT}/")
    return f"{site.shared_dir}{argument.removeprefix(ROOT)}" if is_below else argument


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise NotRunnable(f"the command cannot be read: {error}") from None
