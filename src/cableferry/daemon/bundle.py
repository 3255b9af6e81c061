"""All that helps to find out what is wrong with a daemon, and nothing in it that is secret."""

import contextlib
import os
import platform
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cableferry import __version__
from cableferry.daemon import journal, standing
from cableferry.daemon.config import SECRET_VARIABLE, Config
from cableferry.daemon.findings import Finding
from cableferry.daemon.standing import Standing
from cableferry.daemon.tailing import redacting
from cableferry.daemon.tailing.redacting import Masks

HIDDEN = "***"
_SECRET = re.compile(r"secret|token|passw|key|credential", re.IGNORECASE)
# they say where something is, and not what it is
_HARMLESS = ("_file", "_id")
# of these, values are the business of whoever wrote them
_INNER = ("environment", "redact")
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+@")
_IN_ARGUMENT = re.compile(r"(--export=|--?[\w-]*(?:secret|token|passw|key|credential)[\w-]*[= ])\S+", re.IGNORECASE)
_VARIABLES = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_OWN_VARIABLES = ("SLURM_CONF", "STATE_DIRECTORY", "NOTIFY_SOCKET", "PEX_ROOT", "TMPDIR", "LANG")


class File(msgspec.Struct, frozen=True):
    """One of the daemon's own, as it lies there."""

    name: str
    bytes: int
    mode: str
    changed_at: datetime


class Bundle(msgspec.Struct, frozen=True):
    """What `daemon doctor` tells."""

    version: str
    python: str
    machine: str
    told_at: datetime
    environment: dict[str, str]
    config: object
    checks: Sequence[Finding]
    standing: Standing | None
    files: Sequence[File]
    reports_waiting: int | None


def gathered(config: Config, checks: Sequence[Finding], now: datetime) -> Bundle:
    masks = redacting.compiled(config.redact)
    state = Path(config.state_dir)
    return Bundle(
        version=__version__,
        python=sys.version,
        machine=platform.platform(),
        told_at=now,
        environment=dict(_environment(masks)),
        config=_shown(msgspec.to_builtins(config), masks),
        checks=msgspec.convert(_shown(msgspec.to_builtins(checks), masks), list[Finding]),
        standing=msgspec.convert(_shown(msgspec.to_builtins(standing.read(state)), masks), Standing | None),
        files=tuple(_files(state)),
        reports_waiting=journal.waiting_in(state / "journal.db"),
    )


def _shown(value: object, masks: Masks) -> object:
    """A value without what is secret by its name, by its form, or by the site's own patterns."""
    match value:
        case dict():
            return {name: _of_name(str(name), inner, masks) for name, inner in value.items()}
        case list() | tuple():
            before = [None, *value]
            return [
                HIDDEN if _announces_secret(flag) else _shown(inner, masks)
                for flag, inner in zip(before, value, strict=False)
            ]
        case str():
            return _plain(value, masks)
        case _:
            return value


def _announces_secret(said: object) -> bool:
    """Whether a word says that the next one is secret."""
    return isinstance(said, str) and said.startswith("-") and "=" not in said and bool(_SECRET.search(said))


def _of_name(name: str, value: object, masks: Masks) -> object:
    if name in _INNER and isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    if name in _INNER and isinstance(value, list | tuple):
        return [HIDDEN] * len(value)
    if isinstance(value, str) and _SECRET.search(name) and not name.endswith(_HARMLESS):
        return HIDDEN
    return _shown(value, masks)


def _plain(text: str, masks: Masks) -> str:
    said = _IN_ARGUMENT.sub(rf"\g<1>{HIDDEN}", _IN_ADDRESS.sub(f"{HIDDEN}@", text))
    return redacting.redacted(said.encode(), masks, True).said.decode("utf-8", "replace")


def _environment(masks: Masks) -> Iterator[tuple[str, str]]:
    for name in (*_VARIABLES, *(each.lower() for each in _VARIABLES), *_OWN_VARIABLES):
        if name in os.environ:
            yield name, _plain(os.environ[name], masks)
    if SECRET_VARIABLE in os.environ:
        yield SECRET_VARIABLE, HIDDEN


def _files(folder: Path) -> Iterator[File]:
    with contextlib.suppress(OSError):
        for path in sorted(folder.iterdir()):
            seen = path.lstat()
            changed = datetime.fromtimestamp(seen.st_mtime, UTC)
            yield File(path.name, seen.st_size, stat.filemode(seen.st_mode), changed)
