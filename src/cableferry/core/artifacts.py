"""What an artifact is, which files it may hold, and when it may still change."""

import re
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from cableferry.core.errors import Conflict, Kind
from cableferry.core.machine import Machine

MOST_FILES = 200_000


class Stage(StrEnum):
    """How far an artifact has come."""

    CREATED = "created"
    UPLOADING = "uploading"
    REGISTERED = "registered"
    COMMITTED = "committed"
    FAILED = "failed"


class Residence(StrEnum):
    """Where the bytes of an artifact live."""

    MANAGED = "managed"
    POSIX = "posix"
    S3 = "s3"
    HTTP = "http"
    REFERENCE = "reference"


class Role(StrEnum):
    """What a file is within its artifact."""

    PRIMARY = "primary"
    INDEX = "index"
    METADATA = "metadata"
    ANCILLARY = "ancillary"


_S = Stage

ARTIFACTS: Machine[Stage] = Machine(
    moves={
        _S.CREATED: frozenset({_S.UPLOADING, _S.FAILED}),
        _S.UPLOADING: frozenset({_S.COMMITTED, _S.FAILED}),
        _S.REGISTERED: frozenset({_S.COMMITTED, _S.FAILED}),
        _S.COMMITTED: frozenset(),
        _S.FAILED: frozenset(),
    }
)
OPEN: frozenset[Stage] = frozenset(stage for stage in Stage if not ARTIFACTS.is_final(stage))


class Artifact(msgspec.Struct, frozen=True, gc=False):
    """A described set of files; what it says of itself never changes after it was committed."""

    key: int
    id: str
    stage: Stage
    revision: int
    type: str
    format: str | None
    residence: Residence
    name: str | None
    metadata: msgspec.Raw
    content_url: str | None
    job_id: str | None
    sha256: str | None
    declared_sha256: str | None
    size_bytes: int | None
    table_schema: msgspec.Raw | None
    schema_error: str | None
    detail: str | None
    created_by: str | None
    created_at: datetime
    touched_at: datetime
    committed_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.stage in OPEN


class Draft(msgspec.Struct, frozen=True):
    """An artifact as its creator describes it."""

    type: str = "blob"
    format: str | None = None
    residence: Residence = Residence.MANAGED
    name: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    content_url: str | None = None
    job_id: str | None = None
    created_by: str | None = None


class Filter(msgspec.Struct, frozen=True):
    """Which artifacts a list is about; nothing said means every one. `search` is part of a name or of an id."""

    stage: Stage | None = None
    type: str | None = None
    format: str | None = None
    residence: Residence | None = None
    name: str | None = None
    job_id: str | None = None
    search: str | None = None


class File(msgspec.Struct, frozen=True, gc=False):
    """One path in an artifact; without a blob its bytes are declared, not stored. `seq` tells the order of arrival.

    What came from a client of S3's is known to such clients by its `etag`, and comes back to them with its `headers`.
    """

    key: int
    artifact_key: int
    path: str
    id: str
    role: Role | None
    sha256: str | None
    size_bytes: int | None
    content_type: str | None
    blob_key: int | None
    seq: int
    created_at: datetime
    etag: str | None = None
    headers: str | None = None

    @property
    def is_stored(self) -> bool:
        return self.blob_key is not None


class Description(msgspec.Struct, frozen=True):
    """What is said of a file besides its bytes; `headers` are a JSON object that the store only keeps."""

    path: str
    role: Role | None = None
    content_type: str | None = None
    headers: str | None = None


class Declared(msgspec.Struct, frozen=True):
    """What a committing client says the content is."""

    sha256: str | None = None
    size_bytes: int | None = None


class Sum(msgspec.Struct, frozen=True):
    """What the files of an artifact add up to; no hash where one of them has none."""

    files: int
    size_bytes: int | None
    sha256: str | None


class Outcome(msgspec.Struct, frozen=True):
    """What became of a commit: the content as it is known now, or why it is none."""

    sha256: str | None = None
    declared_sha256: str | None = None
    size_bytes: int | None = None
    table_schema: msgspec.Raw | None = None
    schema_error: str | None = None
    failure: str | None = None


