"""The bodies of the EMX2 protocol as they stand on the wire; times are UTC, numbers are numbers."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Meta, UnsetType

from cableferry.core.artifacts import Artifact
from cableferry.core.jobs import Job, Transition
from cableferry.core.workers import Offer, Worker
from cableferry.wire import texts
from cableferry.wire.emx2 import PREFIX, remarks
from cableferry.wire.emx2.remarks import Requested, Scheduled, Usage
from cableferry.wire.emx2.words import LINKS, STAGE_WORDS, WORDS

Name = Annotated[str, Meta(min_length=1, max_length=255, pattern=texts.NAME)]
WorkerId = Annotated[str, Meta(min_length=1, max_length=255, pattern=texts.WORKER_ID)]
Text = Annotated[str, Meta(max_length=16384, pattern=texts.NO_NUL)]
LONGEST_TROUBLE = 1000
JobId = Annotated[str, Meta(min_length=1, max_length=255, pattern=texts.NO_NUL)]
# what is none of them is refused in a sentence of its own, or alone among many reports
Status = Annotated[str, Meta(extra_json_schema={"enum": list(WORDS.values())})]
Seconds = Annotated[int, Meta(ge=1, le=10**9)]
Count = Annotated[int, Meta(ge=0, le=10**6)]


class Link(msgspec.Struct, frozen=True):
    href: str
    method: str


Links = dict[str, Link]


# a JSON schema; it is for people who fill in a form, and the server refuses no job by it
ParametersSchema = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]


class Capability(msgspec.Struct, frozen=True):
    processor: Name
    profile: Name | None = None
    max_concurrent_jobs: Count | None = None
    parameters_schema: ParametersSchema | UnsetType = UNSET


class SessionBody(msgspec.Struct, frozen=True):
    """A daemon's boot, for daemons that ask to be the only one under their worker id."""

    id: Annotated[str, Meta(min_length=8, max_length=64, pattern=texts.SESSION_ID)]
    host: Name | None = None
    pid: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    started_at: datetime | None = None


class RegisterBody(msgspec.Struct, frozen=True):
    worker_id: WorkerId
    hostname: Name | None = None
    capabilities: Annotated[list[Capability], Meta(max_length=1000)] = []
    session: SessionBody | None = None


def _null() -> msgspec.Raw:
    return msgspec.Raw(b"null")


# what is in them is checked where they are used; a string may hold the same as JSON text
Parameters = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": ["object", "null", "string"]})]
Inputs = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": ["array", "object", "null", "string"]})]


class CreateBody(msgspec.Struct, frozen=True):
    processor: Name
    profile: Name | None = None
    submit_user: Name | None = None
    parameters: Parameters = msgspec.field(default_factory=_null)
    inputs: Inputs = msgspec.field(default_factory=_null)
    timeout_seconds: Seconds | None = None
    priority: Annotated[int, Meta(ge=-1000, le=1000)] | None = 0


class ClaimBody(msgspec.Struct, frozen=True):
    worker_id: WorkerId | None = None


class TransitionBody(msgspec.Struct, frozen=True):
    status: Status
    worker_id: WorkerId | None = None
    detail: Text | None = None
    slurm_job_id: Name | None = None
    output_artifact_id: Name | None = None
    log_artifact_id: Name | None = None
    phase: Annotated[str, Meta(max_length=100, pattern=texts.NO_NUL)] | None = None
    message: Annotated[str, Meta(max_length=500, pattern=texts.NO_NUL)] | None = None
    progress: Annotated[float, Meta(ge=0, le=1)] | None = None
    epoch: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    cause: Annotated[str, Meta(max_length=40)] | None = None
    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None


class CancelBody(msgspec.Struct, frozen=True):
    worker_id: WorkerId | None = None
    detail: Text | None = None


class ClaimManyBody(msgspec.Struct, frozen=True):
    """Claim up to `limit` jobs over all capabilities with free slots."""

    worker_id: WorkerId | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 1


class SyncReport(TransitionBody, frozen=True, kw_only=True):
    job_id: JobId


