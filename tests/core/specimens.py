"""Jobs and workers as tests want them: everything usual, save what a test says."""

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from cableferry.core.artifacts import Artifact, File, Residence, Stage
from cableferry.core.jobs import FINAL, HELD, Job, State
from cableferry.core.policy import Limits, Timeouts
from cableferry.core.uploads import Manner, Upload
from cableferry.core.workers import Offer, Session, Speaker, Worker

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NEVER = Timeouts(default=Limits())
SPEAKER = Speaker("w1", None, "worker:w1")


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def a_job(state: State = State.READY, **said: object) -> Job:
    """A job in a state, held by w1 where that state needs a holder."""
    is_leased = state in HELD or state in FINAL
    job = Job(
        key=17, id="j17", pool="emx2", state=state, wish=None, cause=None, attempt=1, epoch=1 if is_leased else 0,
        revision=3, processor="embed", profile="gpu", priority=0, timeout_seconds=None, submit_user=None,
        created_by=None, worker="w1" if is_leased else None, slurm_job_id=None, output_artifact_id=None,
        log_artifact_id=None, detail=None, phase=None, message=None, progress=None, created_at=NOW, moved_at=NOW,
        touched_at=NOW, claimed_at=NOW if is_leased else None, submitted_at=None, started_at=None,
        ended_at=NOW if state in FINAL else None, due_at=None, ends_by=None, parameters=msgspec.Raw(b"null"),
        inputs=msgspec.Raw(b"null"),
    )  # fmt: skip
    return replace(job, **said)


def a_worker(id: str = "w1", *offers: Offer, **said: object) -> Worker:
    """A worker heard of now that offers what it is given, or embed on gpu without a limit."""
    worker = Worker(
        id=id, pool="emx2", hostname="head-1", offers=offers or (Offer("embed", "gpu"),), registered_at=NOW, seen_at=NOW
    )
    return replace(worker, **said)


def a_session(id: str = "boot-0001", host: str | None = "head-1", pid: int | None = 4711) -> Session:
    return Session(id, host, pid, NOW)


def an_artifact(stage: Stage = Stage.UPLOADING, **said: object) -> Artifact:
    artifact = Artifact(
        key=7, id="a7", stage=stage, revision=3, type="blob", format=None, residence=Residence.MANAGED, name=None,
        metadata=msgspec.Raw(b"null"), content_url=None, job_id=None, sha256=None, declared_sha256=None,
        size_bytes=None, table_schema=None, schema_error=None, detail=None, created_by="user:mia", created_at=NOW,
        touched_at=NOW, committed_at=None,
    )  # fmt: skip
    return replace(artifact, **said)


def a_file(path: str = "x", sha256: str | None = "aa", size: int | None = 1, **said: object) -> File:
    return replace(File(1, 7, path, "f", None, sha256, size, None, None, 1, NOW), **said)


def an_upload(**said: object) -> Upload:
    upload = Upload(
        key=5, id="u5", artifact_key=7, artifact_id="a7", path="x", manner=Manner.STREAM, role=None, content_type=None,
        length=None, received=0, sha256=None, metadata=None, revision=1, created_by="user:mia", created_at=NOW,
        touched_at=NOW, expires_at=NOW + seconds(60), completed_at=None,
    )  # fmt: skip
    return replace(upload, **said)
