"""A job that the daemon holds: how far it has come, and what of it must outlive us."""

from enum import StrEnum

import msgspec

from cableferry.core.jobs import State
from cableferry.daemon.progress import Mark
from cableferry.daemon.tailing.files import Tail
from cableferry.schedulers.protocol import Sighting, Ticket
from cableferry.wire.emx2.remarks import Requested


class Stage(StrEnum):
    """How far a held job is; each one is on disk before what follows from it is done."""

    CLAIMED = "claimed"
    READY = "ready"  # its folders and inputs are there
    INTENT = "intent"  # it may have been submitted: nobody submits it again before that is known
    SUBMITTED = "submitted"
    STARTED = "started"
    ENDED = "ended"  # it is over, its results are still to be brought home
    DONE = "done"  # all is said that is to be said


class Stop(StrEnum):
    """Who wants the job to end: its server, or its own time."""

    SERVER = "server"
    TIME = "time"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One job; `told` is the last state that its server was told, or told us.

    `entered_at` is when it was submitted by its scheduler's clock, `submitted_at` by ours.
    `outside` are the places that its container must see besides; `is_home` says that its results are at the server,
    `is_second` that the job we knew did nothing because another of its name was first.
    """

    id: str
    name: str
    folder: str
    processor: str
    profile: str | None = None
    stage: Stage = Stage.CLAIMED
    told: State = State.CLAIMED
    epoch: int | None = None
    parameters: str = "null"
    inputs: str = "null"
    timeout_seconds: int | None = None
    requested: Requested | None = None
    claimed_at: float = 0
    not_before: float = 0
    asked_at: float = 0
    absences: int = 0
    called: str | None = None
    cluster: str | None = None
    submitted_at: float | None = None
    entered_at: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    missing_since: float | None = None
    remark: str | None = None
    remarked_at: float = 0
    progress: Mark = Mark()
    stop: Stop | None = None
    stop_why: str | None = None
    stop_at: float | None = None
    pushed_at: float = 0
    tries: int = 1
    end: Sighting | None = None
    outside: tuple[str, ...] = ()
    tails: tuple[Tail, ...] = ()
    is_home: bool = False
    is_second: bool = False

    @property
    def ticket(self) -> Ticket | None:
        return None if self.called is None else Ticket(self.name, self.called, self.entered_at, self.cluster)

    @property
    def takes_room(self) -> bool:
        return self.stage not in (Stage.ENDED, Stage.DONE)
