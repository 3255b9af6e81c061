"""Where stories take place: a server outside, and a cluster behind a firewall that lets calls out and none in."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from cableferry.client import emx2
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import Trouble
from cableferry.client.schemes import Signed
from tests import clusters, networks
from tests.clusters import Cluster
from tests.networks import Network

SECRET = "a-shared-secret-of-at-least-32-characters"
# the one who has no firewall to stand behind, such as a root of another release
IN_THE_OPEN = "CLUSTER_IN_THE_OPEN"
_SECONDS = 60
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Site(msgspec.Struct, frozen=True):
    """A cluster, and this machine as it is called from there; only two ports of it can be called."""

    cluster: Cluster
    host: str
    server_port: int
    other_port: int
    network: Network | None = None

    @property
    def server(self) -> str:
        return f"http://{self.host}:{self.server_port}"


@contextlib.contextmanager
def running() -> Iterator[Site]:
    """One for as long as the block, without a server."""
    ports = _free_port(), _free_port()
    if IN_THE_OPEN in os.environ:
        with clusters.running() as cluster:
            yield Site(cluster, "127.0.0.1", *ports)
        return
    with networks.outbound_only(*ports) as network, clusters.behind(network) as cluster:
        yield Site(cluster, network.outside, *ports, network)


@contextlib.contextmanager
def serving(site: Site, data: Path, settings: Mapping[str, str] = _NOTHING) -> Iterator[str]:
    """The address of a server process of its own at a site, which has one at a time."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(data),
        "LANG": "C.UTF-8",
        "CABLEFERRY_SERVER__HOST": site.host,
        "CABLEFERRY_SERVER__PORT": str(site.server_port),
        "CABLEFERRY_DATABASE__DATA_DIR": str(data),
        "CABLEFERRY_AUTH__SHARED_SECRET": SECRET,
        **settings,
    }
    command = [sys.executable, "-m", "cableferry.cli.main", "serve"]
    with (data / "server.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, cwd=data, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for_answer(site.server, process, data / "server.log")
        yield site.server
    finally:
        process.terminate()
        process.wait(_SECONDS)


@contextlib.contextmanager
def client(server: str) -> Iterator[Emx2]:
    caller = emx2.connect(server, Signed("platform", SECRET))
    try:
        yield caller
    finally:
        caller.close()


def _wait_for_answer(server: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _SECONDS
    with client(server) as caller:
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(Trouble):
                caller.workers()
                return
    raise RuntimeError(f"no server at {server}: {log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.create_server(("", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
