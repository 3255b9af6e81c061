"""A job that a container worker holds, and what is next for it: values only."""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from cableferry.client.opeva import Dispatched, Standing
from cableferry.schedulers.protocol import Phase, Sighting
from cableferry.wire.opeva.bodies import StatusBody

TERMINATED = 143
KILLED = 137
_SIGNALLED = 128
_GOING = ("dispatched", "running", "stop_requested")


class Stage(StrEnum):
    """How far a held job is; an ended one waits only for its last report to be taken."""

    CLAIMED = "claimed"
    STARTED = "started"
    ENDED = "ended"


class Why(StrEnum):
    """Why a job is to end before it does so by itself."""

    STOPPED = "stopped"
    CANCELED = "canceled"
    LOST = "lost"


class Cargo(msgspec.Struct, frozen=True):
    """One attempt of a job; `id` is its own name on this machine."""

    id: str
    job: Dispatched
    taken_at: float
    stage: Stage = Stage.CLAIMED
    called: str | None = None
    container_id: str | None = None
    why: Why | None = None
    pushed_at: float | None = None
    is_killed: bool = False


class Push(StrEnum):
    """What is done to a container that is to end."""

    ASK = "ask"
    KILL = "kill"


def report(cargo: Cargo, worker: str, status: str, **said: int | str | None) -> StatusBody:
    """What is told of a job, with what proves that the attempt is ours."""
    job = cargo.job
    body = StatusBody(
        job.job_id, status, worker, attempt_number=job.attempt_number, attempt_token=job.attempt_token,
        container_id=cargo.container_id, container_name=job.container_name or None,
    )  # fmt: skip
    return replace(body, **said)


def wanted(cargo: Cargo, worker: str, standing: Standing | None) -> Why | None:
    """Why a job is to end, by what its server says of it."""
    if standing is None or standing.status not in (*_GOING, "canceled"):
        return Why.LOST
    is_another = None not in (standing.attempt_number, cargo.job.attempt_number) and (
        standing.attempt_number != cargo.job.attempt_number
    )
    if is_another or standing.worker_id not in (None, worker):
        return Why.LOST
    return {"stop_requested": Why.STOPPED, "canceled": Why.CANCELED}.get(standing.status)


def next_push(cargo: Cargo, now: float, patience: float) -> Push | None:
    """What to do now about a container that is to end."""
    if cargo.why is None or cargo.stage is not Stage.STARTED:
        return None
    if cargo.pushed_at is None:
        return Push.ASK
    return Push.KILL if not cargo.is_killed and now - cargo.pushed_at >= patience else None


def ending(cargo: Cargo, worker: str, seen: Sighting) -> StatusBody | None:
    """The last word of a job; none for one that is ours no more."""
    code = seen.exit_code if seen.signal is None else _SIGNALLED + seen.signal
    if cargo.why is Why.LOST:
        return None
    if cargo.why is not None and cargo.pushed_at is not None:
        silently = KILLED if cargo.is_killed else TERMINATED
        return report(cargo, worker, cargo.why, exit_code=silently if code is None else code)
    if seen.phase is Phase.GONE:
        return report(cargo, worker, "failed", error="it ended without a trace: the machine or its runtime went down")
    if code == 0:
        return report(cargo, worker, "finished", exit_code=0)
    cause = f"ended by signal {seen.signal}" if seen.signal is not None else f"ended with exit code {code}"
    return report(cargo, worker, "failed", exit_code=code, error=cause)
