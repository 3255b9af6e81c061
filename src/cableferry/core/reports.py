"""What becomes of a report: whether it moves its job, and through which states."""

from enum import StrEnum

from cableferry.core.jobs import Cause, Job, Report, State, Wish
from cableferry.core.policy import Repeats, Rules


class Verdict(StrEnum):
    """What becomes of a report."""

    MOVE = "move"
    NOTE = "note"
    REPEAT = "repeat"
    CONFLICT = "conflict"


def judge(job: Job, report: Report, rules: Rules) -> Verdict:
    """Whether the report moves the job, adds to its history, says again where it is, or contradicts that."""
    if report.wish is not None and not job.is_held:
        return Verdict.CONFLICT
    if rules.repeats is Repeats.OF_STATE and _says_again(job, report, rules):
        return Verdict.REPEAT
    if report.state is job.state and job.is_held and not rules.forbids_going_on(job):
        return Verdict.NOTE
    return Verdict.MOVE if steps(job, report, rules) else Verdict.CONFLICT


def steps(job: Job, report: Report, rules: Rules) -> tuple[State, ...]:
    """The states that a report leads its job through; none when it leads nowhere."""
    if report.state is State.CLAIMED or _was_never_going(job, report):
        return ()
    if rules.moves_of(job).allows(job.state, report.state):
        return (report.state,)
    between = rules.skipped.get((job.state, report.state))
    return () if between is None else (between, report.state)


def _says_again(job: Job, report: Report, rules: Rules) -> bool:
    """Whether the contract has one word for where the job is and for what is reported."""
    return rules.word(job.state, job.wish, job.cause) == rules.word(report.state, report.wish, report.cause)


def _was_never_going(job: Job, report: Report) -> bool:
    """Nothing was stopped that neither ran nor was asked to stop: it can go back to the queue instead."""
    return report.cause is Cause.STOPPED and job.state is not State.RUNNING and job.wish is not Wish.STOP