class Examined(msgspec.Struct, frozen=True):
    """The outcome of a commit, if the artifact still has the revision that was examined."""

    revision: int
    outcome: Outcome


class Use(StrEnum):
    """What an artifact is to a job."""

    INPUT = "input"
    OUTPUT = "output"
    LOG = "log"


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_id(text: str) -> bool:
    """Whether a text could be an artifact's id."""
    return _UUID.fullmatch(text) is not None


def first_stage(residence: Residence) -> Stage:
    """What lies elsewhere has nothing to upload."""
    return Stage.CREATED if residence is Residence.MANAGED else Stage.REGISTERED


def check_open(artifact: Artifact) -> None:
    """Refuse to change what is committed or has failed."""
    if artifact.is_open:
        return
    kind = Kind.COMMITTED if artifact.stage is Stage.COMMITTED else Kind.ARTIFACT_FAILED
    raise Conflict(
        f"artifact {artifact.id} is {artifact.stage} and cannot change any more: create a new artifact",
        kind,
        current_state=artifact.stage,
    )


def check_takes_bytes(artifact: Artifact) -> None:
    """Refuse bytes for what is kept elsewhere."""
    check_open(artifact)
    if artifact.residence is not Residence.MANAGED:
        raise Conflict(
            f"the bytes of artifact {artifact.id} live elsewhere ({artifact.residence}):"
            " send a file's metadata as JSON",
            Kind.NOT_MANAGED,
            current_state=artifact.stage,
        )


def check_usable(artifact: Artifact | None, id: str) -> None:
    """Refuse a job whose input does not stand firm."""
    if artifact is None:
        raise Conflict(f"there is no artifact {id}: name one that is committed as input", Kind.BAD_INPUT)
    if artifact.stage is not Stage.COMMITTED:
        raise Conflict(
            f"artifact {id} is {artifact.stage}, not committed: commit it before a job takes it as input",
            Kind.BAD_INPUT,
            current_state=artifact.stage,
        )


def touched(artifact: Artifact, now: datetime) -> Artifact:
    """The artifact after one of its files came or went; the first one opens the upload."""
    stage = Stage.UPLOADING if artifact.stage is Stage.CREATED else artifact.stage
    return replace(artifact, stage=stage, revision=artifact.revision + 1, touched_at=now)


def check_committable(artifact: Artifact) -> None:
    """Refuse a commit of what has nothing in it or is over."""
    check_open(artifact)
    if artifact.stage is Stage.CREATED:
        raise _nothing_in(artifact)


def check_filled(artifact: Artifact, files: int) -> None:
    """Refuse a commit of a managed artifact whose files are all gone again: its hash would be what somebody says."""
    if artifact.residence is Residence.MANAGED and not files:
        raise _nothing_in(artifact)


def _nothing_in(artifact: Artifact) -> Conflict:
    return Conflict(
        f"artifact {artifact.id} has no files: upload at least one before the commit",
        Kind.ILLEGAL_MOVE,
        current_state=artifact.stage,
    )


def is_repeated(artifact: Artifact, declared: Declared) -> bool:
    """Whether this commit was done before: the same content was committed."""
    if artifact.stage is not Stage.COMMITTED:
        return False
    known = {artifact.sha256, artifact.declared_sha256, None}
    said = None if declared.sha256 is None else declared.sha256.lower()
    return said in known and declared.size_bytes in (artifact.size_bytes, None)


def committed(artifact: Artifact, outcome: Outcome, now: datetime) -> Artifact:
    """The artifact with its content fixed, or failed when the content could not be confirmed."""
    if outcome.failure is not None:
        return failed(artifact, outcome.failure, now)
    return replace(
        artifact,
        stage=Stage.COMMITTED,
        revision=artifact.revision + 1,
        sha256=outcome.sha256,
        declared_sha256=outcome.declared_sha256,
        size_bytes=outcome.size_bytes,
        table_schema=outcome.table_schema,
        schema_error=outcome.schema_error,
        touched_at=now,
        committed_at=now,
    )


def failed(artifact: Artifact, detail: str, now: datetime) -> Artifact:
    """The artifact given up, with the reason."""
    return replace(artifact, stage=Stage.FAILED, revision=artifact.revision + 1, detail=detail, touched_at=now)
