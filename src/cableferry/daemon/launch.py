"""Makes the folders of a claimed job and starts its command."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import structlog

from cableferry.client.answers import Job
from cableferry.daemon import environment
from cableferry.daemon.config import Config
from cableferry.daemon.environment import Places
from cableferry.daemon.journal import Held
from cableferry.schedulers.protocol import Order

log = structlog.get_logger()

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_KEPT = ("PATH", "LANG", "TZ", "USER", "LOGNAME", "HOME")


class NotRunnable(Exception):
    """A job that this worker cannot start, ever."""


def is_safe(job: Job) -> bool:
    """Whether the id can name a folder; no honest server sends another."""
    if not _SAFE_ID.fullmatch(job.id):
        log.warning("job with an unusable id ignored", job=job.id[:100])
        return False
    return True


def held(job: Job, now: float) -> Held:
    """A claimed job as we keep it; its name is that of the attempt, so no other attempt runs under it."""
    return Held(
        id=job.id,
        name=job.id if job.attempt <= 1 else f"{job.id}-a{job.attempt}",
        processor=job.processor,
        epoch=job.epoch,
        parameters=bytes(job.parameters).decode("utf-8", "replace"),
        timeout_seconds=job.timeout_seconds,
        claimed_at=now,
    )


def places(config: Config, job: Held) -> Places:
    return environment.places(Path(config.work_dir) / job.name)


def order(config: Config, job: Held) -> Order:
    """What to start for a job, its folders made."""
    processor = config.processors.get(job.processor)
    if processor is None:
        raise NotRunnable(f"worker {config.worker_id} has no command for processor {job.processor}")
    where = places(config, job)
    try:
        for folder in (where.input, where.output, where.work):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen = environment.environment(job.id, job.parameters.encode(), where, _given(processor.environment))
    except environment.BadParameters as error:
        raise NotRunnable(str(error)) from error
    except OSError as error:
        raise NotRunnable(f"no folders for job {job.id}: {error}") from error
    return Order(job.name, processor.command, str(where.work), str(where.output), seen)


def _given(site: Mapping[str, str]) -> dict[str, str]:
    """The site's part of the environment: little of our own, and never a secret of ours."""
    ours = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **ours, **site}
