"""The tables as GraphQL shows them; `x_text` is what `x` says when nothing of it is selected."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
import strawberry
from strawberry import Private
from strawberry.types import Info

from cableferry.core import artifacts as core_artifacts
from cableferry.core import jobs as core_jobs
from cableferry.core import workers as core_workers
from cableferry.core.errors import Invalid
from cableferry.dialects.graphql.lookups import Lookups
from cableferry.dialects.graphql.scalars import Json, Long, Moment
from cableferry.wire.emx2.words import STAGE_WORDS, WORDS

MOST_RELATED = 1000
RELATED = 100
LONGEST_PATH = 1024

Ask = Info[Lookups, None]
Count = Annotated[int, strawberry.argument(description=f"At most {MOST_RELATED}.")]


@strawberry.type(name="HpcWord", description="A word of a fixed or open list, as a row of the reference system.")
class Word:
    name: str


@strawberry.type(name="HpcWorkerCapabilities")
class Capability:
    processor: str
    profile: str | None
    max_concurrent_jobs: int | None


@strawberry.type(name="HpcWorkers", description="Who claims jobs.")
class Worker:
    worker_id: str
    hostname: str | None
    registered_at: Moment
    last_heartbeat_at: Moment
    capabilities: list[Capability]
    cursor: str | None

    @strawberry.field(description="The jobs that it holds.")
    async def jobs(self, info: Ask, limit: Count = RELATED) -> list[Job]:
        held = await info.context.many(info.context.held(most(limit)), self.worker_id)
        return [job(each) for each in held]


@strawberry.type(name="HpcJobs", description="One thing to run once, to one end.")
class Job:
    value: Private[core_jobs.Job]
    id: str
    status_text: str
    processor: str
    profile: str | None
    priority: int
    submit_user: str | None
    worker_id_text: str | None
    slurm_job_id: str | None
    output_artifact_id_text: str | None
    log_artifact_id_text: str | None
    timeout_seconds: int | None
    detail: str | None
    cause: str | None
    phase: str | None
    message: str | None
    progress: float | None
    attempt: int
    epoch: Long
    revision: Long
    created_at: Moment
    claimed_at: Moment | None
    submitted_at: Moment | None
    started_at: Moment | None
    completed_at: Moment | None
    updated_at: Moment
    cursor: str | None

    @strawberry.field
    def status(self) -> Word:
        return Word(name=self.status_text)

    @strawberry.field
    async def worker_id(self, info: Ask) -> Worker | None:
        return await a_worker(info, self.worker_id_text)

    @strawberry.field
    async def output_artifact_id(self, info: Ask) -> Artifact | None:
        return await an_artifact(info, self.output_artifact_id_text)

    @strawberry.field
    async def log_artifact_id(self, info: Ask) -> Artifact | None:
        return await an_artifact(info, self.log_artifact_id_text)

    @strawberry.field
    def parameters(self, info: Ask) -> Json | None:
        return json(info, self.value.parameters)

    @strawberry.field
    def inputs(self, info: Ask) -> Json | None:
        return json(info, self.value.inputs)

    @strawberry.field(description="The artifacts that its inputs name.")
    async def input_artifacts(self, info: Ask, limit: Count = RELATED) -> list[Artifact]:
        named = await info.context.many(info.context.inputs(most(limit)), self.value.key)
        return [artifact(each) for each in named]

    @strawberry.field(description="Its history, from the sequence number `after` on.")
    async def transitions(self, info: Ask, limit: Count = RELATED, after: int = 0) -> list[Transition]:
        found = await info.context.many(info.context.transitions(after, most(limit)), self.value.key)
        return [transition(each, self.id) for each in found]


@strawberry.type(name="HpcJobTransitions", description="One line of a job's history.")
class Transition:
    value: Private[core_jobs.Transition]
    job: Private[str | None]
    from_status_text: str | None
    to_status_text: str
    timestamp: Moment
    worker_id_text: str | None
    actor: str | None
    detail: str | None
    cause: str | None
    slurm_job_id: str | None
    output_artifact_id_text: str | None
    log_artifact_id_text: str | None
    phase: str | None
    message: str | None
    progress: float | None
    attempt: int
    epoch: Long
    sequence: int
    cursor: str | None

    @strawberry.field
    async def id(self, info: Ask) -> str:
        return f"{await self._job_id(info)}/{self.sequence}"

    @strawberry.field
    async def job_id(self, info: Ask) -> Job | None:
        found = await info.context.one(info.context.job_by_key(), self.value.job_key)
        return None if found is None else job(found)

    @strawberry.field
    async def job_id_text(self, info: Ask) -> str:
        return await self._job_id(info)

    @strawberry.field
    def from_status(self) -> Word | None:
        return a_word(self.from_status_text)

    @strawberry.field
    def to_status(self) -> Word:
        return Word(name=self.to_status_text)

    @strawberry.field
    async def worker_id(self, info: Ask) -> Worker | None:
        return await a_worker(info, self.worker_id_text)

    @strawberry.field
    async def output_artifact_id(self, info: Ask) -> Artifact | None:
        return await an_artifact(info, self.output_artifact_id_text)

    @strawberry.field
    async def log_artifact_id(self, info: Ask) -> Artifact | None:
        return await an_artifact(info, self.log_artifact_id_text)

    async def _job_id(self, info: Ask) -> str:
        if self.job is not None:
            return self.job
        found = await info.context.one(info.context.job_by_key(), self.value.job_key)
        return "" if found is None else found.id


@strawberry.type(name="HpcArtifactUses", description="A job that uses an artifact, as input, output or log.")
class Use:
    used_as: str
    job: Job


@strawberry.type(name="HpcArtifacts", description="A described set of files.")
class Artifact:
    value: Private[core_artifacts.Artifact]
    id: str
    name: str | None
    type_text: str
    format_text: str | None
    residence_text: str
    status_text: str
    content_url: str | None
    sha256: str | None
    declared_sha256: str | None
    size_bytes: Long | None
    schema_error: str | None
    detail: str | None
    created_by: str | None
    created_at: Moment
    updated_at: Moment
    committed_at: Moment | None
    job_id_text: str | None
    cursor: str | None

    @strawberry.field
    def type(self) -> Word:
        return Word(name=self.type_text)

    @strawberry.field
    def format(self) -> Word | None:
        return a_word(self.format_text)

    @strawberry.field
    def residence(self) -> Word:
        return Word(name=self.residence_text)

    @strawberry.field
    def status(self) -> Word:
        return Word(name=self.status_text)

    @strawberry.field
    def metadata(self, info: Ask) -> Json | None:
        return json(info, self.value.metadata)

    @strawberry.field
    def schema(self, info: Ask) -> Json | None:
        return json(info, self.value.table_schema)

    @strawberry.field(description="The job that it says it belongs to.")
    async def job_id(self, info: Ask) -> Job | None:
        found = await info.context.one(info.context.job(), self.job_id_text)
        return None if found is None else job(found)

    @strawberry.field(description="The latest jobs that use it.")
    async def uses(self, info: Ask, limit: Count = RELATED) -> list[Use]:
        found = await info.context.many(info.context.users(most(limit)), self.value.key)
        return [Use(used_as=each.used_as.value, job=job(each.job)) for each in found]

    @strawberry.field(description="Its files in the order of their paths, those behind the path `after`.")
    async def files(self, info: Ask, limit: Count = RELATED, prefix: str = "", after: str = "") -> list[File]:
        looking = info.context.files(path(prefix, "prefix"), path(after, "after"), most(limit))
        return [file(each, self.id) for each in await info.context.many(looking, self.value.key)]


@strawberry.type(name="HpcArtifactFiles", description="One path in an artifact.")
class File:
    value: Private[core_artifacts.File]
    artifact: Private[str | None]
    id: str
    path: str
    role_text: str | None
    sha256: str | None
    size_bytes: Long | None
    content_type: str | None
    is_stored: bool
    created_at: Moment
    cursor: str | None

    @strawberry.field
    def role(self) -> Word | None:
        return a_word(self.role_text)

    @strawberry.field
    async def artifact_id(self, info: Ask) -> Artifact | None:
        found = await info.context.one(info.context.artifact_by_key(), self.value.artifact_key)
        return None if found is None else artifact(found)

    @strawberry.field
    async def artifact_id_text(self, info: Ask) -> str:
        if self.artifact is not None:
            return self.artifact
        found = await info.context.one(info.context.artifact_by_key(), self.value.artifact_key)
        return "" if found is None else found.id


def job(value: core_jobs.Job, cursor: str | None = None) -> Job:
    return Job(
        value=value, id=value.id, status_text=WORDS[value.state], processor=value.processor, profile=value.profile,
        priority=value.priority, submit_user=value.submit_user, worker_id_text=value.worker,
        slurm_job_id=value.slurm_job_id, output_artifact_id_text=value.output_artifact_id,
        log_artifact_id_text=value.log_artifact_id, timeout_seconds=value.timeout_seconds, detail=value.detail,
        cause=value.cause, phase=value.phase, message=value.message, progress=value.progress, attempt=value.attempt,
        epoch=Long(value.epoch), revision=Long(value.revision), created_at=Moment(value.created_at),
        claimed_at=a_moment(value.claimed_at), submitted_at=a_moment(value.submitted_at),
        started_at=a_moment(value.started_at), completed_at=a_moment(value.ended_at),
        updated_at=Moment(value.touched_at), cursor=cursor,
    )  # fmt: skip


def transition(value: core_jobs.Transition, job_id: str | None = None, cursor: str | None = None) -> Transition:
    said = value.payload
    return Transition(
        value=value, job=job_id, from_status_text=WORDS[value.old] if value.old else None,
        to_status_text=WORDS[value.new], timestamp=Moment(value.at), worker_id_text=said.worker, actor=value.actor,
        detail=said.detail, cause=value.cause, slurm_job_id=said.slurm_job_id,
        output_artifact_id_text=said.output_artifact_id, log_artifact_id_text=said.log_artifact_id, phase=said.phase,
        message=said.message, progress=said.progress, attempt=value.attempt, epoch=Long(value.epoch),
        sequence=value.seq, cursor=cursor,
    )  # fmt: skip


def worker(value: core_workers.Worker, cursor: str | None = None) -> Worker:
    return Worker(
        worker_id=value.id,
        hostname=value.hostname,
        registered_at=Moment(value.registered_at),
        last_heartbeat_at=Moment(value.seen_at),
        capabilities=[
            Capability(processor=each.processor, profile=each.profile, max_concurrent_jobs=each.max_concurrent_jobs)
            for each in value.offers
        ],
        cursor=cursor,
    )


def artifact(value: core_artifacts.Artifact, cursor: str | None = None) -> Artifact:
    return Artifact(
        value=value, id=value.id, name=value.name, type_text=value.type, format_text=value.format,
        residence_text=value.residence.value, status_text=STAGE_WORDS[value.stage], content_url=value.content_url,
        sha256=value.sha256, declared_sha256=value.declared_sha256, size_bytes=a_long(value.size_bytes),
        schema_error=value.schema_error, detail=value.detail, created_by=value.created_by,
        created_at=Moment(value.created_at), updated_at=Moment(value.touched_at),
        committed_at=a_moment(value.committed_at), job_id_text=value.job_id, cursor=cursor,
    )  # fmt: skip


def file(value: core_artifacts.File, artifact_id: str | None = None, cursor: str | None = None) -> File:
    return File(
        value=value, artifact=artifact_id, id=value.id, path=value.path, role_text=value.role and value.role.value,
        sha256=value.sha256, size_bytes=a_long(value.size_bytes), content_type=value.content_type,
        is_stored=value.is_stored, created_at=Moment(value.created_at), cursor=cursor,
    )  # fmt: skip


def a_word(text: str | None) -> Word | None:
    return None if text is None else Word(name=text)


def a_moment(value: datetime | None) -> Moment | None:
    return None if value is None else Moment(value)


def a_long(value: int | None) -> Long | None:
    return None if value is None else Long(value)


async def a_worker(info: Ask, id: str | None) -> Worker | None:
    found = await info.context.one(info.context.worker(), id)
    return None if found is None else worker(found)


async def an_artifact(info: Ask, id: str | None) -> Artifact | None:
    found = await info.context.one(info.context.artifact(), id)
    return None if found is None else artifact(found)


def json(info: Ask, raw: msgspec.Raw | None) -> Json | None:
    """What was stored as JSON goes out as it is; it counts, since it may be large and be asked for many times."""
    if raw is None or bytes(raw) in (b"", b"null"):
        return None
    info.context.spend(len(bytes(raw)))
    return Json(raw)


def most(limit: int) -> int:
    if limit < 0:
        raise Invalid(f"limit must not be negative, like {limit}")
    return min(limit, MOST_RELATED)


def path(text: str, name: str) -> str:
    if "\0" in text or len(text) > LONGEST_PATH:
        raise Invalid(f"{name} holds a NUL character or more than {LONGEST_PATH} characters")
    return text
