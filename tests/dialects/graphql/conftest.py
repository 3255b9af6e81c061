"""A database with something of everything in it, once on SQLite and once on PostgreSQL, and a server over one."""

from collections.abc import Iterator

import pytest

from cableferry.store.tx import Store
from cableferry.testing import servers, stores
from cableferry.testing.servers import Client
from tests.dialects.graphql import harbour
from tests.dialects.graphql.harbour import Harbour
from tests.engine.trusted import Clock

BOTH = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))


@pytest.fixture(scope="module", params=BOTH)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    clock = Clock()
    if request.param == "sqlite":
        with stores.opened(stores.sqlite_url(tmp_path_factory.mktemp("graphql")), clock) as store:
            yield harbour.fill(store, clock)
    else:
        with stores.database(request.getfixturevalue("postgres_cluster")) as url, stores.opened(url, clock) as store:
            yield harbour.fill(store, clock)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A caller that sends no header of another protocol."""
    settings = servers.settings_in(tmp_path_factory.mktemp("served"))
    with stores.opened(settings.database_url) as store, servers.running(settings, store) as running:
        _fill(store)
        plain = {"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None}
        yield running.client(plain)


def _fill(store: Store) -> None:
    harbour.fill(store, Clock())
