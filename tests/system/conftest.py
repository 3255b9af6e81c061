"""Every story takes place behind a firewall, and is told what came through it."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests import clusters
from tests.system import sites, telling
from tests.system.cluster_daemon import ClusterDaemon
from tests.system.sites import Site


class Grounds(NamedTuple):
    """The site of all stories, and the counts of its firewall as the last of them left it."""

    site: Site
    counts: dict[str, int]


@pytest.fixture(scope="session")
def grounds() -> Iterator[Grounds]:
    if not clusters.can_run():
        pytest.skip("no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    with sites.running() as site:
        yield Grounds(site, {} if site.network is None else site.network.counts())


@pytest.fixture(scope="session")
def served(grounds: Grounds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server that stories share, a process of its own."""
    with sites.serving(grounds.site, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def knocks() -> list[int]:
    """The ports inside that a story itself tried to reach."""
    return []


@pytest.fixture
def site(grounds: Grounds, knocks: list[int], request: pytest.FixtureRequest) -> Iterator[Site]:
    """Since the story before nobody but this one has knocked, and nothing inside has called anybody but the server."""
    yield grounds.site
    network = grounds.site.network
    counts = {} if network is None else network.counts()
    passed = {name: count - grounds.counts[name] for name, count in counts.items()}
    grounds.counts.update(counts)
    request.node.user_properties.append((telling.KEY, passed))

    assert network is None or (len(knocks), 0) == (passed["inbound"], passed["outbound_refused"])


@pytest.fixture
def daemon(site: Site, served: str) -> Iterator[ClusterDaemon]:
    with sites.client(served) as client:
        daemon = ClusterDaemon(site.cluster, served, client, sites.SECRET)
        yield daemon
        (daemon.folder / "go").touch()
        daemon.stop()
