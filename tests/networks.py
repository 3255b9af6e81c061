"""Hosts that only call out: networks of their own which nothing can connect into."""

import contextlib
import subprocess
import uuid
from collections.abc import Iterator

import msgspec

from tests.house.sources import ROOT

_TOOL = str(ROOT / "tools" / "cluster" / "netns.sh")
# what this machine is called from inside, and the inside from here
OUTSIDE, INSIDE = "10.213.77.1", "10.213.77.2"


class Network(msgspec.Struct, frozen=True):
    """One such network; what it counts is every connection that somebody tried to begin."""

    name: str

    def inside(self, *command: str, user: str | None = None) -> tuple[str, ...]:
        """The command that runs a command in there."""
        return (_TOOL, "run", self.name, *(("-u", user) if user else ()), *command)

    def counts(self) -> dict[str, int]:
        lines = _said("counts", self.name).splitlines()
        return {name: int(count) for name, count in (line.split() for line in lines)}


@contextlib.contextmanager
def outbound_only(*ports: int) -> Iterator[Network]:
    """A network from which only these ports of this machine can be called, gone after the block."""
    network = Network(f"cf-{uuid.uuid4().hex[:8]}")
    _said("up", network.name, *map(str, ports))
    try:
        yield network
    finally:
        _said("down", network.name)


def _said(*words: str) -> str:
    return subprocess.run([_TOOL, *words], capture_output=True, text=True, timeout=120, check=True).stdout
