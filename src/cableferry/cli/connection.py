"""Which server a command speaks to and as whom: from its options, the environment and a file."""

import functools
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
import msgspec

from cableferry.cli.commands import usage

if TYPE_CHECKING:
    from cableferry.client.emx2 import Emx2
    from cableferry.client.schemes import Scheme
    from cableferry.client.ui import Ui

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_SERVER = "http://127.0.0.1:8710"


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The client's settings file."""

    server: str | None = None
    token: str | None = None
    token_file: str | None = None

    def __repr__(self) -> str:
        return f"Target(server={self.server!r})"


def options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command `--server` and `--token-file`, and hand it a `Target`."""

    @click.option("--server", metavar="URL", help=f"The server's address  [env: CABLEFERRY_SERVER; {DEFAULT_SERVER}]")
    @click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="File that holds an API token  [env: CABLEFERRY_TOKEN is the token itself]",
    )
    @functools.wraps(function)
    def with_target(server: str | None, token_file: str | None, *args: object, **options: object) -> R:
        return function(*args, target=_target(server, token_file), **options)

    return with_target


def _target(server: str | None, token_file: str | None) -> Target:
    """What an option says, else the environment, else the file."""
    kept = _kept()
    said = os.environ.get("CABLEFERRY_TOKEN")
    token = None if token_file else said or kept.token
    return Target(
        _address(server or os.environ.get("CABLEFERRY_SERVER") or kept.server or DEFAULT_SERVER),
        token,
        token_file or (None if token else kept.token_file),
    )


def _address(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        raise usage(f"{text} is not the address of a server: it begins with http:// or https://")
    return text


def path() -> Path:
    """Where the client's settings file is, if there is one."""
    named = os.environ.get("CABLEFERRY_CLIENT_CONFIG")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(named) if named else Path(home) / "cableferry" / "client.toml"


def _kept() -> Target:
    file = path()
    try:
        target = msgspec.convert(tomllib.loads(file.read_text()), Target)
    except FileNotFoundError:
        return Target()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise usage(f"{file}: {error}") from error
    if target.token is not None and file.stat().st_mode & 0o077:
        raise usage(f"{file} holds a token and others may read it: chmod 600 {file}")
    return target


@contextmanager
def connected(target: Target, is_patient: bool = False) -> Iterator["Emx2"]:
    """A client of the target's server; a patient one stays through a restart, with much that it would begin anew."""
    from cableferry.client import emx2
    from cableferry.client.patience import Patience

    patience = Patience(tries=30 if is_patient else 4, most_seconds=5)
    client = emx2.connect(target.server or DEFAULT_SERVER, scheme(target), patience)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def managed(target: Target) -> Iterator["Ui"]:
    """The same for what is asked besides the protocol."""
    from cableferry.client import ui

    client = ui.connect(target.server or DEFAULT_SERVER, scheme(target))
    try:
        yield client
    finally:
        client.close()


def scheme(target: Target) -> "Scheme":
    """How a command proves who asks."""
    from cableferry.client.schemes import Bearer, Unsigned
    from cableferry.daemon import config

    if target.token_file is not None:
        try:
            return Bearer(config.read_secret(Path(target.token_file)))
        except config.BadConfig as error:
            raise usage(str(error)) from error
    return Unsigned() if target.token is None else Bearer(target.token)
