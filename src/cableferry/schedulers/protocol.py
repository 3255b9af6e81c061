"""What the daemon asks of any scheduler, and what a scheduler says it saw."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec


class Phase(StrEnum):
    """Where a scheduler saw a job just now; GONE is a job that ended without leaving a word."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    GONE = "gone"


class Sighting(msgspec.Struct, frozen=True):
    """What a scheduler said about a job just now."""

    phase: Phase
    exit_code: int | None = None
    signal: int | None = None


class Order(msgspec.Struct, frozen=True):
    """What to run, under a name that no other attempt of any job has."""

    name: str
    command: tuple[str, ...]
    work_dir: str
    output_dir: str
    environment: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Order(name={self.name!r}, command={self.command[:1]!r})"


class NotStarted(Exception):
    """The scheduler is certain that the order does not run and never will."""


class Scheduler(Protocol):
    """The verbs; a name that was submitted before is never started twice."""

    def submit(self, order: Order) -> str:
        """Start it, and say what the scheduler itself calls it."""
        ...

    def find(self, name: str) -> str | None:
        """What the scheduler calls an order it already has, None if it never had it."""
        ...

    def sight(self, names: Collection[str]) -> dict[str, Sighting]: ...

    def cancel(self, name: str, is_urgent: bool) -> None:
        """Ask it to end, or end it; a job that has ended stays as it is."""
        ...
