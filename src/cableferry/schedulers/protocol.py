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


class Usage(msgspec.Struct, frozen=True):
    """What a job has used, as far as the scheduler counted it."""

    elapsed_seconds: float | None = None
    cpu_seconds: float | None = None
    most_bytes: int | None = None


class Sighting(msgspec.Struct, frozen=True):
    """What a scheduler said about a job just now; its own words stay as it said them."""

    phase: Phase
    exit_code: int | None = None
    signal: int | None = None
    state: str = ""
    reason: str = ""
    node: str = ""
    starts_at: str = ""
    called: str | None = None
    usage: Usage = Usage()


class Resources(msgspec.Struct, frozen=True):
    """What a site gives a job; what is empty is left to the scheduler."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    cpus: int = 1
    memory: str = ""
    time: str = ""
    gpus: str = ""
    gres: str = ""
    more: tuple[str, ...] = ()

    @property
    def has_gpus(self) -> bool:
        return bool(self.gpus) or any("gpu" in text for text in (self.gres, *self.more))


class Container(msgspec.Struct, frozen=True):
    """The image a command runs in, and what it sees of the machine besides its own folders."""

    image: str
    program: str = "apptainer"
    binds: tuple[str, ...] = ()


class Order(msgspec.Struct, frozen=True):
    """What to run, under a name that no other attempt of any job has.

    The comment says the same as the name and the lease besides; `intended_at` is when the order was
    first written down, before anybody tried to submit it.
    """

    name: str
    command: tuple[str, ...]
    work_dir: str
    output_dir: str
    environment: Mapping[str, str]
    input_dir: str = ""
    comment: str = ""
    intended_at: float = 0
    resources: Resources = Resources()
    container: Container | None = None
    modules: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Order(name={self.name!r}, command={self.command[:1]!r})"


class NotStarted(Exception):
    """The scheduler is certain that the order does not run and never will."""


class Unsure(Exception):
    """Nobody can say yet whether it runs: the same order is submitted again later, and never runs twice."""


class Unseen(Exception):
    """The scheduler did not answer, which says nothing about any job."""


class Scheduler(Protocol):
    """The verbs; a name that was submitted before is never started twice."""

    def submit(self, order: Order) -> str:
        """Start it, and say what the scheduler itself calls it."""
        ...

    def find(self, name: str) -> str | None:
        """What the scheduler calls an order it already has, None if it is certain that it never had it."""
        ...

    def sight(self, names: Collection[str]) -> dict[str, Sighting]:
        """What is seen of the named orders, and of others that bear our mark; one not seen is not decided yet."""
        ...

    def cancel(self, name: str, is_urgent: bool) -> None:
        """Ask it to end, or end it; a job that has ended stays as it is."""
        ...
