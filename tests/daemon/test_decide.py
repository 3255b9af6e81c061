"""What is done about a job at each of its stages, as tables of what was seen."""

import msgspec
import pytest

from cableferry.core.jobs import State
from cableferry.daemon.decide import Decision, Effect, Limits, Seen, decide, stopped
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.progress import Line, Mark
from cableferry.schedulers.protocol import Ending, Phase, Sighting, Ticket

RUNNING = Sighting(Phase.RUNNING, word="RUNNING", node="c1")
DONE = Sighting(Phase.ENDED, 0, ending=Ending.DONE)
MARK = Mark(9, "x")
LIMITS = Limits(stop_seconds=5, submission_seconds=50, lost_seconds=20, queue_report_seconds=300)


def _held(stage: Stage, **changed: object) -> Held:
    called = "12" if stage in (Stage.SUBMITTED, Stage.STARTED, Stage.ENDED) else None
    told = {Stage.SUBMITTED: State.SUBMITTED, Stage.STARTED: State.RUNNING}.get(stage, State.CLAIMED)
    held = Held(id="j1", name="cf-j1-a1", folder="j1", processor="echo", stage=stage, epoch=3, claimed_at=100)
    return msgspec.structs.replace(held, **{"called": called, "told": told, "submitted_at": 100.0, **changed})


def _decide(held: Held, now: float = 101, sighting: Sighting | None = None, **more: object) -> Decision:
    return decide(held, msgspec.structs.replace(Seen(now, sighting, mark=MARK, limits=LIMITS), **more))


@pytest.mark.parametrize(
    ("stage", "effect", "becomes"),
    [
        (Stage.CLAIMED, Effect.PREPARE, Stage.CLAIMED),
        (Stage.READY, Effect.SUBMIT, Stage.INTENT),
        (Stage.INTENT, Effect.FIND, Stage.INTENT),
        (Stage.SUBMITTED, None, Stage.SUBMITTED),
        (Stage.STARTED, None, Stage.STARTED),
        (Stage.ENDED, Effect.COLLECT, Stage.ENDED),
        (Stage.DONE, None, Stage.DONE),
    ],
)
def test_each_stage_has_a_next_thing_to_do(stage: Stage, effect: Effect | None, becomes: Stage) -> None:
    decision = _decide(_held(stage))

    assert (decision.effect, decision.held.stage) == (effect, becomes)


@pytest.mark.parametrize("stage", list(Stage))
def test_nothing_is_begun_while_something_is_under_way(stage: Stage) -> None:
    held = _held(stage, stop=Stop.SERVER if stage is Stage.STARTED else None, stop_at=100.0)

    assert _decide(held, is_busy=True).effect is None


@pytest.mark.parametrize("stage", [Stage.CLAIMED, Stage.READY, Stage.INTENT, Stage.ENDED])
def test_what_is_to_wait_waits(stage: Stage) -> None:
    assert _decide(_held(stage, not_before=102.0)).effect is None


@pytest.mark.parametrize(
    ("stage", "stop", "becomes", "told"),
    [
        (Stage.CLAIMED, Stop.SERVER, Stage.DONE, []),
        (Stage.READY, Stop.SERVER, Stage.DONE, []),
        (Stage.CLAIMED, Stop.TIME, Stage.DONE, ["FAILED"]),
        (Stage.READY, Stop.TIME, Stage.DONE, ["FAILED"]),
        # it may have been submitted: that must be known before it can be ended
        (Stage.INTENT, Stop.SERVER, Stage.INTENT, []),
        (Stage.ENDED, Stop.SERVER, Stage.DONE, []),
    ],
)
def test_a_stop_before_anything_runs(stage: Stage, stop: Stop, becomes: Stage, told: list[str]) -> None:
    decision = _decide(_held(stage, stop=stop, stop_at=100.0))

    assert (decision.held.stage, [report.status for report in decision.reports]) == (becomes, told)


def test_a_job_that_is_not_submitted_in_time_fails_with_what_kept_it() -> None:
    decision = _decide(_held(Stage.READY, remark="the queue is full"), now=150)

    assert [report.detail for report in decision.reports] == [
        "timeout: not submitted within 50s: the queue is full",
    ]


@pytest.mark.parametrize(
    ("stage", "sighting", "becomes", "told"),
    [
        (Stage.SUBMITTED, RUNNING, Stage.STARTED, ["STARTED running on c1"]),
        (Stage.STARTED, RUNNING, Stage.STARTED, []),
        (
            Stage.SUBMITTED,
            Sighting(Phase.QUEUED, word="PENDING", reason="Resources", starts_at=900),
            Stage.SUBMITTED,
            ["SUBMITTED slurm_state=PENDING; reason=Resources; queued=1s; starts=900"],
        ),
        (
            Stage.STARTED,
            Sighting(Phase.PUZZLING, word="TELEPORTING"),
            Stage.STARTED,
            ["STARTED slurm_state=TELEPORTING; reason=none; queued=1s"],
        ),
        (Stage.STARTED, DONE, Stage.ENDED, []),
        (
            Stage.SUBMITTED,
            DONE,
            Stage.ENDED,
            ["STARTED running; it was over before it was seen to run"],
        ),
        (Stage.STARTED, Sighting(Phase.GONE), Stage.ENDED, []),
        (Stage.SUBMITTED, Sighting(Phase.MISSING), Stage.SUBMITTED, []),
        (Stage.STARTED, None, Stage.STARTED, []),
    ],
)
def test_what_is_seen_of_a_submitted_job(
    stage: Stage, sighting: Sighting | None, becomes: Stage, told: list[str]
) -> None:
    decision = _decide(_held(stage), sighting=sighting)

    assert decision.held.stage is becomes
    assert [f"{report.status} {report.detail}" for report in decision.reports] == told
    assert decision.effect is None


