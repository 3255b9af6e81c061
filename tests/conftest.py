"""What holds for every test: no setting leaks in from outside, no example is too slow to be true."""

import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

from cableferry.testing import postgres, s3, stores
from tests import clusters
from tests.system import telling


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


@pytest.fixture(scope="session")
def s3_server() -> Iterator[s3.Server]:
    """One real S3 server for all the tests of this process; whoever uses it is marked `xdist_group("s3")`."""
    with s3.running() as server:
        yield server


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("slurm") is not None:
        # all in one process: they share a cluster, and some of them stop parts of it; stories have one of their own
        item.add_marker(pytest.mark.xdist_group("stories" if "site" in _fixtures(item) else "slurm"))


def _fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stories-page", action="store_true", help=f"write {telling.PAGE.name} from what took place")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    told = telling.stories(report for report in reports if isinstance(report, pytest.TestReport))
    if any(story.passed for story in told):
        terminalreporter.section("what the firewall counted")
        for line in telling.transcript(told):
            terminalreporter.write_line(line)
    if terminalreporter.config.getoption("stories_page"):
        telling.write(told)


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[clusters.Cluster]:
    """A real Slurm on this machine, for tests marked slurm."""
    if not clusters.can_run():
        pytest.skip("no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    with clusters.running() as cluster:
        yield cluster
