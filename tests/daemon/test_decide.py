"""What is done about a started job, as a table of sightings."""

import pytest

from cableferry.daemon.decide import Push, Seen, decide, stopped
from cableferry.daemon.journal import Held, Stage, Stop
from cableferry.daemon.progress import Line
from cableferry.schedulers.protocol import Phase, Sighting

RUNNING = Sighting(Phase.RUNNING)
HELD = Held("j1", "j1", "echo", Stage.STARTED, epoch=3, claimed_at=100, called="local-7")


def _seen(sighting: Sighting, now: float = 101, lines: tuple[Line, ...] = ()) -> Seen:
    return Seen(sighting, now, lines, offset=9, output_dir="/out")


@pytest.mark.parametrize(
    ("sighting", "status", "detail"),
    [
        (Sighting(Phase.ENDED, exit_code=0), "COMPLETED", "exit_code=0; output=/out"),
        (Sighting(Phase.ENDED, exit_code=3), "FAILED", "exit_code=3; output=/out"),
        (Sighting(Phase.ENDED, signal=9), "FAILED", "signal=9; output=/out"),
        (Sighting(Phase.GONE), "FAILED", "lost: the process has gone and left no exit code"),
    ],
    ids=["it succeeded", "it failed", "it was killed", "it vanished"],
)
def test_an_end_is_told_under_the_lease(sighting: Sighting, status: str, detail: str) -> None:
    decision = decide(HELD, _seen(sighting))

    last = decision.reports[-1]
    assert decision.held.stage is Stage.ENDED
    assert (last.status, last.detail, last.epoch, last.slurm_job_id) == (status, detail, 3, "local-7")


def test_every_line_of_progress_is_told_before_the_end() -> None:
    lines = (Line("load", "files", 0.25), Line("run"))

    decision = decide(HELD, _seen(Sighting(Phase.ENDED, exit_code=0), lines=lines))

    assert [report.detail for report in decision.reports] == [
        "progress: load; files; 25%",
        "progress: run",
        "exit_code=0; output=/out",
    ]
    assert decision.held.progress_offset == 9


def test_a_running_job_with_nothing_new_is_left_alone() -> None:
    decision = decide(HELD, _seen(RUNNING))

    assert (decision.reports, decision.push, decision.held.stage) == ((), None, Stage.STARTED)


@pytest.mark.parametrize(("now", "push"), [(101, Push.ASK), (105.9, Push.ASK), (106, Push.KILL)])
def test_a_stopped_job_is_asked_and_then_killed(now: float, push: Push) -> None:
    decision = decide(stopped(HELD, Stop.SERVER, 101), _seen(RUNNING, now))

    assert (decision.push, decision.reports) == (push, ())


def test_the_end_of_a_job_that_its_server_stopped_is_not_told() -> None:
    decision = decide(stopped(HELD, Stop.SERVER, 101), _seen(Sighting(Phase.ENDED, signal=15)))

    assert (decision.held.stage, decision.reports) == (Stage.ENDED, ())


def test_a_job_beyond_its_time_is_stopped_and_said_to_be() -> None:
    timed = Held("j1", "j1", "echo", Stage.STARTED, timeout_seconds=10, claimed_at=100)

    early = decide(timed, _seen(RUNNING, 109))
    late = decide(timed, _seen(RUNNING, 110))
    ended = decide(late.held, _seen(Sighting(Phase.ENDED, signal=15), 111))

    assert [early.push, late.push] == [None, Push.ASK]
    assert [report.detail for report in ended.reports] == ["timeout: job timeout_seconds (10s) exceeded"]


def test_a_server_may_stop_what_its_time_has_stopped() -> None:
    twice = stopped(stopped(HELD, Stop.TIME, 101), Stop.SERVER, 105)

    assert (twice.stop, twice.stop_at) == (Stop.SERVER, 101)
