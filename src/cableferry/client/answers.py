"""What servers of the EMX2 protocol answer, read leniently because a plain one says less than ours."""

import msgspec

from cableferry.wire.emx2.bodies import Capability, Extensions, Gone, Links, NoClaims, ReportResult
from cableferry.wire.emx2.remarks import Requested, Scheduled, Usage

NULL = msgspec.Raw(b"null")


class Job(msgspec.Struct, frozen=True):
    """A job; a server without epochs, attempts or revisions leaves them at nought."""

    id: str
    status: str
    processor: str = ""
    profile: str | None = None
    priority: int = 0
    submit_user: str | None = None
    worker_id: str | None = None
    slurm_job_id: str | None = None
    parameters: msgspec.Raw = NULL
    inputs: msgspec.Raw = NULL
    output_artifact_id: str | None = None
    log_artifact_id: str | None = None
    timeout_seconds: int | None = None
    detail: str | None = None
    cause: str | None = None
    phase: str | None = None
    message: str | None = None
    progress: float | None = None
    attempt: int = 0
    epoch: int | None = None
    revision: int = 0
    created_at: str | None = None
    claimed_at: str | None = None
    submitted_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    updated_at: str | None = None
    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None
    links: Links = msgspec.field(default_factory=dict, name="_links")

    @property
    def is_final(self) -> bool:
        return self.status in FINAL


FINAL = frozenset({"COMPLETED", "FAILED", "CANCELLED"})


class JobList(msgspec.Struct, frozen=True):
    items: list[Job]
    count: int = 0
    total_count: int = 0


class Transition(msgspec.Struct, frozen=True):
    """One row of a job's history."""

    to_status: str
    from_status: str | None = None
    timestamp: str | None = None
    worker_id: str | None = None
    actor: str | None = None
    detail: str | None = None
    cause: str | None = None
    slurm_job_id: str | None = None
    phase: str | None = None
    message: str | None = None
    progress: float | None = None
    attempt: int = 0
    epoch: int | None = None
    sequence: int = 0
    usage: Usage | None = None
    scheduler: Scheduled | None = None
    requested: Requested | None = None


class TransitionList(msgspec.Struct, frozen=True):
    items: list[Transition]


class Worker(msgspec.Struct, frozen=True):
    """A registered worker; only the answer to registering says what else the server can do."""

    worker_id: str = ""
    hostname: str | None = None
    registered_at: str | None = None
    last_heartbeat_at: str | None = None
    capabilities: list[Capability] = []
    extensions: Extensions | None = None


class WorkerList(msgspec.Struct, frozen=True):
    items: list[Worker]


class ClaimedList(msgspec.Struct, frozen=True):
    items: list[Job]


class Sync(msgspec.Struct, frozen=True):
    """What one round trip brought: results of reports, new jobs, jobs to stop."""

    reports: list[ReportResult] = []
    claimed: list[Job] = []
    stop: list[Gone] = []
    watched: list[str] = []
    no_claims: NoClaims | None = None


class Explanation(msgspec.Struct, frozen=True):
    job_id: str
    status: str
    code: str
    sentence: str
    facts: dict[str, str | int | float | bool | None] = {}


class Credential(msgspec.Struct, frozen=True):
    """A worker's credential; the secret comes once, when it is issued."""

    id: str
    worker_id: str
    status: str = ""
    label: str | None = None
    created_at: str | None = None
    created_by: str | None = None
    last_used_at: str | None = None
    revoked_at: str | None = None
    expires_at: str | None = None
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Credential(id={self.id!r}, worker_id={self.worker_id!r}, status={self.status!r})"


class Artifact(msgspec.Struct, frozen=True):
    """An artifact; a plain server knows fewer fields, and some give numbers as texts."""

    id: str
    status: str = ""
    type: str | None = None
    format: str | None = None
    residence: str = "managed"
    name: str | None = None
    metadata: msgspec.Raw = NULL
    content_url: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None
    schema: msgspec.Raw = NULL
    schema_error: str | None = None
    detail: str | None = None
    created_by: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    committed_at: str | None = None


class ArtifactList(msgspec.Struct, frozen=True):
    items: list[Artifact]
    count: int = 0
    total_count: int = 0


class File(msgspec.Struct, frozen=True):
    """One path in an artifact, from a list or from the answer to an upload."""

    path: str = ""
    id: str | None = None
    role: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None
    content_type: str | None = None
    is_stored: bool = True


class Upload(msgspec.Struct, frozen=True):
    """A file on its way: `offset` is where the next byte belongs."""

    id: str
    path: str = ""
    offset: int = 0
    length: int | None = None
    sha256: str | None = None
    is_complete: bool = False


class UploadList(msgspec.Struct, frozen=True):
    items: list[Upload]
    direct: bool = False


class FileList(msgspec.Struct, frozen=True):
    items: list[File]
    count: int = 0
    total_count: int = 0


class CredentialList(msgspec.Struct, frozen=True):
    items: list[Credential]
