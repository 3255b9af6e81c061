"""Hosts that only call out: networks of their own which nothing can connect into."""

import contextlib
import os
import socket
import subprocess
import uuid
from collections.abc import Iterator

import msgspec

from tests.house.sources import ROOT

_TOOL = str(ROOT / "tools" / "cluster" / "netns.sh")


class Network(msgspec.Struct, frozen=True):
    """One such network; what it counts is every connection that somebody tried to begin.

    `outside` is what this machine is called from inside, `inside_at` what the inside is called from here.
    """

    name: str
    outside: str
    inside_at: str

    def inside(self, *command: str, user: str | None = None) -> tuple[str, ...]:
        """The command that runs a command in there."""
        return (_TOOL, "run", self.name, *(("-u", user) if user else ()), *command)

    def counts(self) -> dict[str, int]:
        lines = self._said("counts", self.name).splitlines()
        return {name: int(count) for name, count in (line.split() for line in lines)}

    def up(self, *ports: int) -> None:
        self._said("up", self.name, *map(str, ports))

    def down(self) -> None:
        self._said("down", self.name)

    def _said(self, *words: str) -> str:
        environment = {**os.environ, "OUTSIDE": self.outside, "INSIDE": self.inside_at}
        done = subprocess.run([_TOOL, *words], env=environment, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout


@contextlib.contextmanager
def outbound_only(*ports: int) -> Iterator[Network]:
    """A network from which only these ports of this machine can be called, gone after the block."""
    with _addresses() as (outside, inside):
        network = Network(f"cf-{uuid.uuid4().hex[:8]}", outside, inside)
        try:
            network.up(*ports)
            yield network
        finally:
            network.down()


@contextlib.contextmanager
def _addresses() -> Iterator[tuple[str, str]]:
    """Two that nobody else on this machine uses; a name that one process can have at a time says who does."""
    for number in range(100, 255):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
            try:
                mine.bind(f"\0cableferry-network-{number}")
            except OSError:
                continue
            yield f"10.213.{number}.1", f"10.213.{number}.2"
            return
    raise RuntimeError("all addresses for networks are taken")
