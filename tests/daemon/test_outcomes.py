"""What becomes of a job when something was done about it, also when nobody knows whether it was."""

import msgspec
import pytest

from cableferry.core.jobs import State
from cableferry.daemon import outcomes
from cableferry.daemon.decide import Decision, Effect, Seen, decide
from cableferry.daemon.endings import Collected
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.outcomes import Cancelled, Outcome, Prepared, Uncollected, Unprepared, fold
from cableferry.schedulers.protocol import Accepted, Ending, Found, Phase, Refused, Sighting, Ticket, Unknown, Usage
from cableferry.wire.emx2.remarks import Requested

T = Ticket("cf-j1-a1", "12")
OTHER = Ticket("cf-j1-a1", "14")
SETTLED = 100 + outcomes.SETTLE_SECONDS


def _held(stage: Stage, **changed: object) -> Held:
    held = Held(id="j1", name="cf-j1-a1", folder="j1", processor="echo", stage=stage, epoch=3, asked_at=100)
    return msgspec.structs.replace(held, **changed)


def _said(decision: Decision) -> list[str]:
    return [f"{report.status} {report.detail}" for report in decision.reports]


@pytest.mark.parametrize(
    ("stage", "outcome", "becomes", "told"),
    [
        (Stage.CLAIMED, Prepared(), Stage.READY, []),
        (Stage.CLAIMED, Unprepared("disk full", may_pass=True), Stage.CLAIMED, []),
        (Stage.CLAIMED, Unprepared("no such profile"), Stage.DONE, ["FAILED no such profile"]),
        (Stage.INTENT, Accepted(T), Stage.SUBMITTED, ["SUBMITTED submitted as 12"]),
        (Stage.INTENT, Refused("limit", may_pass=True), Stage.READY, []),
        (Stage.INTENT, Refused("no such partition"), Stage.DONE, ["FAILED submit-refused: no such partition"]),
        (Stage.INTENT, Unknown("timed out"), Stage.INTENT, []),
        (Stage.INTENT, Found(True, (T, OTHER)), Stage.SUBMITTED, ["SUBMITTED submitted as 12"]),
        (Stage.INTENT, Found(True), Stage.INTENT, []),
        (Stage.INTENT, Found(False, (), "no answer"), Stage.INTENT, []),
        (Stage.STARTED, Cancelled(), Stage.STARTED, []),
        (Stage.ENDED, Uncollected("no server"), Stage.ENDED, []),
        (Stage.ENDED, Uncollected("gone", may_pass=False), Stage.DONE, ["FAILED gone"]),
    ],
)
def test_each_outcome_has_a_meaning(stage: Stage, outcome: Outcome, becomes: Stage, told: list[str]) -> None:
    decision = fold(_held(stage), outcome, 101)

    assert (decision.held.stage, _said(decision)) == (becomes, told)


def test_an_unknown_submission_is_looked_for_and_not_repeated() -> None:
    unknown = fold(_held(Stage.INTENT), Unknown("timed out"), 101).held

    assert decide(unknown, Seen(101)).effect is Effect.FIND


@pytest.mark.parametrize(
    ("answers", "becomes"),
    [
        # absence counts only if it is told twice, by a scheduler that answers, and late enough
        ([(Found(True), 101), (Found(True), 106)], Stage.INTENT),
        ([(Found(True), SETTLED)], Stage.INTENT),
        ([(Found(True), 106), (Found(False), SETTLED), (Found(True), SETTLED + 5)], Stage.INTENT),
        ([(Found(True), 106), (Found(True), SETTLED)], Stage.CLAIMED),
        ([(Found(True), 106), (Found(True, (T,)), SETTLED)], Stage.SUBMITTED),
        ([(Found(True, is_final=True), 101)], Stage.CLAIMED),
        ([(Found(False, is_final=True), 101)], Stage.INTENT),
    ],
    ids=["too early", "once", "an answer that failed", "twice and late", "there after all", "for good", "no answer"],
)
def test_only_certain_absence_lets_a_job_be_submitted_again(answers: list[tuple[Found, float]], becomes: Stage) -> None:
    held = _held(Stage.INTENT)
    for found, now in answers:
        held = fold(held, found, now).held

    assert held.stage is becomes


def test_a_job_the_server_saw_running_and_nobody_else_knows_is_lost() -> None:
    held = _held(Stage.INTENT, told=State.RUNNING, asked_at=0.0, absences=1)

    assert _said(fold(held, Found(True), 101)) == ["FAILED lost: this worker knows nothing of it any more"]


def test_a_stop_during_a_submission_ends_the_job_as_soon_as_it_has_a_ticket() -> None:
    submitted = fold(_held(Stage.INTENT, stop=Stop.SERVER, stop_at=100.0), Accepted(T), 101)

    assert _said(submitted) == []
    assert decide(submitted.held, Seen(101)).effect is Effect.CANCEL


def test_a_job_that_is_to_stop_may_still_begin_where_another_start_would_win() -> None:
    stopping = _held(Stage.INTENT, stop=Stop.SERVER, stop_at=100.0)

    assert fold(stopping, Found(True, is_final=True), 101).held.stage is Stage.INTENT


