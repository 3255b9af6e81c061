"""One server for all contract tests of a process; each test has workers and processors of its own."""

import itertools
from collections.abc import Iterator

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Client, Running
from tests.dialects.desk import Desk

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def seed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("seed"))) as running:
        yield running


@pytest.fixture
def client(seed_server: Running) -> Client:
    return seed_server.client()


@pytest.fixture
def desk(client: Client) -> Desk:
    """A worker that offers a processor nobody else has."""
    number = next(_numbers)
    return Desk(client, f"worker-{number}", f"processor-{number}")
