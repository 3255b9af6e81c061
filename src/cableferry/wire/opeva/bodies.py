"""The bodies of the worker contract, as they are sent and as they are answered."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from cableferry.wire import texts

Name = Annotated[str, Meta(min_length=1, max_length=255, pattern=texts.NAME)]
HostName = Annotated[str, Meta(max_length=255, pattern=texts.ONE_LINE)]
Text = Annotated[str, Meta(max_length=10_000, pattern=texts.NO_NUL)]
FileName = Annotated[str, Meta(max_length=1000)]
JobId = Annotated[str, Meta(max_length=255, pattern=texts.NO_NUL)]
ExitCode = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Facts = dict[str, Raw]
Config = Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]


def _null() -> Raw:
    return Raw(b"null")


class LaunchBody(msgspec.Struct, frozen=True):
    """What to run: a configuration of its own, or the path of one that is there; an empty host is none."""

    config: Config = msgspec.field(default_factory=_null)
    config_path: FileName | None = None
    target_host: HostName | None = None
    save_as: FileName | None = None


class LaunchAnswer(msgspec.Struct, frozen=True):
    """A job that waits for a worker."""

    job_id: str
    status: str
    host: str | None
    job_name: str


class PollBody(msgspec.Struct, frozen=True):
    """A worker that wants a job; the capabilities it names are those of later workers."""

    worker_id: Name
    capabilities: list[Text] | None = None


class Volume(msgspec.Struct, frozen=True):
    """A folder of the worker's machine, and where the container sees it."""

    host: str
    container: str
    mode: str = "rw"


class Payload(msgspec.Struct, frozen=True):
    """A job as its worker gets it; what proves the attempt is there for workers that asked for it."""

    job_id: str
    job_name: str
    config_path: str
    preferred_host: str | None
    image: str
    command: str
    container_name: str
    volumes: list[Volume]
    env: dict[str, str]
    attempt_number: int | UnsetType = UNSET
    attempt_token: str | UnsetType = UNSET
    attempt_protocol: str | UnsetType = UNSET


class StatusBody(msgspec.Struct, frozen=True):
    """What a worker says of a job; however long its error is, the status counts."""

    job_id: JobId
    status: Text
    worker_id: Name | None = None
    container_id: Text | None = None
    container_name: Text | None = None
    exit_code: ExitCode | None = None
    error: str | None = None
    details: Facts | None = None
    attempt_number: int | None = None
    attempt_token: Text | None = None


class HeartbeatBody(msgspec.Struct, frozen=True):
    """A worker that lives, and what it says of itself."""

    worker_id: Name
    info: Facts | None = None


class Ok(msgspec.Struct, frozen=True):
    """It was taken."""

    ok: bool = True


class Message(msgspec.Struct, frozen=True):
    """What was done, in a sentence."""

    message: str


class Done(msgspec.Struct, frozen=True):
    """What was done about a job, and where the job is now."""

    message: str
    job_id: str
    status: str


class RequeueBody(msgspec.Struct, frozen=True):
    """Whom a job shall go to when it goes back to the queue; without a word, whom it went to."""

    force: bool = False
    preferred_host: HostName | None = None
    require_host: bool | None = None


class FailBody(msgspec.Struct, frozen=True):
    """Why a job is said to have failed."""

    reason: Text = "ops_failed"
    force: bool = False


class CancelBody(msgspec.Struct, frozen=True):
    """Why a job is called off."""

    reason: Text = "ops_canceled"
    force: bool = False


class StopBody(msgspec.Struct, frozen=True):
    """Why a job shall stop."""

    reason: Text = "ops_stop"


class QueueCleanupBody(msgspec.Struct, frozen=True):
    """By force, files that cannot be read are removed as well."""

    force: bool = False


class JobsCleanupBody(msgspec.Struct, frozen=True):
    """Jobs that stay although they are over."""

    keep: list[JobId] | None = None


class Removed(msgspec.Struct, frozen=True):
    """Whose files were removed from the queue."""

    removed: list[str]
    count: int


class Cleaned(msgspec.Struct, frozen=True):
    """Which jobs were removed, and which that were asked for stayed."""

    removed: list[str]
    kept: list[str]
    count: int


class ConfigBody(msgspec.Struct, frozen=True):
    """A configuration as an object, or as the text of its file."""

    file_name: FileName
    config: Config = msgspec.field(default_factory=_null)
    yaml_content: str | None = None


class ConfigContent(msgspec.Struct, frozen=True):
    """The same for a file whose name is in the path."""

    config: Config = msgspec.field(default_factory=_null)
    yaml_content: str | None = None


class Saved(msgspec.Struct, frozen=True):
    """Under which name a configuration lies."""

    message: str
    file: str


class Info(msgspec.Struct, frozen=True):
    """What is known of a job besides where it is."""

    job_id: str
    job_name: str
    config_path: str
    target_host: str
    container_id: str
    container_name: str
    experiment_name: str
    run_name: str
    exit_code: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    details: Raw | UnsetType = UNSET


class Entry(msgspec.Struct, frozen=True):
    """One job of a list; times are seconds since 1970."""

    job_id: str
    status: str
    job_info: Info
    submitted_at: float
    dispatched_at: float | None
    started_at: float | None
    finished_at: float | None
    last_status_at: float
    attempt_number: int


class Waiting(msgspec.Struct, frozen=True):
    """One job of the queue."""

    job_id: str
    preferred_host: str | None
    require_host: bool
    enqueued_at: float


class Host(msgspec.Struct, frozen=True):
    """A worker as it was last seen; `running` counts what it holds."""

    online: bool
    last_seen: float | None
    info: Raw
    running: int
    active_job_ids: list[str]


class Hosts(msgspec.Struct, frozen=True):
    """Which workers may run jobs, and how they are."""

    available_hosts: list[str]
    hosts: dict[str, Host]


class LogsChunk(msgspec.Struct, frozen=True):
    """A piece of a job's log."""

    job_id: str
    text: str
    next_offset: int
    truncated: bool
    available: bool
    message: str | None


class Health(msgspec.Struct, frozen=True):
    """Whether the server serves, and what is wrong with its shared folder."""

    status: str
    detail: str | UnsetType = UNSET


class Moved(msgspec.Struct, frozen=True):
    """One row of a job's history; `at` is in seconds since 1970."""

    at: float
    old: str | None
    new: str
    by: str | None
    attempt_number: int
    detail: str | None
    remarks: Raw | None


class Explained(msgspec.Struct, frozen=True):
    """Why a job is where it is."""

    job_id: str
    status: str
    code: str
    sentence: str
    facts: dict[str, str | int | float | bool | None]


class Flaw(msgspec.Struct, frozen=True):
    """One thing that is wrong with a request."""

    type: str
    loc: list[str]
    msg: str
    input: str | None = None


class Refusal(msgspec.Struct, frozen=True):
    """Why something was refused: a sentence, a list of flaws, or facts for a worker that lost its attempt."""

    detail: str | list[Flaw] | dict[str, str | int | None]
