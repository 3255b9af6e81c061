"""What a worker gives its server in one cycle, and what it gets."""

from collections.abc import Collection
from typing import Protocol

import msgspec

from cableferry.client.answers import Job
from cableferry.daemon.journal import Entry
from cableferry.wire.emx2.bodies import TransitionBody


class Give(msgspec.Struct, frozen=True):
    """What happened, what is held, how many more jobs would be taken, and what hinders the daemon."""

    reports: tuple[Entry[TransitionBody], ...]
    holding: tuple[str, ...]
    room: int
    trouble: str | None = None


class Get(msgspec.Struct, frozen=True):
    """Which reports need not be told again, the new jobs, those that must stop, those that are watched.

    `displaced` says who is the daemon of our worker now, if it is no longer us.
    """

    told: frozenset[int] = frozenset()
    claimed: tuple[Job, ...] = ()
    stop: frozenset[str] = frozenset()
    watched: frozenset[str] = frozenset()
    displaced: str | None = None


class Upstream(Protocol):
    """One server, as the worker's loop sees it."""

    has_logs: bool

    def exchange(self, give: Give) -> Get:
        """One cycle; raises the client's trouble when nothing of it may have happened."""
        ...

    def wait(self, processor: str) -> bool:
        """Whether a job for the processor is waiting, asked for as long as the server lets us hang on."""
        ...

    def mine(self, but: Collection[str]) -> list[Job]:
        """The unfinished jobs that the server thinks we hold, but for those we know of."""
        ...

    def pause_seconds(self, is_busy: bool) -> float:
        """How long until the next exchange that nothing else calls for."""
        ...
