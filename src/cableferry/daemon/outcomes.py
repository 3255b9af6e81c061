"""What becomes of a job when something was done about it."""

import msgspec

from cableferry.core.jobs import Cause, State
from cableferry.daemon.decide import Decision, give_up
from cableferry.daemon.disks import REST_SECONDS
from cableferry.daemon.endings import Collected, last, report
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.tailing.files import Tail
from cableferry.schedulers.protocol import (
    Accepted,
    Ending,
    Found,
    Phase,
    Refused,
    Sighting,
    Submission,
    Ticket,
    Unknown,
)

# a request may still lie in a controller's queue so long after whoever sent it gave up
SETTLE_SECONDS = 60.0
AGAIN_SECONDS = 5.0
_LATER_SECONDS = 30.0


class Prepared(msgspec.Struct, frozen=True):
    """Folders and inputs are there; some lie where a container does not look by itself."""

    outside: tuple[str, ...] = ()
    tails: tuple[Tail, ...] = ()


class Unprepared(msgspec.Struct, frozen=True):
    """They are not; `may_pass` says that trying again could help, `is_full` that there is no room for them."""

    reason: str
    may_pass: bool = False
    cause: Cause = Cause.ERROR
    is_full: bool = False


class Cancelled(msgspec.Struct, frozen=True):
    """The scheduler was asked to end it."""


class Uncollected(msgspec.Struct, frozen=True):
    """The results are not home yet, or never will be; `is_full` says that a disk here is in the way."""

    reason: str
    may_pass: bool = True
    is_full: bool = False


class Cleaned(msgspec.Struct, frozen=True):
    """Nothing is left of a job but what its site wishes to keep."""

    held: Held


Outcome = Prepared | Unprepared | Submission | Found | Cancelled | Collected | Uncollected


def fold(held: Held, outcome: Outcome, now: float, retries: int = 0) -> Decision:
    """The job after an effect; `retries` is how often its site wants one of its kind tried again."""
    match outcome:
        case Prepared(outside=outside, tails=tails):
            ready = msgspec.structs.replace(held, stage=Stage.READY, remark=None, outside=outside, tails=tails)
            return Decision(ready)
        case Unprepared() | Refused():
            return _refused(held, outcome, now)
        case Accepted(ticket=ticket):
            return _accepted(held, ticket, now)
        case Unknown(reason=reason):
            return Decision(msgspec.structs.replace(held, asked_at=now, not_before=now, remark=reason))
        case Found():
            return _found(held, outcome, now)
        case Cancelled():
            return Decision(held)
        case Collected():
            return _retried(held, now) if _may_retry(held, retries) else _finished(held, outcome)
        case Uncollected():
            return _uncollected(held, outcome, now)


def _refused(held: Held, no: Unprepared | Refused, now: float) -> Decision:
    """Nothing was submitted; the next try may do better, or there is none."""
    if not no.may_pass:
        if isinstance(no, Refused):
            return give_up(held, f"submit-refused: {no.reason}", Cause.REFUSED)
        return give_up(held, no.reason, no.cause)
    stage = Stage.CLAIMED if held.stage is Stage.CLAIMED else Stage.READY
    later = REST_SECONDS if isinstance(no, Unprepared) and no.is_full else _LATER_SECONDS
    return Decision(msgspec.structs.replace(held, stage=stage, not_before=now + later, remark=no.reason))


def _uncollected(held: Held, no: Uncollected, now: float) -> Decision:
    if not no.may_pass:
        return give_up(held, no.reason, Cause.STORING)
    later = REST_SECONDS if no.is_full else _LATER_SECONDS
    return Decision(msgspec.structs.replace(held, not_before=now + later, remark=no.reason))


def _accepted(held: Held, ticket: Ticket, now: float) -> Decision:
    held = msgspec.structs.replace(
        held,
        stage=Stage.SUBMITTED,
        called=ticket.called,
        cluster=ticket.cluster,
        submitted_at=now,
        entered_at=ticket.submitted_at,
        remark=None,
        missing_since=None,
    )
    if held.stop is Stop.SERVER or held.told is not State.CLAIMED:
        return Decision(held)
    held = msgspec.structs.replace(held, told=State.SUBMITTED)
    told = report(held, State.SUBMITTED, f"submitted as {ticket.called}")
    return Decision(held, (msgspec.structs.replace(told, requested=held.requested),))


def _found(held: Held, found: Found, now: float) -> Decision:
    """Only answers that name nobody, twice and late enough or for good, say that nothing was submitted."""
    others = [ticket for ticket in found.tickets if not held.is_second or ticket.called != held.called]
    if others:
        return _accepted(held, others[0], now)
    if not found.is_ok:
        return Decision(msgspec.structs.replace(held, not_before=now + AGAIN_SECONDS, absences=0))
    if held.is_second:
        end = Sighting(Phase.ENDED, ending=Ending.DUPLICATE)
        return Decision(msgspec.structs.replace(held, stage=Stage.ENDED, end=end))
    absences = held.absences + 1
    settled_at = held.asked_at + SETTLE_SECONDS
    was_told = held.told is not State.CLAIMED and held.tries == 1
    # a start on its way gives way to another one, but of a job that is to stop, or was seen elsewhere, there is none
    is_final = found.is_final and held.stop is None and not was_told
    if not is_final and (absences < 2 or now < settled_at):
        again = msgspec.structs.replace(held, absences=absences, not_before=now + AGAIN_SECONDS)
        return Decision(again)
    if held.stop is not None:
        return give_up(held, held.stop_why or "stopped before it was submitted", Cause.TIMEOUT)
    if was_told:
        return give_up(held, "lost: this worker knows nothing of it any more", Cause.LOST)
    return Decision(msgspec.structs.replace(held, stage=Stage.CLAIMED, not_before=now))


def _may_retry(held: Held, retries: int) -> bool:
    is_infrastructure = held.end is not None and held.end.ending not in (Ending.DONE, None)
    return held.stop is None and is_infrastructure and held.tries <= retries


def _retried(held: Held, now: float) -> Decision:
    """The same attempt under another name and in another folder; what ran is over for certain."""
    why = "" if held.end is None else f"{held.end.ending}"
    tries = held.tries + 1
    again = Held(
        id=held.id,
        name=_again(held.name, tries),
        folder=_again(held.folder, tries),
        processor=held.processor,
        profile=held.profile,
        told=held.told,
        epoch=held.epoch,
        parameters=held.parameters,
        inputs=held.inputs,
        timeout_seconds=held.timeout_seconds,
        claimed_at=held.claimed_at,
        not_before=now,
        tries=tries,
    )
    return Decision(again, (report(held, held.told, f"{why}: tried again, try {tries}"),))


def _again(name: str, tries: int) -> str:
    first = name if tries == 2 else name.rpartition("-r")[0]
    return f"{first}-r{tries}"


def _finished(held: Held, collected: Collected) -> Decision:
    done = msgspec.structs.replace(held, stage=Stage.DONE, is_home=collected.is_home)
    return Decision(done, (last(held, collected),))
