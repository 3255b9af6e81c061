"""What stands of a job in the files of the shared folder, and the same as the API shows it."""

import re
from datetime import datetime

import msgspec
from msgspec import UNSET, Raw

from cableferry.core.jobs import Cause, Job, State, Wish
from cableferry.wire.opeva import words
from cableferry.wire.opeva.bodies import Entry, Info, Waiting

Document = dict[str, object]

TOKEN_DIGEST = "attempt_token_sha256"
"""The remark that fences an attempt; it is never shown."""
CONFIG = "config.yaml"
CONTAINER_ROOT = "/data"

# how the contract spells why the server itself gave up on a job
_ERRORS = {Cause.SILENT: "stale_status", Cause.NOT_SUBMITTED: "stale_status", Cause.OFFLINE: "worker_offline"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class Launched(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job was launched with; `own_config` is where its own copy of the configuration lies."""

    job_name: str
    config_path: str
    experiment_name: str
    run_name: str
    own_config: str


_DECODER = msgspec.json.Decoder(Launched)


def launched(job: Job) -> Launched:
    return _DECODER.decode(job.parameters)


def remarks(said: Raw | None) -> dict[str, Raw]:
    """What was said, save what only the holder of an attempt may know."""
    known = {} if said is None else msgspec.json.decode(said, type=dict[str, Raw])
    known.pop(TOKEN_DIGEST, None)
    return known


def shown(said: Raw | None) -> Raw | None:
    known = remarks(said)
    return Raw(msgspec.json.encode(known)) if known else None


def word(job: Job) -> str:
    return words.word(job.state, job.wish, job.cause)


def target(job: Job) -> str | None:
    """The worker that has a job, or should get it."""
    return job.worker or (job.preference.worker if job.preference else None)


def status(job: Job) -> Document:
    """Everything that is known of where a job is: what was said once stays."""
    document: Document = {"job_id": job.id, "status": word(job)}
    if job.worker is not None:
        document["worker_id"] = job.worker
    document["preferred_host"] = job.preference.worker if job.preference else None
    document["attempt_number"] = job.attempt
    if job.wish is Wish.STOP:
        document["stop_requested"] = True
    if job.cause in _ERRORS:
        document |= {"error": _ERRORS[job.cause], "last_host": job.worker}
    moment = seconds(job.touched_at)
    return document | remarks(job.remarks) | {"status_updated_at": moment, "last_status_at": moment}


def info(job: Job) -> Info:
    known, said = launched(job), remarks(job.remarks)
    return Info(
        job_id=job.id,
        job_name=known.job_name,
        config_path=known.config_path,
        target_host=target(job) or "",
        container_id=_text(said, "container_id"),
        container_name=_text(said, "container_name"),
        experiment_name=known.experiment_name,
        run_name=known.run_name,
        exit_code=said.get("exit_code", UNSET),
        error=said.get("error", UNSET),
        details=said.get("details", UNSET),
    )


def entry(job: Job) -> Entry:
    return Entry(
        job_id=job.id,
        status=word(job),
        job_info=info(job),
        submitted_at=seconds(job.created_at),
        dispatched_at=_seconds(job.claimed_at),
        started_at=_seconds(job.started_at),
        finished_at=_seconds(job.ended_at),
        last_status_at=seconds(job.touched_at),
        attempt_number=job.attempt,
    )


def waiting(job: Job) -> Waiting:
    preference = job.preference
    return Waiting(
        job.id, preference.worker if preference else None, bool(preference and preference.is_pinned),
        seconds(job.moved_at),
    )  # fmt: skip


def tracked(job: Job) -> Document:
    """A job in the registry of all jobs."""
    known = launched(job)
    registered: Document = {
        "job_name": known.job_name,
        "config_path": known.config_path,
        "target_host": target(job),
        "experiment_name": known.experiment_name,
        "run_name": known.run_name,
        "require_host": bool(job.preference and job.preference.is_pinned),
        "submitted_at": seconds(job.created_at),
    }
    return registered | status(job)


def is_waiting(job: Job) -> bool:
    return job.state is State.READY


def slug(name: str) -> str:
    """A name as every worker and runtime takes it."""
    return _UNSAFE.sub("_", name)


def container_name(job: Job) -> str:
    return f"opeva_job_{slug(launched(job).job_name)[:40]}_{job.id[:8]}"


def command(job: Job) -> str:
    return f"--config {CONTAINER_ROOT}/{launched(job).own_config} --job_id {job.id}"


def seconds(moment: datetime) -> float:
    return moment.timestamp()


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else seconds(moment)


def _text(said: dict[str, Raw], name: str) -> str:
    value = msgspec.json.decode(said.get(name, Raw(b'""')))
    return value if isinstance(value, str) else ""
