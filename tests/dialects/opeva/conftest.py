"""One server with a shared folder for all tests of a process; each test has jobs of its own."""

from collections.abc import Iterator

import pytest

from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import Port


@pytest.fixture(scope="session")
def shared_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    with ports.running(ports.settings_in(tmp_path_factory.mktemp("opeva"))) as port:
        yield port


@pytest.fixture
def port(shared_port: Port) -> Port:
    """The queue is empty when a test begins."""
    for entry in shared_port.entries("/queue"):
        shared_port.post(f"/stop/{entry['job_id']}")
    return shared_port
