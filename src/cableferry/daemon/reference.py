"""Reads the configuration of a daemon of the EMX2 protocol, as all generations of it were written."""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeGuard, TypeVar

import msgspec
import yaml
from msgspec import Meta

from cableferry.daemon import allowed
from cableferry.daemon.allowed import BucketSection, InputsSection
from cableferry.daemon.config import Backend, BadConfig, Config, Container, Kept, Profile, Residence, read_schema
from cableferry.daemon.tailing import redacting
from cableferry.daemon.worker_file import nearest
from cableferry.schedulers.protocol import Ending, Resources

Seconds = Annotated[float, Meta(ge=0, le=31_536_000)]
Positive = Annotated[float, Meta(gt=0, le=86_400)]
Jobs = Annotated[int, Meta(ge=1, le=10**6)]
Words = str | list[str]
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_YES_OR_NO = ("allow_raw_commands", "may_restart")
_ANSWERS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_SECRET = ("worker_secret", "shared_secret", "secret_access_key")
# what separates the parts of a bind mount, or stands for a job's id in Slurm's file names
_CLUSTER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_UNFIT = re.compile(r"[,:%\\\x00-\x1f\x7f]")


class Emx2Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    base_url: str = "http://localhost:8080"
    worker_id: Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x20\x7f/?#]+$")] = "hpc-daemon-01"
    shared_secret: str | None = None
    shared_secret_file: str | None = None
    worker_secret: str | None = None
    worker_secret_file: str | None = None
    auth_mode: Annotated[str, Meta(pattern="^(hmac|token)$")] = "hmac"
    artifact_residence: Residence | None = None

    def __repr__(self) -> str:
        return f"Emx2Section(base_url={self.base_url!r}, worker_id={self.worker_id!r})"


class WorkerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    poll_interval_seconds: Positive = 30
    max_concurrent_jobs: Jobs = 10
    queue_report_interval_seconds: Seconds = 300
    heartbeat_interval_seconds: Positive = 120
    state_db: str | None = None
    stop_seconds: Positive = 30
    lost_seconds: Positive = 120
    least_free_mb: Annotated[int, Meta(ge=0)] = 100
    keep_work_dirs: Kept = "never"
    posix_roots: list[str] | None = None
    redact: list[str] = []
    backend: Backend = "slurm"


class SlurmSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_partition: str | None = None
    default_account: str | None = None
    default_qos: str | None = None
    cluster: str | None = None
    look_interval_seconds: Positive = 5
    command_timeout_seconds: Positive = 30


class ApptainerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bind_paths: list[str] = []
    tmp_dir: str = "/tmp/emx2-hpc"  # noqa: S108  # where the daemons of the field keep it
    command: str = "apptainer"


class ProfileSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sif_image: str | None = None
    container_entrypoint: Words = []
    entrypoint: Words = []
    host_entrypoint: Words = []
    cluster: str | None = None
    partition: str | None = None
    cpus: Annotated[int, Meta(ge=1)] = 4
    memory: str = "16G"
    time: str = "01:00:00"
    extra_args: Words = []
    sbatch_args: Words = []
    artifact_residence: Residence | None = None
    output_residence: Residence | None = None
    log_residence: Residence | None = None
    claim_timeout_seconds: Seconds | None = None
    submission_timeout_seconds: Seconds | None = None
    execution_timeout_seconds: Seconds = 0
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    gres: str | None = None
    gpus: str | None = None
    modules: list[str] = []
    environment: dict[str, str] = {}
    bind_paths: list[str] = []
    max_concurrent_jobs: Jobs | None = None
    allow_raw_commands: bool = False
    may_restart: bool = False
    retries: dict[Ending, Annotated[int, Meta(ge=0, le=10)]] = {}
    parameters_schema_file: str | None = None


class MetricsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str | None = None
    port: Annotated[int, Meta(ge=1, le=65535)] | None = None


SECTIONS = ("emx2", "worker", "slurm", "apptainer", "profiles", "inputs", "metrics")
S = TypeVar("S", bound=msgspec.Struct)


class File(msgspec.Struct, frozen=True):
    """The sections of one file."""

    emx2: Emx2Section
    worker: WorkerSection
    slurm: SlurmSection
    apptainer: ApptainerSection
    profiles: dict[tuple[str, str], ProfileSection]
    inputs: InputsSection
    buckets: dict[str, BucketSection]
    metrics: MetricsSection


def load(path: Path) -> Config:
    """The configuration of a file; secrets' files may be named relative to it."""
    raw = _raw(path)
    table = {name: _filled(path, value) for name, value in raw.items()}
    if unknown := [name for name in table if name not in SECTIONS]:
        raise BadConfig(f"{path}: there is no section {unknown[0]}{nearest(table, SECTIONS)}")
    file = File(
        _section(path, "emx2", table.get("emx2"), Emx2Section),
        _section(path, "worker", table.get("worker"), WorkerSection),
        _section(path, "slurm", table.get("slurm"), SlurmSection),
        _section(path, "apptainer", table.get("apptainer"), ApptainerSection),
        dict(_profiles(path, table.get("profiles"))),
        *_inputs(path, table.get("inputs")),
        _section(path, "metrics", table.get("metrics"), MetricsSection),
    )
    _refuse_unfit(path, file)
    return _config(path, file, tuple(_warnings(path, raw)))


