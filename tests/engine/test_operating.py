"""What operators do about jobs: in good order where the job allows it, by force elsewhere."""

import pytest

from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import Cause, Preference, State
from cableferry.store.tx import News
from tests.engine.containers import Containers

ENDED = ["finished", "failed", "stopped", "canceled"]
GOING = ["running", "stop_requested"]


@pytest.mark.parametrize("word", ["dispatched", "failed", "stopped", "canceled"])
def test_a_job_that_does_not_run_goes_back_as_its_next_attempt(ships: Containers, word: str) -> None:
    job = ships.at(word)

    again = ships.requeue(job)

    assert (State.READY, 2, job.epoch + 1, None) == (again.state, again.attempt, again.epoch, again.worker)
    assert job.id == ships.poll("w2")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("running", "Job is running; use force to requeue"),
        ("stop_requested", "Job is stop_requested; use force to requeue"),
        ("finished", "Finished jobs require force to requeue"),
    ],
)
def test_what_could_run_twice_goes_back_by_force_only(ships: Containers, word: str, told: str) -> None:
    job = ships.at(word)

    with pytest.raises(Conflict) as refused:
        ships.requeue(job)
    again = ships.requeue(job, is_forced=True)

    assert told == refused.value.detail
    assert (State.READY, 2) == (again.state, again.attempt)


def test_whoever_held_a_requeued_job_is_told_and_fenced_off(ships: Containers) -> None:
    job = ships.at("running")
    ships.settle()

    ships.requeue(job, is_forced=True, preference=Preference("w2"))

    assert News("worker", "w1", job.id) in ships.settle()
    assert job.id == ships.poll("w2")
    with pytest.raises(Conflict) as refused:
        ships.say(job, "finished", "w1")
    assert Kind.STALE_LEASE is refused.value.kind
    assert "running" == ships.word(ships.say(job, "running", "w2"))


def test_a_waiting_job_is_placed_anew_and_is_no_new_attempt(ships: Containers) -> None:
    job = ships.launch("w1", is_pinned=True)

    placed = ships.requeue(job, preference=Preference("w2", is_pinned=True))

    assert (1, "w2") == (placed.attempt, placed.kept_for)
    assert [None, job.id] == [ships.poll("w1"), ships.poll("w2")]


@pytest.mark.parametrize("word", ["dispatched", *GOING])
def test_a_held_job_is_failed(ships: Containers, word: str) -> None:
    failed = ships.fail(ships.at(word))

    assert (State.FAILED, Cause.ERROR, "because") == (failed.state, failed.cause, failed.detail)


def test_a_waiting_job_is_failed_by_force_only(ships: Containers) -> None:
    job = ships.launch()

    with pytest.raises(Conflict, match="Job is queued; use cancel or force to fail"):
        ships.fail(job)

    assert State.FAILED is ships.fail(job, is_forced=True).state


@pytest.mark.parametrize("word", ["queued", "dispatched", *GOING])
def test_a_job_that_is_not_over_is_cancelled(ships: Containers, word: str) -> None:
    job = ships.at(word)

    ships.call_off(job)

    assert "canceled" == ships.word(job)


@pytest.mark.parametrize("word", ENDED)
def test_an_end_is_not_taken_back(ships: Containers, word: str) -> None:
    job = ships.at(word)

    for act in (ships.fail, ships.call_off):
        with pytest.raises(Conflict, match=rf"Job already terminal \({word}\)") as refused:
            act(job)
        assert Kind.ALREADY_ENDED is refused.value.kind
    assert job == ships.get(job.id)


@pytest.mark.parametrize("word", ENDED)
def test_by_force_a_job_that_is_over_gets_one_more_attempt_that_ends_as_asked(ships: Containers, word: str) -> None:
    job = ships.at(word)

    ended = ships.call_off(job, is_forced=True)

    assert (State.CANCELLED, 2, None) == (ended.state, ended.attempt, ended.cause)
    assert [(job.state, State.READY), (State.READY, State.CANCELLED)] == ships.states(job)[-2:]
    assert None is ships.poll()
    assert State.FAILED is ships.fail(job, is_forced=True).state
