"""What holds for every test: no setting leaks in from outside, no example is too slow to be true."""

import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

from cableferry.testing import postgres, stores


def pytest_configure() -> None:
    # a shell that starts us in the background leaves SIGINT ignored, and every process of a test would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith("CABLEFERRY_")]:
        del os.environ[name]
    hypothesis.settings.register_profile("house", deadline=None, print_blob=True)
    hypothesis.settings.load_profile("house")


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.Cluster]:
    """One cluster for all the tests of this process, with a template that each test's database copies."""
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not on this machine: tools/postgres.sh says how to get it")
    with postgres.cluster() as cluster:
        stores.migrate_template(cluster)
        yield cluster
