"""What the daemon asks of any scheduler, and what a scheduler says it saw."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

# what a scheduler itself says of a job, beside what its command says in stdout.log and stderr.log
BATCH_LOG = "slurm-batch.log"


class Phase(StrEnum):
    """Where a scheduler saw a job just now."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    GONE = "gone"  # it ended without leaving a word, and that is certain
    MISSING = "missing"  # nobody named it just now, which may pass
    PUZZLING = "puzzling"  # the scheduler used a word that we do not know


class Ending(StrEnum):
    """How a scheduler says a job ended, apart from its exit code."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out-of-memory"
    NODE_FAILED = "node-fail"
    PREEMPTED = "preempted"
    DEADLINE = "deadline"
    NOT_STARTED = "not-started"
    REVOKED = "revoked"
    DUPLICATE = "duplicate"  # another run of the same attempt was first; this one did nothing
    PUT_BACK = "put-back"  # somebody made its scheduler run it again, and it may run only once
    UNUSABLE = "unusable"  # the node could not use the folder of the run; nothing was started


class Usage(msgspec.Struct, frozen=True):
    """What a job took, as far as its scheduler counts it."""

    elapsed_seconds: int | None = None
    cpu_seconds: float | None = None
    max_rss_bytes: int | None = None


class Sighting(msgspec.Struct, frozen=True):
    """What a scheduler said about a job just now; `word` is its own word, `may_grow` that it may soon say more.

    `submitted_at` is when it was submitted, by the scheduler's clock.
    """

    phase: Phase
    exit_code: int | None = None
    signal: int | None = None
    ending: Ending | None = None
    word: str | None = None
    reason: str | None = None
    node: str | None = None
    starts_at: float | None = None
    usage: Usage | None = None
    may_grow: bool = False
    submitted_at: int | None = None


class Resources(msgspec.Struct, frozen=True):
    """What a site gives a job; what is None is left to the scheduler."""

    cluster: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    cpus: int | None = None
    memory: str | None = None
    time: str | None = None
    gres: str | None = None
    gpus: str | None = None
    arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    may_restart: bool = False


class Order(msgspec.Struct, frozen=True):
    """What to run, under a name that no other attempt of any job has.

    What it says goes to two files in its output folder, or all to one `log_file`, where the scheduler can do that.
    """

    name: str
    command: tuple[str, ...]
    work_dir: str
    output_dir: str
    environment: Mapping[str, str]
    resources: Resources = Resources()
    comment: str = ""
    log_file: str | None = None

    def __repr__(self) -> str:
        return f"Order(name={self.name!r}, command={self.command[:1]!r})"


class Ticket(msgspec.Struct, frozen=True):
    """Who a job is to its scheduler; an id alone may be given to another job one day.

    `submitted_at` is by the scheduler's clock, and None until it has been heard from there.
    """

    name: str
    called: str
    submitted_at: int | None = None
    cluster: str | None = None


class Accepted(msgspec.Struct, frozen=True):
    """It will run, or has begun to."""

    ticket: Ticket


class Refused(msgspec.Struct, frozen=True):
    """It does not run and never will; `may_pass` says that asking again later could help."""

    reason: str
    may_pass: bool = False


class Unknown(msgspec.Struct, frozen=True):
    """Whether it runs is not known, and asking again now could run it twice."""

    reason: str


Submission = Accepted | Refused | Unknown


class Found(msgspec.Struct, frozen=True):
    """Who goes by a name; when the question failed, nothing follows from an empty answer.

    An empty answer that `is_final` stays true until somebody submits under the name again.
    """

    is_ok: bool
    tickets: tuple[Ticket, ...] = ()
    trouble: str | None = None
    is_final: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """All that one look saw, by name; when the look failed, nothing follows from it."""

    is_ok: bool
    taken_at: float
    jobs: Mapping[str, Sighting] = {}
    strangers: tuple[Ticket, ...] = ()
    trouble: str | None = None


class Scheduler(Protocol):
    """The verbs; a name that was submitted before is never run twice."""

    def submit(self, order: Order) -> Submission: ...

    def find(self, name: str, since: float) -> Found:
        """Who goes by a name that was first used after an instant."""
        ...

    def sight(self, tickets: Collection[Ticket], now: float) -> Snapshot:
        """One look at all of them, whatever their number, and at living jobs of ours that are not among them."""
        ...

    def cancel(self, ticket: Ticket, is_urgent: bool) -> bool:
        """Ask it to end, or end it; False when the scheduler did not hear. What has ended stays as it is."""
        ...
