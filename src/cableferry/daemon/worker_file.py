"""Reads the settings of a local worker: commands for processors, on this machine."""

import difflib
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.daemon.config import BadConfig, Config, Profile, read_schema

Positive = Annotated[float, Meta(gt=0, le=86400)]


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The command that stands for a processor; its arguments are used as they are, by no shell."""

    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    max_concurrent_jobs: Annotated[int, Meta(ge=1, le=1000)] | None = None
    environment: dict[str, str] = {}
    parameters_schema_file: str | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A local worker's settings file."""

    worker_id: Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x20\x7f/?#]+$")]
    server: str
    work_dir: str
    processors: Annotated[dict[str, Processor], Meta(min_length=1)]
    secret_file: str | None = None
    token_file: str | None = None
    max_concurrent_jobs: Annotated[int, Meta(ge=1, le=1000)] = 1
    poll_seconds: Positive = 5
    stop_seconds: Positive = 5


def load(path: Path) -> Config:
    """The settings of a file; its relative paths are relative to it."""
    table: dict[str, object] = {}
    try:
        table = tomllib.loads(path.read_text())
        settings = msgspec.convert(table, Settings)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {error}{nearest(table, Settings.__struct_fields__)}") from error
    return _config(settings, path.parent.absolute())


def _config(settings: Settings, beside: Path) -> Config:
    work_dir = str(beside / settings.work_dir)
    return Config(
        worker_id=settings.worker_id,
        server=settings.server,
        state_dir=work_dir,
        jobs_dir=work_dir,
        profiles=tuple(_profile(name, said, beside) for name, said in settings.processors.items()),
        backend="local",
        secret_file=None if settings.secret_file is None else str(beside / settings.secret_file),
        token_file=None if settings.token_file is None else str(beside / settings.token_file),
        max_concurrent_jobs=settings.max_concurrent_jobs,
        poll_seconds=settings.poll_seconds,
        look_seconds=0.2,
        stop_seconds=settings.stop_seconds,
        keep_work_dirs="always",
    )


def _profile(name: str, said: Processor, beside: Path) -> Profile:
    return Profile(
        processor=name,
        command=said.command,
        environment=said.environment,
        max_concurrent_jobs=said.max_concurrent_jobs,
        parameters_schema=read_schema(beside, said.parameters_schema_file),
    )


def nearest(table: dict[str, object], known: tuple[str, ...]) -> str:
    """What somebody may have meant by names that nobody knows."""
    unknown = [name for name in table if name not in known]
    near = [(name, found) for name in unknown for found in difflib.get_close_matches(name, known, 1)]
    return "".join(f"; for {name} write {found}" for name, found in near)
