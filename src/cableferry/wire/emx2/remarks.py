"""What a worker may say of a job besides where it is: what it was given and took, and what its scheduler says of it."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core.jobs import Job, Waiting
from cableferry.wire import texts

Amount = Annotated[float, Meta(ge=0, le=2**53)]
Line = Annotated[str, Meta(max_length=4096, pattern=texts.ONE_LINE)]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job took and how its process ended, as far as that was counted."""

    elapsed_seconds: Amount | None = None
    cpu_seconds: Amount | None = None
    max_rss_bytes: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    exit_code: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    signal: Annotated[int, Meta(ge=0, le=255)] | None = None
    nodes: Line | None = None


class Scheduled(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the scheduler says of a job, in its own words, and when it expects to start it."""

    state: Line | None = None
    reason: Line | None = None
    starts_at: datetime | None = None


class Requested(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job was given at most, as its worker asked of the scheduler."""

    cpus: Annotated[int, Meta(ge=0, le=10**6)] | None = None
    memory_bytes: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    wall_seconds: Amount | None = None
    gpus: Line | None = None
    partition: Line | None = None


class Remarks(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of them, as they are kept with the job; the later word counts."""

    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None


NOTHING = Remarks()


def packed(remarks: Remarks) -> msgspec.Raw | None:
    """As a report carries them; None when nothing was said."""
    return None if remarks == NOTHING else msgspec.Raw(msgspec.json.encode(remarks))


def opened(remarks: msgspec.Raw | None) -> Remarks:
    return NOTHING if remarks is None else msgspec.json.decode(remarks, type=Remarks)


def waiting(job: Job) -> Waiting:
    """Why a job waits in its scheduler: by what its worker said of that, or by its queue report."""
    said = opened(job.remarks).scheduler
    if said is not None:
        return Waiting(said.reason, said.starts_at)
    for part in (job.detail or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "reason" and value:
            return Waiting(value)
    return Waiting()
