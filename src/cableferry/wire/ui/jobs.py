"""Jobs as our own pages show them: a page of a list, the newest first, and all of one job."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from cableferry.core.jobs import Job
from cableferry.wire.emx2.bodies import ExplainBody, JobBody, TransitionItem
from cableferry.wire.emx2.words import WORDS
from cableferry.wire.ui.overviews import Point


class JobRow(msgspec.Struct, frozen=True):
    """What a line of the list says of a job; its parameters and inputs may be large and are not in it."""

    id: str
    status: str
    processor: str
    profile: str | None
    submit_user: str | None
    worker_id: str | None
    slurm_job_id: str | None
    detail: str | None
    cause: str | None
    phase: str | None
    message: str | None
    progress: float | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class JobPage(msgspec.Struct, frozen=True):
    """Up to `limit` jobs, the newest first; `older` and `newer` lead to the pages beside it, null where there is none.

    `counts` says how many jobs there are in each status, whatever status is asked for;
    `contracts` are those that can be asked for, the usual one first. `searched` says how many of the latest jobs were
    looked through for a text, null when all were.
    """

    items: list[JobRow]
    older: str | None
    newer: str | None
    counts: Mapping[str, int]
    contracts: Sequence[str]
    searched: int | None = None


class JobNow(msgspec.Struct, frozen=True):
    """One job with its history, why it is where it is, and the contract that it belongs to."""

    job: JobBody
    transitions: Sequence[TransitionItem]
    explanation: ExplainBody
    contract: str


class JobsThen(msgspec.Struct, frozen=True):
    """How many jobs were in each status at earlier moments, every `step_seconds` in which the server lived."""

    history: Sequence[Point]
    step_seconds: int


class Forecast(msgspec.Struct, frozen=True):
    """What an explanation would say of a job right after it was submitted."""

    code: str
    sentence: str
    facts: dict[str, str | int | float | bool | None]


def row(value: Job) -> JobRow:
    return JobRow(
        id=value.id, status=WORDS[value.state], processor=value.processor, profile=value.profile,
        submit_user=value.submit_user, worker_id=value.worker, slurm_job_id=value.slurm_job_id, detail=value.detail,
        cause=value.cause, phase=value.phase, message=value.message, progress=value.progress,
        created_at=value.created_at, updated_at=value.touched_at, started_at=value.started_at,
        completed_at=value.ended_at,
    )  # fmt: skip
