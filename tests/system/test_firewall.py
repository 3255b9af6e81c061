"""The promise of the product: a cluster that nothing can connect to runs the jobs of a server outside."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cableferry.client import emx2
from cableferry.client.schemes import Bearer
from cableferry.core.access import Role
from cableferry.server.settings import AuthSection, Secret
from tests import clusters, networks
from tests.clusters import Cluster
from tests.networks import INSIDE, OUTSIDE, Network
from tests.server import serving
from tests.system.cluster_daemon import ClusterDaemon

# one network has these addresses at a time, and root makes it
pytestmark = pytest.mark.slurm

SECRET = "a-shared-secret-of-at-least-32-characters"


class Place(NamedTuple):
    """A server outside, and a cluster with its daemon inside."""

    daemon: ClusterDaemon
    cluster: Cluster
    network: Network


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    if not clusters.can_run():
        pytest.skip("no Slurm of our own on this machine: tools/cluster/install.sh says how to get it")
    wanted = serving.settings(tmp_path, AuthSection(shared_secret=Secret(SECRET)), host="0.0.0.0")  # noqa: S104  # the network's address too
    with serving.serving(wanted) as server, networks.outbound_only(server.port) as network:
        address = f"http://{OUTSIDE}:{server.port}"
        client = emx2.connect(address, Bearer(serving.token(server, Role.OWNER)))
        with clusters.behind(network) as cluster:
            daemon = ClusterDaemon(cluster, address, client, SECRET)
            yield Place(daemon, cluster, network)
            daemon.stop()
        client.close()


def test_jobs_behind_a_firewall_run_and_bring_back_all_they_made(place: Place) -> None:
    daemon, network = place.daemon, place.network
    daemon.offer("make", script='echo seen; printf %s made >"$HPC_OUTPUT_DIR/made"')
    daemon.offer("use", script='cat "$HPC_INPUT_DIR"/*/made >"$HPC_OUTPUT_DIR/used"; exit 3')
    daemon.start()
    made = daemon.ended(daemon.submit("make"))
    used = daemon.ended(daemon.submit("use", inputs=[made.output_artifact_id]))
    job = daemon.submit("make", {"environment": {"A": "b"}})
    cancelled = daemon.client.cancel(job)
    counts = network.counts()

    assert ("COMPLETED", "FAILED", "CANCELLED") == (made.status, used.status, cancelled.status)
    assert (b"made", b"seen\n") == (
        daemon.files(made.output_artifact_id)["made"],
        daemon.files(made.log_artifact_id)["stdout.log"],
    )
    assert "exit_code=3" in (used.detail or "")
    assert (0, 0) == (counts["inbound"], counts["outbound_refused"])
    assert counts["outbound"] > 0

    # and so that this says something: whoever tries is refused, and counted
    port = int(place.cluster.root("scontrol", "show", "config").partition("SlurmctldPort")[2].split()[1])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((INSIDE, port), 10)
    assert network.counts()["inbound"] == 1
