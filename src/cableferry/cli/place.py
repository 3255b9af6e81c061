"""Which database a command of the server's own machine works on, by the server's own settings."""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from cableferry.cli.commands import usage
from cableferry.cli.exits import Exit, Failure

if TYPE_CHECKING:
    from cableferry.server.settings import Settings
    from cableferry.server.sources import Loaded
    from cableferry.store.tx import Store

R = TypeVar("R")

DATABASE = "sqlite:///path or postgresql://..., without a password: everybody here can read command lines."


def options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the three options that say where the database is, and hand it the `Settings`."""

    @click.option("--config", type=click.Path(path_type=Path), help="The server's settings file (TOML).")
    @click.option("--data-dir", type=click.Path(), help="Folder of the SQLite file and of generated keys.")
    @click.option("--database", metavar="URL", help=DATABASE)
    @functools.wraps(function)
    def with_settings(
        config: Path | None, data_dir: str | None, database: str | None, *args: object, **options: object
    ) -> R:
        flags = {"database.data_dir": data_dir, "database.url": database}
        return function(*args, settings=settings(config, flags), **options)

    return with_settings


def settings(file: Path | None, flags: Mapping[str, object]) -> "Settings":
    """Defaults, file, environment and flags."""
    return loaded(file, flags).settings


def loaded(file: Path | None, flags: Mapping[str, object]) -> "Loaded":
    """The same, with where each value came from."""
    from cableferry.server import sources

    try:
        return sources.from_process(file, flags)
    except sources.SettingsError as error:
        raise usage(str(error)) from error


@contextmanager
def opened(settings: "Settings", is_made: bool = False) -> Iterator["Store"]:
    """The open database; it is made only when that is asked for, and never brought up to date."""
    from cableferry.store import connect

    _check_there(settings, is_made)
    with told():
        if is_made:
            connect.make_database(settings.database_url)
        store = connect.open_store(settings.database_url)
    try:
        with told():
            yield store
    finally:
        store.close()


def _check_there(settings: "Settings", is_made: bool) -> None:
    url = settings.database_url
    if not is_made and url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise Failure(f"there is no database {url}: run `cableferry db upgrade`, or say where it is", Exit.NOT_FOUND)


@contextmanager
def told() -> Iterator[None]:
    """The troubles of a database as sentences."""
    from cableferry.store.failures import StoreFailure

    try:
        yield
    except StoreFailure as error:
        raise Failure(str(error), Exit.OTHER) from error
