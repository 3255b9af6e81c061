"""What to do about one job, from what was seen of it just now."""

from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from cableferry.core.jobs import Cause, State
from cableferry.daemon.endings import report
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.progress import Line, Mark
from cableferry.schedulers.protocol import Ending, Phase, Sighting
from cableferry.wire.emx2.bodies import TransitionBody
from cableferry.wire.emx2.remarks import Scheduled

# a job that ended after so many times this may wait for its accounts; a brief one must not
_SHARE_OF_TIME = 0.1
_MOST_GROWING_SECONDS = 10.0
_PUSH_AGAIN_SECONDS = 5.0


class Effect(StrEnum):
    """What a job can need done outside of the daemon's own head."""

    PREPARE = "prepare"
    SUBMIT = "submit"
    FIND = "find"
    CANCEL = "cancel"
    KILL = "kill"
    COLLECT = "collect"


class Limits(msgspec.Struct, frozen=True):
    """How long what may take, for one job at this site."""

    stop_seconds: float = 5
    submission_seconds: float = 300
    execution_seconds: float = 0
    lost_seconds: float = 120
    queue_report_seconds: float = 300


class Seen(msgspec.Struct, frozen=True):
    """Everything known of one job at one instant; `is_busy` says that something is being done about it."""

    now: float
    sighting: Sighting | None = None
    lines: tuple[Line, ...] = ()
    mark: Mark | None = None
    limits: Limits = Limits()
    is_busy: bool = False


class Decision(msgspec.Struct, frozen=True):
    """The job as it stands from now on, what is told, and what is to be done."""

    held: Held
    reports: tuple[TransitionBody, ...] = ()
    effect: Effect | None = None


def decide(held: Held, seen: Seen) -> Decision:
    timed = _timed(held, seen)
    match held.stage:
        case Stage.CLAIMED:
            return _unsubmitted(timed, seen, Effect.PREPARE)
        case Stage.READY:
            return _unsubmitted(timed, seen, Effect.SUBMIT)
        case Stage.INTENT:
            return Decision(timed, (), Effect.FIND if not seen.is_busy and seen.now >= held.not_before else None)
        case Stage.SUBMITTED | Stage.STARTED:
            return _submitted(timed, seen)
        case Stage.ENDED:
            return _ended(timed, seen)
        case Stage.DONE:
            return Decision(held)


def stopped(held: Held, by: Stop, now: float, why: str | None = None) -> Held:
    """The job with a stop on it; the first to want it gives the reason, save that a server always may."""
    if held.stop is Stop.SERVER or held.stop is by or held.stage is Stage.DONE:
        return held
    return msgspec.structs.replace(held, stop=by, stop_why=why or held.stop_why, stop_at=held.stop_at or now)


def _timed(held: Held, seen: Seen) -> Held:
    """The job with a stop on it if its time is used up."""
    why = _overdue(held, seen) if held.stage not in (Stage.ENDED, Stage.DONE) else None
    return held if why is None else stopped(held, Stop.TIME, seen.now, why)


def _overdue(held: Held, seen: Seen) -> str | None:
    limits = seen.limits
    if held.timeout_seconds is not None and seen.now - held.claimed_at >= held.timeout_seconds:
        return f"timeout: job timeout_seconds ({held.timeout_seconds}s) exceeded"
    ran = 0 if held.started_at is None else seen.now - held.started_at
    if 0 < limits.execution_seconds <= ran:
        return f"timeout: execution_timeout_seconds ({limits.execution_seconds:g}s) exceeded"
    is_early = held.stage in (Stage.CLAIMED, Stage.READY)
    if is_early and 0 < limits.submission_seconds <= seen.now - held.claimed_at:
        waited = f"timeout: not submitted within {limits.submission_seconds:g}s"
        return waited if held.remark is None else f"{waited}: {held.remark}"
    return None


def _unsubmitted(held: Held, seen: Seen, effect: Effect) -> Decision:
    if seen.is_busy:
        return Decision(held)
    if held.stop is not None:
        return give_up(held, held.stop_why or "stopped before it was submitted", Cause.TIMEOUT)
    if seen.now < held.not_before:
        return Decision(held)
    if effect is Effect.SUBMIT:
        # on disk before sbatch is called: whoever finds this stage looks before calling again
        held = msgspec.structs.replace(held, stage=Stage.INTENT, asked_at=seen.now, absences=0)
    return Decision(held, (), effect)


def give_up(held: Held, why: str, cause: Cause = Cause.ERROR) -> Decision:
    """The end of a job of which nothing runs; its server is told, unless it was the server's wish."""
    done = msgspec.structs.replace(held, stage=Stage.DONE, remark=why)
    return Decision(done, () if held.stop is Stop.SERVER else (report(held, State.FAILED, why, cause=cause),))


def _submitted(held: Held, seen: Seen) -> Decision:
    sighting = seen.sighting
    if sighting is None:
        return _pushed(held, seen, ())
    match sighting.phase:
        case Phase.QUEUED | Phase.RUNNING | Phase.PUZZLING:
            found = held if held.missing_since is None else msgspec.structs.replace(held, missing_since=None)
            return _alive(found, seen, sighting)
        case Phase.MISSING:
            return _missing(held, seen)
        case Phase.ENDED | Phase.GONE:
            return _over(held, seen, sighting)


