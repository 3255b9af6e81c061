"""What a daemon is told, whichever file says it: which server, which scheduler, what runs how."""

import os
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from cableferry.client.schemes import Bearer, Scheme, Shown, Signed, Unsigned
from cableferry.daemon import secrets
from cableferry.daemon.staging.web import Web
from cableferry.schedulers.protocol import Resources
from cableferry.wire.emx2 import schemas

SECRET_VARIABLE = "CABLEFERRY_WORKER_SECRET"
Backend = Literal["slurm", "local", "simulate"]
Residence = Literal["managed", "posix"]
Kept = Literal["never", "failed", "always"]


class BadConfig(Exception):
    """A configuration that cannot be used, with what to change."""


class Container(msgspec.Struct, frozen=True):
    """An image to run in, and what in it is run."""

    image: str
    entrypoint: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    program: str = "apptainer"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How this site runs one processor at one size; without a profile, at any size."""

    processor: str
    profile: str | None = None
    command: tuple[str, ...] = ()
    container: Container | None = None
    takes_commands: bool = False
    resources: Resources = Resources()
    environment: dict[str, str] = {}
    output_residence: Residence = "managed"
    log_residence: Residence = "managed"
    submission_seconds: float = 300
    execution_seconds: float = 0
    max_concurrent_jobs: int | None = None
    retries: dict[str, int] = {}
    parameters_schema: msgspec.Raw | UnsetType = UNSET

    @property
    def label(self) -> str:
        return self.processor if self.profile is None else f"{self.processor}:{self.profile}"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """One daemon; `state_dir` is on this machine's own disk, `jobs_dir` where the nodes see it too."""

    worker_id: str
    server: str
    state_dir: str
    jobs_dir: str
    profiles: tuple[Profile, ...]
    backend: Backend = "slurm"
    secret: str | None = None
    secret_file: str | None = None
    token_file: str | None = None
    signs: bool = True
    max_concurrent_jobs: int = 1
    poll_seconds: float = 5
    look_seconds: float = 5
    stop_seconds: float = 5
    queue_report_seconds: float = 300
    heartbeat_seconds: float = 120
    lost_seconds: float = 120
    least_free_bytes: int = 100 * 2**20
    command_seconds: float = 30
    cluster: str | None = None
    keep_work_dirs: Kept = "never"
    posix_roots: tuple[str, ...] | None = None
    redact: tuple[str, ...] = ()
    web: Web = Web()
    metrics_file: str | None = None
    metrics_port: int | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Config(worker_id={self.worker_id!r}, server={self.server!r})"


def profile_for(config: Config, processor: str, profile: str | None) -> Profile | None:
    """The profile that a job asks for; one that asks for no size takes `default`, else the first."""
    offered = [one for one in config.profiles if one.processor == processor]
    wanted = [one for one in offered if one.profile == profile]
    if not wanted and profile is None:
        wanted = [one for one in offered if one.profile == "default"] or offered
    return next(iter(wanted or [one for one in offered if one.profile is None]), None)


def scheme(config: Config) -> Scheme:
    """How the worker proves who it is: a secret of the environment, a file or the configuration, a token, nothing."""
    if config.token_file is not None and SECRET_VARIABLE not in os.environ:
        return Bearer(read_secret(Path(config.token_file)), config.worker_id)
    kept = None if config.secret_file is None else Path(config.secret_file)
    secret = os.environ.get(SECRET_VARIABLE) or (config.secret if kept is None else read_secret(kept))
    if not secret:
        return Unsigned(config.worker_id)
    return Signed(config.worker_id, secret) if config.signs else Shown(config.worker_id, secret)


def read_schema(beside: Path, name: str | None) -> msgspec.Raw | UnsetType:
    """What a processor's parameters must look like, from a file that is named relative to the configuration."""
    if name is None:
        return UNSET
    path = beside / name
    try:
        text = path.read_bytes()
        value = msgspec.json.decode(text)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no JSON: {error}") from error
    if not isinstance(value, dict) or len(text) > schemas.LONGEST:
        raise BadConfig(f"{path} must hold a JSON schema, an object of at most {schemas.LONGEST} bytes")
    return msgspec.Raw(msgspec.json.encode(value))


def read_secret(path: Path) -> str:
    """The one line of a file that nobody else may read."""
    try:
        return secrets.read(path)
    except secrets.Unreadable as error:
        raise BadConfig(str(error)) from error