class SyncBody(msgspec.Struct, frozen=True):
    """One daemon cycle: what happened, what it still holds, how much more it would take, and what hinders it."""

    reports: Annotated[list[SyncReport], Meta(max_length=1000)] = []
    holding: Annotated[list[JobId], Meta(max_length=10000)] | None = None
    claim: Annotated[int, Meta(ge=0, le=1000)] = 0
    trouble: Annotated[str, Meta(max_length=LONGEST_TROUBLE, pattern=texts.NO_NUL)] | None = None


class ArtifactRef(msgspec.Struct, frozen=True):
    """An artifact as a job's answer names it."""

    id: str
    name: str | None
    type: str
    status: str


class JobBody(msgspec.Struct, frozen=True):
    id: str
    status: Status
    processor: str
    profile: str | None
    priority: int
    submit_user: str | None
    worker_id: str | None
    slurm_job_id: str | None
    parameters: msgspec.Raw
    inputs: msgspec.Raw
    output_artifact_id: str | None
    output_artifact: ArtifactRef | None
    log_artifact_id: str | None
    log_artifact: ArtifactRef | None
    timeout_seconds: int | None
    detail: str | None
    cause: str | None
    phase: str | None
    message: str | None
    progress: float | None
    attempt: int
    epoch: int
    revision: int
    created_at: datetime
    claimed_at: datetime | None
    submitted_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    updated_at: datetime
    links: Links = msgspec.field(name="_links")
    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None


class JobList(msgspec.Struct, frozen=True):
    items: list[JobBody]
    count: int
    total_count: int
    limit: int
    offset: int
    links: Links = msgspec.field(name="_links")


class TransitionItem(msgspec.Struct, frozen=True):
    id: str
    job_id: str
    from_status: Status | None
    to_status: Status
    timestamp: datetime
    worker_id: str | None
    actor: str | None
    detail: str | None
    cause: str | None
    slurm_job_id: str | None
    output_artifact_id: str | None
    log_artifact_id: str | None
    phase: str | None
    message: str | None
    progress: float | None
    attempt: int
    epoch: int
    sequence: int
    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None


class TransitionList(msgspec.Struct, frozen=True):
    items: list[TransitionItem]
    count: int
    status: Status
    links: Links = msgspec.field(name="_links")


class Extensions(msgspec.Struct, frozen=True):
    """What this server can do beyond the plain protocol; a client uses what it knows."""

    long_poll_seconds: int
    claim_many: str
    sync: str
    sessions: bool
    epochs: bool
    idempotency_key: bool
    logs: str | None = None
    uploads: str | None = None


class WorkerBody(msgspec.Struct, frozen=True):
    worker_id: str
    hostname: str | None
    registered_at: datetime
    last_heartbeat_at: datetime
    capabilities: list[Capability]
    links: Links = msgspec.field(name="_links")
    session: SessionBody | None = None
    extensions: Extensions | UnsetType = UNSET


class WorkerList(msgspec.Struct, frozen=True):
    items: list[WorkerBody]
    count: int
    links: Links = msgspec.field(name="_links")


class HeartbeatAnswer(msgspec.Struct, frozen=True):
    worker_id: str
    status: str = "ok"


class ClaimManyAnswer(msgspec.Struct, frozen=True):
    items: list[JobBody]
    count: int


class ReportResult(msgspec.Struct, frozen=True):
    """What became of one report of a sync: the status code it would have had on its own."""

    job_id: str
    code: int
    status: Status | None = None
    epoch: int | None = None
    kind: str | None = None
    detail: str | None = None


class Gone(msgspec.Struct, frozen=True):
    """A job the worker must stop: cancelled, deleted, or leased to somebody else by now."""

    job_id: str
    reason: str
    status: Status | None = None


class NoClaims(msgspec.Struct, frozen=True):
    """Why this daemon may claim nothing, though its reports were taken."""

    kind: str
    detail: str


class SyncAnswer(msgspec.Struct, frozen=True):
    worker_id: str
    reports: list[ReportResult]
    claimed: list[JobBody]
    stop: list[Gone]
    server_time: datetime
    no_claims: NoClaims | None = None
    watched: list[str] = []


