"""The promise of the product, and that what proves it would notice if it were broken."""

import socket

import pytest

from tests.system.cluster_daemon import ClusterDaemon
from tests.system.sites import Site

pytestmark = pytest.mark.slurm


def test_whoever_tries_to_reach_the_cluster_is_refused_and_counted(
    daemon: ClusterDaemon, site: Site, knocks: list[int]
) -> None:
    if site.network is None:
        pytest.skip("this site has no firewall")
    daemon.offer("good", script="true")
    daemon.start()
    assert daemon.ended(daemon.submit("good")).status == "COMPLETED"
    for port in _listening(daemon):
        knocks.append(port)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((site.network.inside_at, port), 10)

    # the controller, three nodes and the accounts at least
    assert len(knocks) >= 5


def _listening(daemon: ClusterDaemon) -> list[int]:
    """Where something inside would answer whoever came through."""
    lines = daemon.slurm("ss", "-Hltn").splitlines()
    return sorted({int(line.split()[3].rpartition(":")[2]) for line in lines})
