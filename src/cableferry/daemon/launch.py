"""Makes of a claimed job what a scheduler is to run: folders, a command, an environment."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from cableferry.client.answers import Job
from cableferry.core.jobs import State
from cableferry.daemon import environment
from cableferry.daemon.config import Config, Container, Profile, profile_for
from cableferry.daemon.environment import BadParameters, Places
from cableferry.daemon.held import Held
from cableferry.schedulers.protocol import Order, Resources
from cableferry.schedulers.slurm import amounts
from cableferry.wire.emx2.remarks import Requested
from cableferry.wire.emx2.words import STATES

log = structlog.get_logger()

RUNS = "runs"
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_KEPT = ("PATH", "LANG", "TZ", "USER", "LOGNAME", "HOME")
_INSIDE = Places(Path("/input"), Path("/output"), Path("/work"))
_GPU = re.compile(r"\bgpu\b|--gpus")


class NotRunnable(Exception):
    """A job that this worker cannot start, ever."""


def is_safe(job: Job) -> bool:
    """Whether the id can name a folder; no honest server sends another."""
    if not _SAFE_ID.fullmatch(job.id) or job.id == RUNS:
        log.warning("job with an unusable id ignored", job=job.id[:100])
        return False
    return True


def prefix(config: Config) -> str:
    """How the names of this worker's jobs begin at a scheduler; another worker's, or server's, begin otherwise."""
    key = f"{config.server}\0{config.worker_id}".encode()
    return f"cf{hashlib.sha256(key).hexdigest()[:8]}-"


def held(config: Config, job: Job, attempt: int, now: float) -> Held:
    """A claimed job as we keep it; its name is that of the attempt, so no other attempt runs under it."""
    return Held(
        id=job.id,
        name=f"{prefix(config)}{job.id}-a{attempt}",
        folder=job.id if attempt <= 1 else f"{job.id}-a{attempt}",
        processor=job.processor,
        profile=job.profile,
        told=STATES.get(job.status, State.CLAIMED),
        epoch=job.epoch,
        parameters=bytes(job.parameters).decode("utf-8", "replace"),
        inputs=bytes(job.inputs).decode("utf-8", "replace"),
        timeout_seconds=job.timeout_seconds,
        requested=_requested(profile_for(config, job.processor, job.profile)),
        claimed_at=now,
    )


def _requested(profile: Profile | None) -> Requested | None:
    """What is asked of the scheduler, in numbers as far as they can be read."""
    if profile is None or profile.resources == Resources():
        return None
    given = profile.resources
    return Requested(
        cpus=given.cpus,
        memory_bytes=None if given.memory is None else amounts.bytes_of(given.memory),
        wall_seconds=None if given.time is None else amounts.seconds_of(given.time),
        gpus=given.gpus or given.gres,
        partition=given.partition,
    )


def places(config: Config, job: Held) -> Places:
    return environment.places(Path(config.jobs_dir) / job.folder)


def folders(where: Places) -> None:
    """The folders of a job, for nobody else to look into."""
    for folder in (where.input, where.output, where.work, scratch(where), halfway(where)):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def scratch(where: Places) -> Path:
    """What a container has as /tmp."""
    return where.work.parent / "scratch"


def halfway(where: Places) -> Path:
    """Where inputs are until they are whole."""
    return where.work.parent / "halfway"


def order(config: Config, profile: Profile, job: Held) -> Order:
    """What to start for a job."""
    where = places(config, job)
    is_inside = profile.container is not None
    try:
        own = environment.own(job.id, job.parameters.encode(), _INSIDE if is_inside else where)
        command = _command(profile, job, where)
    except BadParameters as error:
        raise NotRunnable(str(error)) from error
    given = _given(config, profile)
    seen = (
        {f"APPTAINERENV_{name}": value for name, value in {**profile.environment, **own}.items()} if is_inside else own
    )
    return Order(
        job.name,
        command,
        str(where.work),
        str(where.output),
        {**given, **seen},
        profile.resources,
        f"{prefix(config)}:{job.id}:{job.name.rpartition('-a')[2]}:{job.epoch or 0}",
    )


def _command(profile: Profile, job: Held, where: Places) -> tuple[str, ...]:
    if profile.container is None:
        if not profile.command:
            raise NotRunnable(f"profile {profile.label} names neither an entrypoint nor an image")
        return profile.command
    inner = profile.container.entrypoint
    if inner:
        inner = (*inner, *environment.arguments(job.parameters.encode()))
    elif profile.takes_commands and (said := environment.command(job.parameters.encode())):
        inner = ("/bin/sh", "-c", said)
    else:
        raise NotRunnable(f"profile {profile.label} has no container_entrypoint")
    return (*_exec(profile.container, profile, where, job.outside), *inner)


def _exec(container: Container, profile: Profile, where: Places, outside: Sequence[str]) -> tuple[str, ...]:
    """Nothing of the host gets in but what is bound, and no shell reads what the job says."""
    binds = (f"{where.input}:/input:ro", f"{where.output}:/output", f"{where.work}:/work", *container.binds)
    binds += tuple(f"{place}:{place}:ro" for place in outside)
    gpus = ("--nv",) if _asks_for_gpus(profile) else ()
    return (
        container.program,
        "-q",
        "exec",
        "--containall",
        "--cleanenv",
        "--no-home",
        "--no-eval",
        *gpus,
        "--workdir",
        str(scratch(where)),
        "--pwd",
        "/work",
        *(word for bind in binds for word in ("--bind", bind)),
        container.image,
    )


def _asks_for_gpus(profile: Profile) -> bool:
    where = profile.resources
    return bool(where.gpus) or any(_GPU.search(said) for said in (where.gres or "", *where.arguments))


def _given(config: Config, profile: Profile) -> Mapping[str, str]:
    """The site's part of the environment: little of our own, and never a secret of ours."""
    site = {} if profile.container is not None else profile.environment
    if config.backend == "slurm":
        # on a node, what Slurm and the site's modules say counts
        return {"LANG": "C.UTF-8", **site}
    ours = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **ours, **site}
