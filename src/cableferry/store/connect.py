"""From a url to an open store, whichever database it names."""

import importlib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cableferry.store import migrate
from cableferry.store.failures import BadUrl
from cableferry.store.migrate import FOLDER
from cableferry.store.tx import Store

READERS = 3
POOL_SIZE = 8


def wall_clock() -> datetime:
    return datetime.now(UTC)


def open_store(
    url: str,
    *,
    clock: Callable[[], datetime] = wall_clock,
    upgrade: bool = False,
    notify: bool = True,
    pool_size: int | None = None,
) -> Store:
    """Open `sqlite:///path` or `postgresql://…`; the database must be at this program's version.

    With `upgrade` it is brought there first; with `notify`, processes on one Postgres tell each other news.
    """
    if upgrade:
        upgrade_database(url)
    _require_current(url)
    kind = kind_of(url)
    store: Store = (
        driver(kind).SqliteStore(path_of(url), clock, pool_size or READERS)
        if kind == "sqlite"
        else driver(kind).PostgresStore(url, clock, pool_size or POOL_SIZE, notify)
    )
    return store


def upgrade_database(url: str, folder: Path = FOLDER) -> list[str]:
    """Create or upgrade the database and say which migrations were applied."""
    with _made_ledger(url) as ledger:
        return migrate.upgrade(ledger, migrate.known(kind_of(url), folder))


def make_database(url: str, folder: Path = FOLDER) -> None:
    """Make the database where there is none; a server of its version may be at work on one that is there."""
    with _made_ledger(url) as ledger:
        if not ledger.applied():
            migrate.upgrade(ledger, migrate.known(kind_of(url), folder))


def kind_of(url: str) -> str:
    """`sqlite` or `postgres`; a refusal never repeats the url, which may hold a password."""
    match url.partition("://")[0]:
        case "sqlite":
            return "sqlite"
        case "postgres" | "postgresql":
            return "postgres"
    raise BadUrl(
        "the database url must begin with sqlite:/// (and a path) or postgresql://, "
        "for example sqlite:////var/lib/cableferry/cableferry.db"
    )


def path_of(url: str) -> Path:
    """The file of a SQLite url: three slashes and a relative path, or four and an absolute one."""
    path = url.removeprefix("sqlite:///")
    if path == url or not path or path.startswith(":memory:"):
        raise BadUrl("a sqlite url names a file: sqlite:///relative/path.db or sqlite:////absolute/path.db")
    return Path(path)


def driver(module: str) -> Any:
    """A module that knows one database: a server on SQLite needs no Postgres driver."""
    try:
        return importlib.import_module(f"cableferry.store.{module}")
    except ModuleNotFoundError as error:
        extra = "postgres" if module.startswith("postgres") else "server"
        raise BadUrl(f"this database needs {error.name}, which comes with cableferry[{extra}]") from error


def _require_current(url: str) -> None:
    with closing(_ledger(url)) as ledger:
        migrate.require_current(ledger, migrate.known(kind_of(url)))


def _made_ledger(url: str) -> closing[Any]:
    if kind_of(url) == "sqlite":
        driver("sqlite").create(path_of(url))
    return closing(_ledger(url))


def _ledger(url: str) -> Any:
    if kind_of(url) == "sqlite":
        return driver("sqlite_ledger").SqliteLedger(path_of(url))
    return driver("postgres_ledger").PostgresLedger(url)
