"""One server process for all tests of the gateway; each test has a user, a key and an artifact of its own."""

from collections.abc import Iterator

import pytest

from tests.dialects.s3 import gateway as gateways
from tests.dialects.s3.gateway import Desk, Gateway


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateways.serving(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture
def desk(gateway: Gateway) -> Desk:
    return gateways.desk(gateway)
