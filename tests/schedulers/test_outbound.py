"""The network that stands for a cluster behind its firewall lets calls out and none in, and counts both."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import clusters, networks
from tests.networks import Network

# root makes the network
pytestmark = pytest.mark.slurm

# also at an address that is yet to be made
EVERYWHERE = ""
_CALL = "import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(9).decode())"
_SERVE = "import socket; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=True); s.accept()"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    if not clusters.can_run():
        pytest.skip("a network of its own needs root: tools/cluster/install.sh says what else")
    with socket.create_server((EVERYWHERE, 0)) as listener:
        yield listener


def _call(network: Network, port: int) -> subprocess.CompletedProcess[str]:
    command = network.inside(sys.executable, "-c", _CALL, network.outside, str(port))
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_what_is_inside_may_call_the_server_and_nothing_else(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with networks.outbound_only(port) as network, socket.create_server((EVERYWHERE, 0)) as other:
        listener.settimeout(30)
        calling = subprocess.Popen(
            network.inside(sys.executable, "-c", _CALL, network.outside, str(port)), stdout=subprocess.PIPE, text=True
        )
        with listener.accept()[0] as connection:
            connection.sendall(b"welcome")
        heard = calling.communicate(timeout=30)[0]
        refused = _call(network, other.getsockname()[1])
        counts = network.counts()

    assert ("welcome\n", 1) == (heard, refused.returncode)
    assert {"inbound": 0, "outbound": 1, "outbound_refused": 1} == counts


def test_nobody_reaches_what_listens_inside(listener: socket.socket) -> None:
    with networks.outbound_only(listener.getsockname()[1]) as network:
        command = network.inside(sys.executable, "-c", _SERVE)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
            assert serving.stdout is not None
            port = int(serving.stdout.readline())
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((network.inside_at, port), 10)
            serving.kill()
        counts = network.counts()

    assert (1, 0) == (counts["inbound"], counts["outbound"])