def test_when_a_job_was_submitted_stays_as_its_scheduler_first_said_it() -> None:
    held = _held(Stage.SUBMITTED)
    for submitted in (70, 90):
        held = _decide(held, sighting=msgspec.structs.replace(RUNNING, submitted_at=submitted)).held

    assert Ticket("cf-j1-a1", "12", submitted_at=70) == held.ticket


def test_why_it_waits_is_told_when_it_changes_and_now_and_then() -> None:
    waiting = Sighting(Phase.QUEUED, word="PENDING", reason="Priority")
    first = _decide(_held(Stage.SUBMITTED), 101, waiting)
    told = [
        len(_decide(first.held, now, sighting).reports)
        for now, sighting in (
            (102, waiting),
            (102, msgspec.structs.replace(waiting, reason="Resources")),
            (401, waiting),
        )
    ]

    assert (len(first.reports), told) == (1, [0, 1, 1])


def test_a_missing_job_is_lost_only_after_a_while_and_not_if_it_comes_back() -> None:
    missing = Sighting(Phase.MISSING)
    first = _decide(_held(Stage.STARTED), 200, missing).held
    back = _decide(first, 210, RUNNING).held
    lost = _decide(first, 220, missing).held

    assert (first.missing_since, back.missing_since) == (200, None)
    assert (_decide(first, 219, missing).held.stage, lost.stage) == (Stage.STARTED, Stage.ENDED)
    assert lost.end == Sighting(Phase.GONE)


def test_an_end_that_may_grow_is_waited_for_a_tenth_of_the_jobs_own_time() -> None:
    growing = msgspec.structs.replace(DONE, may_grow=True)
    held = _held(Stage.STARTED, started_at=100.0)
    first = _decide(held, 150, growing).held

    stages = [
        _decide(first, now, sighting).held.stage for now, sighting in ((154, growing), (155, growing), (151, DONE))
    ]

    assert (first.stage, stages) == (Stage.STARTED, [Stage.STARTED, Stage.ENDED, Stage.ENDED])


def test_every_line_of_progress_is_told_once_and_before_the_end() -> None:
    lines = (Line("load", "files", 0.25), Line("run"))

    decision = _decide(_held(Stage.STARTED), sighting=DONE, lines=lines)

    assert [report.detail for report in decision.reports] == ["progress: load; files; 25%", "progress: run"]
    assert decision.held.progress == MARK


@pytest.mark.parametrize(
    ("now", "effect"),
    [(101, Effect.CANCEL), (105.9, Effect.CANCEL), (106, Effect.KILL)],
    ids=["asked", "again", "late"],
)
def test_a_stopped_job_is_asked_and_then_killed(now: float, effect: Effect) -> None:
    decision = _decide(stopped(_held(Stage.STARTED), Stop.SERVER, 101), now, RUNNING)

    assert (decision.effect, decision.reports) == (effect, ())


def test_a_stop_reaches_the_scheduler_without_a_look() -> None:
    assert _decide(stopped(_held(Stage.SUBMITTED), Stop.SERVER, 101)).effect is Effect.CANCEL


def test_a_scheduler_is_not_asked_to_stop_the_same_job_all_the_time() -> None:
    held = _decide(stopped(_held(Stage.STARTED), Stop.SERVER, 101), 101).held

    assert [_decide(held, now).effect for now in (102, 106)] == [None, Effect.KILL]


def test_the_end_of_a_job_that_its_server_stopped_is_not_told() -> None:
    ended = _decide(stopped(_held(Stage.SUBMITTED), Stop.SERVER, 101), sighting=DONE)

    assert (ended.held.stage, ended.reports) == (Stage.ENDED, ())


@pytest.mark.parametrize(
    ("changed", "now", "why"),
    [
        ({"timeout_seconds": 10}, 110, "timeout: job timeout_seconds (10s) exceeded"),
        ({"started_at": 100.0}, 130, "timeout: execution_timeout_seconds (30s) exceeded"),
    ],
)
def test_a_job_beyond_its_time_is_stopped_and_said_to_be(changed: dict[str, object], now: float, why: str) -> None:
    limits = msgspec.structs.replace(LIMITS, execution_seconds=30)
    early = _decide(_held(Stage.STARTED, **changed), now - 1, RUNNING, limits=limits)
    late = _decide(_held(Stage.STARTED, **changed), now, RUNNING, limits=limits)

    assert [early.effect, late.effect] == [None, Effect.CANCEL]
    assert (late.held.stop, late.held.stop_why) == (Stop.TIME, why)


def test_a_server_may_stop_what_its_time_has_stopped() -> None:
    twice = stopped(stopped(_held(Stage.STARTED), Stop.TIME, 101, "late"), Stop.SERVER, 105)

    assert (twice.stop, twice.stop_at) == (Stop.SERVER, 101)