def _alive(held: Held, seen: Seen, sighting: Sighting) -> Decision:
    reports: list[TransitionBody] = []
    if held.entered_at is None:
        held = msgspec.structs.replace(held, entered_at=sighting.submitted_at)
    if sighting.phase is Phase.RUNNING and held.stage is Stage.SUBMITTED:
        held = msgspec.structs.replace(held, stage=Stage.STARTED, started_at=seen.now)
        if held.told is not State.RUNNING:
            held = msgspec.structs.replace(held, told=State.RUNNING)
            where = "" if sighting.node is None else f" on {sighting.node}"
            reports.append(report(held, State.RUNNING, f"running{where}"))
    if seen.mark is not None:
        held = msgspec.structs.replace(held, progress=seen.mark)
    reports += _progress(held, seen)
    if sighting.phase is not Phase.RUNNING:
        held, remarks = _remarked(held, seen, sighting)
        reports += remarks
    return _pushed(held, seen, tuple(reports))


def _remarked(held: Held, seen: Seen, sighting: Sighting) -> tuple[Held, list[TransitionBody]]:
    """Why it waits, when that is new or has not been said for long."""
    remark = f"slurm_state={sighting.word}; reason={sighting.reason or 'none'}"
    again = seen.limits.queue_report_seconds
    is_due = 0 < again <= seen.now - held.remarked_at
    if remark == held.remark and not is_due:
        return held, []
    since = held.submitted_at or held.claimed_at
    starts = "" if sighting.starts_at is None else f"; starts={int(sighting.starts_at)}"
    told = f"{remark}; queued={int(seen.now - since)}s{starts}"
    held = msgspec.structs.replace(held, remark=remark, remarked_at=seen.now)
    starts_at = None if sighting.starts_at is None else datetime.fromtimestamp(sighting.starts_at, UTC)
    scheduled = Scheduled(sighting.word, sighting.reason, starts_at)
    return held, [msgspec.structs.replace(report(held, held.told, told), scheduler=scheduled)]


def _pushed(held: Held, seen: Seen, reports: tuple[TransitionBody, ...]) -> Decision:
    """One that must stop is asked again and again, and after a while not asked any more but killed."""
    again = min(_PUSH_AGAIN_SECONDS, seen.limits.stop_seconds)
    if held.stop_at is None or seen.is_busy or seen.now - held.pushed_at < again:
        return Decision(held, reports)
    is_late = seen.now - held.stop_at >= seen.limits.stop_seconds
    held = msgspec.structs.replace(held, pushed_at=seen.now)
    return Decision(held, reports, Effect.KILL if is_late else Effect.CANCEL)


def _missing(held: Held, seen: Seen) -> Decision:
    """In none of the lists: that passes, or it is lost."""
    since = seen.now if held.missing_since is None else held.missing_since
    held = msgspec.structs.replace(held, missing_since=since)
    if seen.now - since < seen.limits.lost_seconds:
        return _pushed(held, seen, ())
    return _over(held, seen, Sighting(Phase.GONE))


def _over(held: Held, seen: Seen, sighting: Sighting) -> Decision:
    if sighting.ending is Ending.DUPLICATE and held.stop is None and not held.is_second:
        # another job of this name was first, and is the one to follow
        return Decision(msgspec.structs.replace(held, stage=Stage.INTENT, is_second=True, not_before=seen.now))
    first = held.ended_at is None
    ended_at = seen.now if held.ended_at is None else held.ended_at
    began = held.started_at or held.submitted_at or ended_at
    patience = min(_MOST_GROWING_SECONDS, _SHARE_OF_TIME * (ended_at - began))
    held = msgspec.structs.replace(held, ended_at=ended_at, progress=seen.mark or held.progress)
    reports: list[TransitionBody] = []
    if first and held.told is not State.RUNNING and held.stop is not Stop.SERVER and sighting.phase is Phase.ENDED:
        held = msgspec.structs.replace(held, told=State.RUNNING)
        reports.append(report(held, State.RUNNING, "running; it was over before it was seen to run"))
    if held.stop is not Stop.SERVER:
        reports += _progress(held, seen)
    if sighting.may_grow and seen.now - ended_at < patience:
        return Decision(held, tuple(reports))
    return Decision(msgspec.structs.replace(held, stage=Stage.ENDED, end=sighting), tuple(reports))


def _ended(held: Held, seen: Seen) -> Decision:
    if held.stop is Stop.SERVER:
        return Decision(msgspec.structs.replace(held, stage=Stage.DONE))
    is_due = not seen.is_busy and seen.now >= held.not_before
    return Decision(held, (), Effect.COLLECT if is_due else None)


def _progress(held: Held, seen: Seen) -> tuple[TransitionBody, ...]:
    return tuple(report(held, State.RUNNING, _said(line), line) for line in seen.lines)


def _said(line: Line) -> str:
    share = None if line.progress is None else f"{line.progress:.0%}"
    return "progress: " + "; ".join(part for part in (line.phase, line.message, share) if part)
