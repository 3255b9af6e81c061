"""What a local worker is told: which server, which commands, where and how many."""

import difflib
import os
import stat
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.client.schemes import Bearer, Scheme, Signed, Unsigned

SECRET_VARIABLE = "CABLEFERRY_WORKER_SECRET"
Positive = Annotated[float, Meta(gt=0, le=86400)]


class BadConfig(Exception):
    """A configuration that cannot be used, with what to change."""


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The command that stands for a processor; its arguments are used as they are, by no shell."""

    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    max_concurrent_jobs: Annotated[int, Meta(ge=1, le=1000)] | None = None
    environment: dict[str, str] = {}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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
    try:
        table = tomllib.loads(path.read_text())
        config = msgspec.convert(table, Config)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {error}{_nearest(table)}") from error
    return msgspec.structs.replace(
        config,
        work_dir=str(path.parent.absolute() / config.work_dir),
        secret_file=_beside(path, config.secret_file),
        token_file=_beside(path, config.token_file),
    )


def _beside(path: Path, name: str | None) -> str | None:
    return None if name is None else str(path.parent.absolute() / name)


def _nearest(table: dict[str, object]) -> str:
    known = Config.__struct_fields__
    unknown = [name for name in table if name not in known]
    nearest = [(name, near) for name in unknown for near in difflib.get_close_matches(name, known, 1)]
    return "".join(f"; for {name} write {near}" for name, near in nearest)


def scheme(config: Config) -> Scheme:
    """How the worker proves who it is: a secret of the environment or a file, a token of a file, or nothing."""
    if secret := os.environ.get(SECRET_VARIABLE):
        return Signed(config.worker_id, secret)
    if config.secret_file is not None:
        return Signed(config.worker_id, read_secret(Path(config.secret_file)))
    if config.token_file is not None:
        return Bearer(read_secret(Path(config.token_file)), config.worker_id)
    return Unsigned(config.worker_id)


def read_secret(path: Path) -> str:
    """The one line of a file that nobody else may read."""
    try:
        with path.open() as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise BadConfig(f"{path} holds a secret and others may read it: chmod 600 {path}")
            text = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} cannot be read: {error}") from error
    if not text:
        raise BadConfig(f"{path} is empty")
    return text