def _raw(path: Path) -> dict[str, object]:
    try:
        # every scalar is a text until a key says otherwise: 04:00:00 is a time here and not a number of seconds
        read = yaml.load(path.read_text(), yaml.BaseLoader)  # noqa: S506  # it makes texts, lists and tables only
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    if read in (None, ""):
        return {}
    if not isinstance(read, dict):
        raise BadConfig(f"{path} holds no sections")
    return {str(name): value for name, value in read.items()}


def _filled(path: Path, value: object) -> object:
    """The value with the environment's variables in it, and without what was left empty."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _variable(path, found[1]), value)
        case list():
            return [_filled(path, item) for item in value]
        case dict():
            return {str(name): _filled(path, item) for name, item in value.items() if item not in ("", None)}
        case _:
            return value


def _variable(path: Path, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise BadConfig(f"{path} names the environment's variable {name}, which is not set")
    return value


def _section(path: Path, name: str, value: object, kind: type[S]) -> S:
    table = {} if value in (None, "") else value
    if not isinstance(table, dict):
        raise BadConfig(f"{path}: {name} is no section with keys")
    given = {key: _answered(key, item) for key, item in table.items() if item not in ("", None)}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {name}: {error}{nearest(given, kind.__struct_fields__)}") from error


def _answered(key: str, value: object) -> object:
    """Yes and no, in all the words that YAML has for them."""
    return _ANSWERS.get(value.lower(), value) if key in _YES_OR_NO and isinstance(value, str) else value


def _inputs(path: Path, value: object) -> tuple[InputsSection, dict[str, BucketSection]]:
    if not isinstance(value, dict):
        return _section(path, "inputs", value, InputsSection), {}
    table = {key: said for key, said in value.items() if key != "s3"}
    found = allowed.buckets(value.get("s3"), lambda name, said: _section(path, name, said, BucketSection))
    return _section(path, "inputs", table, InputsSection), found


def _profiles(path: Path, value: object) -> Iterator[tuple[tuple[str, str], ProfileSection]]:
    """Each with its processor and profile, written as one key or as a table in a table."""
    if value in (None, ""):
        return
    if not isinstance(value, dict):
        raise BadConfig(f"{path}: profiles is no section with keys")
    for key, said in value.items():
        if _is_nested(said):
            for profile, inner in said.items():
                yield (key, profile), _section(path, f"profiles.{key}:{profile}", inner, ProfileSection)
        else:
            yield _split(path, key), _section(path, f"profiles.{key}", said, ProfileSection)


def _is_nested(said: object) -> TypeGuard[dict[str, object]]:
    """Whether it holds profiles, and not keys of one whose values are tables."""
    tables = ("environment", "retries")
    is_of_tables = isinstance(said, dict) and bool(said) and all(isinstance(item, dict) for item in said.values())
    return isinstance(said, dict) and is_of_tables and not all(key in tables for key in said)


def _split(path: Path, key: str) -> tuple[str, str]:
    """A processor may have colons in its name, so the last separator counts."""
    separator = "/" if key.rfind("/") > key.rfind(":") else ":"
    processor, _, profile = key.rpartition(separator)
    if not (processor and profile):
        raise BadConfig(f"{path}: profiles.{key} is not named processor:profile")
    return processor, profile


def _refuse_unfit(path: Path, file: File) -> None:
    if not file.emx2.base_url.startswith(("http://", "https://")):
        raise BadConfig(f"{path}: emx2.base_url is the server's address and begins with https:// or http://")
    if "@" in file.emx2.base_url.partition("://")[2].partition("/")[0]:
        raise BadConfig(f"{path}: emx2.base_url may hold no user and no password: write worker_secret_file")
    if _UNFIT.search(file.apptainer.tmp_dir):
        raise BadConfig(f"{path}: apptainer.tmp_dir may hold no comma, colon, percent sign or backslash")
    if file.metrics.file is not None and not file.metrics.file.startswith("/"):
        raise BadConfig(f"{path}: metrics.file is a whole path, from the root")
    try:
        redacting.compiled(file.worker.redact)
    except redacting.BadPattern as error:
        raise BadConfig(f"{path}: worker.redact: {error}") from error
    clusters = [file.slurm.cluster, *(said.cluster for said in file.profiles.values())]
    if unfit := [name for name in clusters if name is not None and not _CLUSTER.fullmatch(name)]:
        raise BadConfig(f"{path}: {unfit[0]!r} is no name of one cluster")
    for (processor, profile), said in file.profiles.items():
        commands = _words(said.host_entrypoint or said.entrypoint)
        if commands and "=" in commands[0]:
            raise BadConfig(f"{path}: the entrypoint of {processor}:{profile} may hold no equals sign")


def _config(path: Path, file: File, warnings: tuple[str, ...]) -> Config:
    emx2, worker = file.emx2, file.worker
    secret = emx2.worker_secret or emx2.shared_secret
    secret_file = emx2.worker_secret_file or emx2.shared_secret_file
    named = None if secret_file is None else str(path.parent.absolute() / secret_file)
    return Config(
        worker_id=emx2.worker_id,
        server=emx2.base_url.rstrip("/"),
        state_dir=str(_state_dir(emx2.worker_id, worker.state_db)),
        jobs_dir=str(Path(file.apptainer.tmp_dir).absolute()),
        profiles=tuple(_made(key, said, file, path.parent.absolute()) for key, said in file.profiles.items()),
        backend=worker.backend,
        secret=secret,
        secret_file=named,
        signs=emx2.auth_mode == "hmac",
        max_concurrent_jobs=worker.max_concurrent_jobs,
        poll_seconds=worker.poll_interval_seconds,
        look_seconds=file.slurm.look_interval_seconds,
        stop_seconds=worker.stop_seconds,
        queue_report_seconds=worker.queue_report_interval_seconds,
        heartbeat_seconds=worker.heartbeat_interval_seconds,
        lost_seconds=worker.lost_seconds,
        least_free_bytes=worker.least_free_mb * 2**20,
        command_seconds=file.slurm.command_timeout_seconds,
        cluster=file.slurm.cluster,
        keep_work_dirs=worker.keep_work_dirs,
        posix_roots=None if worker.posix_roots is None else tuple(worker.posix_roots),
        redact=tuple(worker.redact),
        web=allowed.web(file.inputs, file.buckets, path.parent.absolute()),
        metrics_file=file.metrics.file,
        metrics_port=file.metrics.port,
        warnings=warnings,
    )


def _made(key: tuple[str, str], said: ProfileSection, file: File, beside: Path) -> Profile:
    residence = said.artifact_residence or file.emx2.artifact_residence or "managed"
    submission = (
        said.claim_timeout_seconds if said.submission_timeout_seconds is None else said.submission_timeout_seconds
    )
    return Profile(
        processor=key[0],
        profile=key[1],
        command=_words(said.host_entrypoint or said.entrypoint),
        container=_container(said, file.apptainer),
        takes_commands=said.allow_raw_commands,
        resources=_resources(said, file.slurm),
        environment=dict(said.environment),
        output_residence=said.output_residence or residence,
        log_residence=said.log_residence or residence,
        submission_seconds=300 if submission is None else submission,
        execution_seconds=said.execution_timeout_seconds,
        max_concurrent_jobs=said.max_concurrent_jobs,
        retries={str(ending): count for ending, count in said.retries.items()},
        parameters_schema=read_schema(beside, said.parameters_schema_file),
    )


def _container(said: ProfileSection, apptainer: ApptainerSection) -> Container | None:
    if said.sif_image is None:
        return None
    binds = (*apptainer.bind_paths, *said.bind_paths)
    return Container(said.sif_image, _words(said.container_entrypoint), binds, apptainer.command)


def _resources(said: ProfileSection, slurm: SlurmSection) -> Resources:
    return Resources(
        cluster=said.cluster or slurm.cluster,
        partition=said.partition or slurm.default_partition,
        account=said.account or slurm.default_account,
        qos=said.qos or slurm.default_qos,
        constraint=said.constraint,
        reservation=said.reservation,
        cpus=said.cpus,
        memory=said.memory,
        time=said.time,
        gres=said.gres,
        gpus=said.gpus,
        arguments=_words(said.sbatch_args) + _words(said.extra_args),
        modules=tuple(said.modules),
        may_restart=said.may_restart,
    )


def _words(said: Words) -> tuple[str, ...]:
    """A command as words; a text is taken apart as a shell would, and by none."""
    try:
        return tuple(shlex.split(said)) if isinstance(said, str) else tuple(said)
    except ValueError as error:
        raise BadConfig(f"the command {said!r} cannot be taken apart: {error}") from error


def _state_dir(worker_id: str, state_db: str | None) -> Path:
    """On this machine's disk; the file that another daemon kept its state in stays as it is."""
    if state_db is not None:
        return Path(f"{Path(state_db).expanduser().absolute()}.cableferry")
    given = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    name = re.sub(r"[^\w.-]", "_", worker_id)[:80] + "-" + hashlib.sha256(worker_id.encode()).hexdigest()[:8]
    return Path(given or os.path.join(home, "cableferry")) / name


def _warnings(path: Path, raw: Mapping[str, object]) -> Iterator[str]:
    """What works, and should be changed all the same."""
    is_inside = any(not _VARIABLE.fullmatch(secret) for secret in _secrets(raw))
    if is_inside and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield f"{path} holds a secret and others may read it: chmod 600 {path}"


def _secrets(value: object) -> Iterator[str]:
    """What stands in a file under the names of secrets, wherever it stands."""
    for key, said in value.items() if isinstance(value, dict) else ():
        if key in _SECRET and isinstance(said, str) and said:
            yield said
        yield from _secrets(said)
