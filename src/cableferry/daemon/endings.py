"""What is told of a job at its end, so that whoever reads it knows why it failed."""

import msgspec

from cableferry.core.jobs import Cause, State
from cableferry.daemon.held import Held, Stop
from cableferry.daemon.progress import Line
from cableferry.schedulers import protocol as schedulers
from cableferry.schedulers.protocol import Ending, Phase, Sighting
from cableferry.wire.emx2.bodies import TransitionBody
from cableferry.wire.emx2.remarks import Usage
from cableferry.wire.emx2.words import WORDS

NO_LINE = Line()
_MOST_LETTERS = 4000

WHY: dict[Ending, str] = {
    Ending.CANCELLED: "cancelled: somebody ended it at its scheduler",
    Ending.TIMEOUT: "timeout: the time limit at its scheduler",
    Ending.OUT_OF_MEMORY: "out-of-memory: it used more than it had asked for",
    Ending.NODE_FAILED: "node-fail: its node was lost",
    Ending.PREEMPTED: "preempted: another job displaced it",
    Ending.DEADLINE: "timeout: its deadline at its scheduler passed",
    Ending.NOT_STARTED: "not-started: its node could not be made ready",
    Ending.REVOKED: "lost: its scheduler gave it to another cluster",
    Ending.DUPLICATE: "duplicate-suppressed: another run of this attempt was first, and this one did nothing",
    Ending.PUT_BACK: "put-back: its scheduler would have run it again, and its site lets it run only once",
    Ending.UNUSABLE: "no-storage: its node could not use the job's folder, so nothing was started",
}


_CAUSES: dict[Ending, Cause] = {
    Ending.TIMEOUT: Cause.TIMEOUT,
    Ending.DEADLINE: Cause.TIMEOUT,
    Ending.OUT_OF_MEMORY: Cause.OUT_OF_MEMORY,
    Ending.NODE_FAILED: Cause.NODE_FAILED,
    Ending.NOT_STARTED: Cause.NODE_FAILED,
    Ending.PREEMPTED: Cause.PREEMPTED,
    Ending.PUT_BACK: Cause.PREEMPTED,
    Ending.REVOKED: Cause.LOST,
}


class Collected(msgspec.Struct, frozen=True):
    """What was brought home of a job; `is_home` says that all of it was, so that nothing need be kept here."""

    output_artifact_id: str | None = None
    log_artifact_id: str | None = None
    output_dir: str | None = None
    is_home: bool = False


def report(held: Held, state: State, detail: str, line: Line = NO_LINE, cause: Cause | None = None) -> TransitionBody:
    """A statement about a held job, under its lease."""
    return TransitionBody(
        status=WORDS[state],
        detail=detail[:_MOST_LETTERS],
        cause=cause,
        slurm_job_id=held.called,
        phase=line.phase,
        message=line.message,
        progress=line.progress,
        epoch=held.epoch,
    )


def last(held: Held, collected: Collected) -> TransitionBody:
    """The last word on a job that is over."""
    end = held.end or Sighting(Phase.GONE)
    is_good = end.ending is Ending.DONE and held.stop is None
    state = State.SUCCEEDED if is_good else State.FAILED
    told = report(held, state, "; ".join(part for part in (_why(held, end), *_facts(end, collected)) if part))
    return msgspec.structs.replace(
        told,
        output_artifact_id=collected.output_artifact_id,
        log_artifact_id=collected.log_artifact_id,
        cause=None if is_good else _cause(held, end),
        usage=_usage(end),
    )


def _cause(held: Held, end: Sighting) -> Cause:
    if held.stop is Stop.TIME:
        return Cause.TIMEOUT
    if end.phase is Phase.GONE:
        return Cause.LOST
    if end.ending in _CAUSES:
        return _CAUSES[end.ending]
    return Cause.SIGNAL if end.signal is not None else Cause.ERROR


def _usage(end: Sighting) -> Usage:
    took = end.usage or schedulers.Usage()
    signal = end.signal if end.signal is not None and end.signal < 256 else None
    return Usage(took.elapsed_seconds, took.cpu_seconds, took.max_rss_bytes, end.exit_code, signal, end.node)


def _why(held: Held, end: Sighting) -> str | None:
    if held.stop is Stop.TIME:
        return held.stop_why
    if end.phase is Phase.GONE:
        return "lost: it has gone and left no exit code"
    return None if end.ending is None else WHY.get(end.ending)


def _facts(end: Sighting, collected: Collected) -> list[str]:
    usage = end.usage
    facts = {
        "slurm_state": end.word,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "reason": end.reason,
        "node": end.node,
        "elapsed": None if usage is None or usage.elapsed_seconds is None else f"{usage.elapsed_seconds}s",
        "cpu": None if usage is None or usage.cpu_seconds is None else f"{usage.cpu_seconds:g}s",
        "max_rss": None if usage is None else usage.max_rss_bytes,
        "log_artifact": collected.log_artifact_id,
        "output_artifact": collected.output_artifact_id,
        "output": collected.output_dir,
    }
    return [f"{name}={value}" for name, value in facts.items() if value is not None]