class ExplainBody(msgspec.Struct, frozen=True):
    job_id: str
    status: Status
    code: str
    sentence: str
    facts: dict[str, str | int | float | bool | None]
    links: Links = msgspec.field(name="_links")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """RFC 9457; `kind` is the last part of the type."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    request_id: str | None = None
    retryable: bool | None = None
    current_state: str | None = None
    holder: str | None = None
    epoch: int | None = None
    last_seen_at: str | None = None
    takeover_at: str | None = None
    server_time: str | None = None
    skew_seconds: float | None = None
    offset: int | None = None


NOTHING: Mapping[str, Artifact] = MappingProxyType({})
_SELF = "self"
_PLAIN = "!$&'()*+,:;=@"  # stands for itself in a segment of a path
_METHODS = {_SELF: "GET", "transitions": "GET"}
_PATHS = {"claim": "/claim", "cancel": "/cancel", "transitions": "/transitions", _SELF: ""}


def job(value: Job, results: Mapping[str, Artifact] = NOTHING) -> JobBody:
    """A job as the protocol shows it, with what came of it."""
    said = remarks.opened(value.remarks)
    return JobBody(
        value.id,
        WORDS[value.state],
        value.processor,
        value.profile,
        value.priority,
        value.submit_user,
        value.worker,
        value.slurm_job_id,
        value.parameters,
        value.inputs,
        value.output_artifact_id,
        _result(value.output_artifact_id, results),
        value.log_artifact_id,
        _result(value.log_artifact_id, results),
        value.timeout_seconds,
        value.detail,
        value.cause,
        value.phase,
        value.message,
        value.progress,
        value.attempt,
        value.epoch,
        value.revision,
        value.created_at,
        value.claimed_at,
        value.submitted_at,
        value.started_at,
        value.ended_at,
        value.touched_at,
        job_links(value),
        said.usage,
        said.scheduler,
        said.requested,
    )


def _result(id: str | None, results: Mapping[str, Artifact]) -> ArtifactRef | None:
    found = None if id is None else results.get(id)
    return None if found is None else ArtifactRef(found.id, found.name, found.type, STAGE_WORDS[found.stage])


def job_links(value: Job) -> Links:
    """What a client may do next; exactly the protocol's table."""
    href = f"{PREFIX}/jobs/{value.id}"
    names = (_SELF, "transitions", *LINKS[value.state])
    return {name: Link(href + _PATHS.get(name, "/transition"), _METHODS.get(name, "POST")) for name in names}


def transition(job_id: str, id: str, value: Transition) -> TransitionItem:
    """One row of a job's history as the protocol shows it."""
    payload = value.payload
    said = remarks.opened(payload.remarks)
    return TransitionItem(
        id=id,
        job_id=job_id,
        from_status=WORDS[value.old] if value.old else None,
        to_status=WORDS[value.new],
        timestamp=value.at,
        worker_id=payload.worker,
        actor=value.actor,
        detail=payload.detail,
        cause=value.cause,
        slurm_job_id=payload.slurm_job_id,
        output_artifact_id=payload.output_artifact_id,
        log_artifact_id=payload.log_artifact_id,
        phase=payload.phase,
        message=payload.message,
        progress=payload.progress,
        attempt=value.attempt,
        epoch=value.epoch,
        sequence=value.seq,
        usage=said.usage,
        scheduler=said.scheduler,
        requested=said.requested,
    )


def worker(value: Worker, extensions: Extensions | UnsetType = UNSET) -> WorkerBody:
    """A worker as the protocol shows it; the register answer adds what the server offers."""
    return WorkerBody(
        worker_id=value.id,
        hostname=value.hostname,
        registered_at=value.registered_at,
        last_heartbeat_at=value.seen_at,
        capabilities=[_capability(offer) for offer in value.offers],
        links=worker_links(value.id),
        session=_session(value),
        extensions=extensions,
    )


def _capability(offer: Offer) -> Capability:
    return Capability(offer.processor, offer.profile, offer.max_concurrent_jobs, offer.parameters_schema)


def _session(value: Worker) -> SessionBody | None:
    s = value.session
    return None if s is None else SessionBody(s.id, s.host, s.pid, s.started_at)


def worker_href(worker_id: str) -> str:
    return f"{PREFIX}/workers/{quote(worker_id, safe=_PLAIN)}"


def worker_links(worker_id: str) -> Links:
    return {
        "self": Link(worker_href(worker_id), "GET"),
        "heartbeat": Link(f"{PREFIX}/workers/register", "POST"),
        "jobs": Link(f"{PREFIX}/jobs?status=PENDING", "GET"),
    }
