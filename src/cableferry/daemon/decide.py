"""What to do about one job, from what was seen of it just now."""

from enum import StrEnum

import msgspec

from cableferry.core.jobs import State
from cableferry.daemon.journal import Held, Stage, Stop
from cableferry.daemon.progress import Line
from cableferry.schedulers.protocol import Phase, Sighting
from cableferry.wire.emx2.bodies import TransitionBody
from cableferry.wire.emx2.words import WORDS

NO_LINE = Line()


class Seen(msgspec.Struct, frozen=True):
    """Everything known of one started job at one instant."""

    sighting: Sighting
    now: float
    lines: tuple[Line, ...] = ()
    offset: int = 0
    output_dir: str = ""
    stop_seconds: float = 5


class Push(StrEnum):
    """How hard a running job is asked to end."""

    ASK = "ask"
    KILL = "kill"


class Decision(msgspec.Struct, frozen=True):
    """The job as it stands from now on, what is told, and whether it is pushed."""

    held: Held
    reports: tuple[TransitionBody, ...] = ()
    push: Push | None = None


def decide(held: Held, seen: Seen) -> Decision:
    match seen.sighting.phase:
        case Phase.QUEUED | Phase.RUNNING | Phase.MISSING | Phase.PUZZLING:
            return _running(_timed(held, seen), seen)
        case Phase.ENDED | Phase.GONE:
            return _over(held, seen)


def _timed(held: Held, seen: Seen) -> Held:
    """The job with a stop on it if its own time is used up."""
    limit = held.timeout_seconds
    if held.stop is not None or limit is None or seen.now - held.claimed_at < limit:
        return held
    return stopped(held, Stop.TIME, seen.now)


def stopped(held: Held, by: Stop, now: float) -> Held:
    """The job with a stop on it; the first to want it gives the reason, save that a server always may."""
    if held.stop is Stop.SERVER or held.stop is by:
        return held
    return msgspec.structs.replace(held, stop=by, stop_at=held.stop_at or now)


def _running(held: Held, seen: Seen) -> Decision:
    kept = msgspec.structs.replace(held, progress_offset=seen.offset)
    if held.stop_at is None:
        return Decision(kept, _progress(held, seen))
    late = seen.now - held.stop_at >= seen.stop_seconds
    return Decision(kept, (), Push.KILL if late else Push.ASK)


def _over(held: Held, seen: Seen) -> Decision:
    ended = msgspec.structs.replace(held, stage=Stage.ENDED, progress_offset=seen.offset)
    if held.stop is Stop.SERVER:
        return Decision(ended)
    return Decision(ended, (*_progress(held, seen), _last(held, seen)))


def _progress(held: Held, seen: Seen) -> tuple[TransitionBody, ...]:
    return tuple(report(held, State.RUNNING, _said(line), line) for line in seen.lines)


def _said(line: Line) -> str:
    share = None if line.progress is None else f"{line.progress:.0%}"
    return "progress: " + "; ".join(part for part in (line.phase, line.message, share) if part)


def _last(held: Held, seen: Seen) -> TransitionBody:
    sighting = seen.sighting
    if held.stop is Stop.TIME:
        return report(held, State.FAILED, f"timeout: job timeout_seconds ({held.timeout_seconds}s) exceeded")
    if sighting.phase is Phase.GONE:
        return report(held, State.FAILED, "lost: the process has gone and left no exit code")
    if sighting.signal is not None:
        return report(held, State.FAILED, f"signal={sighting.signal}; output={seen.output_dir}")
    state = State.SUCCEEDED if sighting.exit_code == 0 else State.FAILED
    return report(held, state, f"exit_code={sighting.exit_code}; output={seen.output_dir}")


def report(held: Held, state: State, detail: str, line: Line = NO_LINE) -> TransitionBody:
    """A statement about a held job, under its lease."""
    return TransitionBody(
        status=WORDS[state],
        detail=detail,
        slurm_job_id=held.called,
        phase=line.phase,
        message=line.message,
        progress=line.progress,
        epoch=held.epoch,
    )
