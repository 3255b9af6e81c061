"""Open stores for tests: a file in a folder, or a database of its own in a private cluster."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from cableferry.store import connect
from cableferry.store.tx import Store
from cableferry.testing.postgres import Cluster

TEMPLATE = "cableferry_template"
_numbers = itertools.count(1)


def wall_clock() -> datetime:
    return datetime.now(UTC)


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'cableferry.db'}"


def migrate_template(cluster: Cluster) -> None:
    """Prepare what `postgres_url` copies, once per cluster."""
    connect.upgrade_database(cluster.create(TEMPLATE))


@contextlib.contextmanager
def database(cluster: Cluster, template: str = TEMPLATE) -> Iterator[str]:
    """The url of a new database with the newest tables, dropped at the end."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    yield cluster.create(name, template)
    cluster.drop(name)


@contextlib.contextmanager
def opened(url: str, clock: Callable[[], datetime] = wall_clock, *, notify: bool = False) -> Iterator[Store]:
    """A store at the newest version, closed at the end."""
    store = connect.open_store(url, clock=clock, upgrade=True, notify=notify, pool_size=4)
    try:
        yield store
    finally:
        store.close()
