"""Every test here gets a database of its own, once on SQLite and once on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.store.tx import Store
from cableferry.testing import stores
from cableferry.testing.postgres import Cluster

BOTH = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))


@pytest.fixture(params=BOTH)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{kind}_url"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with stores.opened(url) as opened:
        yield opened


@pytest.fixture
def postgres_url(postgres_cluster: Cluster) -> Iterator[str]:
    with stores.database(postgres_cluster) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return stores.sqlite_url(tmp_path)


@pytest.fixture
def empty_url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The url of a database without any table."""
    if kind == "sqlite":
        yield stores.sqlite_url(tmp_path)
    else:
        with stores.database(request.getfixturevalue("postgres_cluster"), "template0") as url:
            yield url
