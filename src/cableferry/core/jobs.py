"""What a job is, which moves it may make, and who may make them."""

from datetime import datetime
from enum import StrEnum

import msgspec

from cableferry.core.errors import Conflict, Kind
from cableferry.core.machine import Machine


class State(StrEnum):
    """Facts about a job; how each contract spells them stands in its words."""

    NEW = "new"
    BLOCKED = "blocked"
    READY = "ready"
    CLAIMED = "claimed"
    SUBMITTED = "submitted"
    RUNNING = "running"
    SUSPECT = "suspect"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PARKED = "parked"


class Wish(StrEnum):
    """What someone wants of a job, apart from where it is."""

    STOP = "stop"


class Cause(StrEnum):
    """Why a job failed, and of a cancelled one that it was stopped."""

    ERROR = "error"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    LOST = "lost"
    MISMATCH = "mismatch"
    NOT_SUBMITTED = "not-submitted"
    SILENT = "silent"
    OFFLINE = "offline"
    STOPPED = "stopped"
    OUT_OF_MEMORY = "out-of-memory"
    NODE_FAILED = "node-failed"
    PREEMPTED = "preempted"
    STAGING = "staging"
    STORING = "storing"
    REFUSED = "submit-refused"
    UNSURE = "submit-unknown"


_S = State

JOBS: Machine[State] = Machine(
    moves={
        _S.NEW: frozenset({_S.BLOCKED, _S.READY, _S.CANCELLED, _S.PARKED}),
        _S.BLOCKED: frozenset({_S.READY, _S.FAILED, _S.CANCELLED, _S.PARKED}),
        _S.READY: frozenset({_S.CLAIMED, _S.BLOCKED, _S.FAILED, _S.CANCELLED, _S.PARKED}),
        _S.CLAIMED: frozenset({_S.SUBMITTED, _S.RUNNING, _S.SUSPECT, _S.FAILED, _S.CANCELLED}),
        _S.SUBMITTED: frozenset({_S.RUNNING, _S.SUSPECT, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset({_S.SUSPECT, _S.SUCCEEDED, _S.FAILED, _S.CANCELLED}),
        _S.SUSPECT: frozenset({_S.RUNNING, _S.SUCCEEDED, _S.FAILED, _S.CANCELLED}),
        _S.PARKED: frozenset({_S.READY, _S.BLOCKED, _S.CANCELLED}),
        _S.SUCCEEDED: frozenset(),
        _S.FAILED: frozenset(),
        _S.CANCELLED: frozenset(),
    }
)

FINAL: frozenset[State] = frozenset(state for state in State if JOBS.is_final(state))
HELD: frozenset[State] = frozenset({_S.CLAIMED, _S.SUBMITTED, _S.RUNNING, _S.SUSPECT})


class Waiting(msgspec.Struct, frozen=True):
    """Why a job waits in its scheduler, and when that expects to start it."""

    reason: str | None = None
    starts_at: datetime | None = None


class Preference(msgspec.Struct, frozen=True, gc=False):
    """The worker that should run a job; nobody else may if the job is pinned to it."""

    worker: str
    is_pinned: bool = False


class Job(msgspec.Struct, frozen=True, gc=False):
    """One thing to run once, to one end. `epoch` fences off holders of earlier leases.

    While a job is `kept_for` a worker, no other may claim it; without a pin that ends when the job is due.
    `remarks` is a JSON object of all that was said besides in this attempt, in its contract's own terms.
    """

    key: int
    id: str
    pool: str
    state: State
    wish: Wish | None
    cause: Cause | None
    attempt: int
    epoch: int
    revision: int
    processor: str
    profile: str | None
    priority: int
    timeout_seconds: int | None
    submit_user: str | None
    created_by: str | None
    worker: str | None
    slurm_job_id: str | None
    output_artifact_id: str | None
    log_artifact_id: str | None
    detail: str | None
    phase: str | None
    message: str | None
    progress: float | None
    created_at: datetime
    moved_at: datetime
    touched_at: datetime
    claimed_at: datetime | None
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    ends_by: datetime | None
    parameters: msgspec.Raw
    inputs: msgspec.Raw
    preference: Preference | None = None
    kept_for: str | None = None
    remarks: msgspec.Raw | None = None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_held(self) -> bool:
        return self.state in HELD

    @property
    def results(self) -> tuple[str, ...]:
        """The artifacts that came of it."""
        return tuple(named for named in (self.output_artifact_id, self.log_artifact_id) if named is not None)


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A job as its creator describes it; `uses` are the artifacts that its inputs name."""

    processor: str
    profile: str | None = None
    priority: int = 0
    timeout_seconds: int | None = None
    submit_user: str | None = None
    created_by: str | None = None
    parameters: msgspec.Raw = msgspec.Raw(b"null")
    inputs: msgspec.Raw = msgspec.Raw(b"null")
    uses: tuple[str, ...] = ()
    preference: Preference | None = None


class Filter(msgspec.Struct, frozen=True):
    """Which jobs a list is about; no state means every state."""

    state: State | None = None
    processor: str | None = None
    profile: str | None = None


class Payload(msgspec.Struct, frozen=True, gc=False):
    """Everything a report says besides the state; two reports with equal payloads are one report."""

    worker: str | None = None
    detail: str | None = None
    slurm_job_id: str | None = None
    output_artifact_id: str | None = None
    log_artifact_id: str | None = None
    phase: str | None = None
    message: str | None = None
    progress: float | None = None
    remarks: msgspec.Raw | None = None

    @property
    def results(self) -> tuple[str, ...]:
        """The artifacts that this names."""
        return tuple(named for named in (self.output_artifact_id, self.log_artifact_id) if named is not None)


class Report(msgspec.Struct, frozen=True, gc=False):
    """Somebody's statement that a job is now in a state: its worker's, a user's or the server's."""

    job: str
    state: State
    payload: Payload
    actor: str | None
    cause: Cause | None = None
    epoch: int | None = None
    wish: Wish | None = None


class Transition(msgspec.Struct, frozen=True, gc=False):
    """One row of a job's history; `old` equals `new` where a report moved nothing."""

    job_key: int
    seq: int
    attempt: int
    epoch: int
    old: State | None
    new: State
    cause: Cause | None
    actor: str | None
    at: datetime
    payload: Payload


def check_holder(job: Job, worker: str | None, epoch: int | None) -> None:
    """Refuse whoever does not hold the lease: another worker, or a holder of an earlier epoch."""
    stranger = worker is not None and job.worker is not None and worker != job.worker
    if stranger or (epoch is not None and epoch != job.epoch):
        raise Conflict(
            f"the lease on job {job.id} is held by {job.worker or 'nobody'} with epoch {job.epoch}: stop working on it",
            Kind.STALE_LEASE,
            holder=job.worker,
            epoch=job.epoch,
            current_state=job.state,
        )


def check_claimed(job: Job, worker: str | None) -> None:
    """Refuse a worker's move of a job that nobody holds: it never claimed it, or lost it to the queue."""
    if worker is not None and job.worker is None:
        raise Conflict(
            f"job {job.id} is not leased to worker {worker}: claim it first",
            Kind.STALE_LEASE,
            epoch=job.epoch,
            current_state=job.state,
        )