def test_a_stop_during_a_submission_that_never_was_ends_the_job() -> None:
    held = _held(Stage.INTENT, stop=Stop.TIME, stop_at=100.0, stop_why="timeout: too late", absences=1)

    assert _said(fold(held, Found(True), SETTLED)) == ["FAILED timeout: too late"]


@pytest.mark.parametrize(
    ("end", "status", "detail"),
    [
        (Sighting(Phase.ENDED, 0, ending=Ending.DONE), "COMPLETED", "exit_code=0; output=/out"),
        (Sighting(Phase.ENDED, 3, ending=Ending.FAILED), "FAILED", "exit_code=3; output=/out"),
        (Sighting(Phase.ENDED, None, 9, Ending.FAILED), "FAILED", "signal=9; output=/out"),
        (Sighting(Phase.GONE), "FAILED", "lost: it has gone and left no exit code; output=/out"),
        (
            Sighting(Phase.ENDED, None, 125, Ending.OUT_OF_MEMORY, "OUT_OF_MEMORY", None, "c1", None, Usage(9, 1.5, 7)),
            "FAILED",
            "out-of-memory: it used more than it had asked for; slurm_state=OUT_OF_MEMORY; signal=125; node=c1;"
            " elapsed=9s; cpu=1.5s; max_rss=7; output=/out",
        ),
        (
            Sighting(Phase.ENDED, None, None, Ending.TIMEOUT, "TIMEOUT"),
            "FAILED",
            "timeout: the time limit at its scheduler; slurm_state=TIMEOUT; output=/out",
        ),
    ],
)
def test_an_end_is_told_under_the_lease_with_its_cause(end: Sighting, status: str, detail: str) -> None:
    decision = fold(_held(Stage.ENDED, end=end, called="12"), Collected(output_dir="/out"), 101)

    (last,) = decision.reports
    assert decision.held.stage is Stage.DONE
    assert (last.status, last.detail, last.epoch, last.slurm_job_id) == (status, detail, 3, "12")


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.DONE])
def test_no_other_ending_completes_a_job(ending: Ending) -> None:
    (last,) = fold(_held(Stage.ENDED, end=Sighting(Phase.ENDED, 0, ending=ending)), Collected(), 101).reports

    assert last.status == "FAILED"


def test_results_are_named() -> None:
    held = _held(Stage.ENDED, end=Sighting(Phase.ENDED, 0, ending=Ending.DONE))
    (last,) = fold(held, Collected("out-1", "log-1"), 101).reports

    assert (last.output_artifact_id, last.log_artifact_id) == ("out-1", "log-1")


def test_an_end_of_a_kind_that_its_site_retries_is_a_beginning() -> None:
    ended = _held(Stage.ENDED, end=Sighting(Phase.ENDED, ending=Ending.NODE_FAILED), told=State.RUNNING)
    first = fold(ended, Collected(), 101, retries=2)
    again = msgspec.structs.replace(first.held, stage=Stage.ENDED, end=ended.end)
    second = fold(again, Collected(), 102, retries=2)
    third = fold(msgspec.structs.replace(second.held, stage=Stage.ENDED, end=ended.end), Collected(), 103, retries=2)

    assert [(d.held.stage, d.held.name, d.held.folder) for d in (first, second)] == [
        (Stage.CLAIMED, "cf-j1-a1-r2", "j1-r2"),
        (Stage.CLAIMED, "cf-j1-a1-r3", "j1-r3"),
    ]
    assert _said(first) == ["STARTED node-fail: tried again, try 2"]
    assert third.held.stage is Stage.DONE


def test_a_job_that_came_second_gives_way_to_the_one_that_was_first() -> None:
    second = _held(Stage.SUBMITTED, called="14", told=State.SUBMITTED)
    left = decide(second, Seen(101, Sighting(Phase.ENDED, 117, ending=Ending.DUPLICATE))).held
    followed = fold(left, Found(True, (T, OTHER)), 102).held
    alone = fold(left, Found(True, (OTHER,)), 102).held

    assert left.stage is Stage.INTENT
    assert (followed.stage, followed.called) == (Stage.SUBMITTED, "12")
    assert (alone.stage, alone.end and alone.end.ending) == (Stage.ENDED, Ending.DUPLICATE)
    again = decide(followed, Seen(103, Sighting(Phase.ENDED, 117, ending=Ending.DUPLICATE))).held
    assert again.stage is Stage.ENDED


def test_what_is_not_known_of_a_second_job_is_asked_again() -> None:
    left = _held(Stage.INTENT, called="14", is_second=True)

    assert fold(left, Found(False, (OTHER,)), 102).held.stage is Stage.INTENT


def test_what_a_job_was_given_is_told_once_it_is_submitted() -> None:
    given = Requested(8, 2**34, 3600.0)

    decision = fold(_held(Stage.INTENT, requested=given), Accepted(T), 101)

    assert [given] == [report.requested for report in decision.reports]
