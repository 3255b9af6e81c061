"""Workers that do not register: what their words do, how long they may be silent, and what is shown of it."""

import pytest
from msgspec import Raw

from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import Cause, Job, State
from tests.engine.containers import Containers

S = State


def test_a_worker_is_known_once_it_is_heard_of(ships: Containers) -> None:
    worker = ships.hear("w1", b'{"load":0.5}')

    assert ("opeva", ships.rules.offers, Raw(b'{"load":0.5}')) == (worker.pool, worker.offers, worker.info)


def test_what_a_worker_says_of_itself_stays_until_it_says_something_else(ships: Containers) -> None:
    ships.hear("w1", b'{"load":0.5}')
    ships.poll("w1")
    assert Raw(b'{"load":0.5}') == ships.hear("w1").info

    assert Raw(b"{}") == ships.hear("w1", b"{}").info


def test_saying_again_where_a_job_is_renews_its_lease_and_writes_no_history(ships: Containers) -> None:
    job = ships.at("running")
    ships.say(job, "running", remarks=b'{"container_id":"c1"}')
    before = ships.get(job.id)
    ships.clock.passes(seconds=30)

    renewed = ships.say(job, "running", remarks=b'{"container_id":"c1"}')

    assert (before.revision, ships.clock.now) == (renewed.revision, renewed.touched_at)
    assert before.due_at is not None
    assert (renewed.due_at - before.due_at).total_seconds() == 30
    assert renewed == ships.get(job.id)


def test_saying_something_new_of_it_is_a_note(ships: Containers) -> None:
    job = ships.at("running")

    noted = ships.say(job, "running", remarks=b'{"container_id":"c1"}')

    assert (job.revision + 1, Raw(b'{"container_id":"c1"}')) == (noted.revision, noted.remarks)
    assert Raw(b'{"container_id":"c1"}') == ships.history(job.id)[-1].payload.remarks


@pytest.mark.parametrize("word", ["finished", "failed", "stopped", "canceled"])
def test_saying_again_how_a_job_ended_changes_nothing(ships: Containers, word: str) -> None:
    job = ships.at(word)

    assert job == ships.say(job, word, remarks=b'{"exit_code":1}')
    assert job == ships.get(job.id)


def test_a_result_that_nobody_saw_running_leaves_a_whole_history(ships: Containers) -> None:
    job = ships.at("dispatched")

    ships.say(job, "finished", remarks=b'{"exit_code":0}')

    moves = [(None, S.READY), (S.READY, S.CLAIMED), (S.CLAIMED, S.RUNNING), (S.RUNNING, S.SUCCEEDED)]
    assert moves == ships.states(job)
    assert [None, Raw(b'{"exit_code":0}')] == [row.payload.remarks for row in ships.history(job.id)[-2:]]
    done = ships.get(job.id)
    assert done.started_at == done.ended_at


def test_a_worker_gives_a_job_back_that_it_cannot_run(ships: Containers) -> None:
    job = ships.at("dispatched")

    given = ships.say(job, "queued")

    assert (State.READY, 2, None) == (given.state, given.attempt, given.worker)
    assert given == ships.say(job, "queued")
    assert job.id == ships.poll("w2")


@pytest.mark.parametrize("word", ["running", "stop_requested", "finished"])
def test_no_other_job_is_given_back(ships: Containers, word: str) -> None:
    job = ships.at(word)

    with pytest.raises(Conflict, match=f"from {word} to queued"):
        ships.say(job, "queued")


def test_only_its_holder_gives_a_job_back(ships: Containers) -> None:
    job = ships.at("dispatched")

    with pytest.raises(Conflict) as refused:
        ships.say(job, "queued", "w2")

    assert Kind.STALE_LEASE is refused.value.kind


@pytest.fixture
def beating(ships: Containers) -> Containers:
    ships.beat()
    return ships


def test_a_claim_that_is_never_heard_of_again_goes_back(beating: Containers) -> None:
    job = beating.at("dispatched")

    beating.keep_beating(seconds=39)
    assert 0 == beating.sweep()
    beating.keep_beating(seconds=1)
    assert 1 == beating.sweep()

    assert (State.READY, 2) == (beating.get(job.id).state, beating.get(job.id).attempt)


def test_a_first_word_gives_a_claimed_job_its_usual_time(beating: Containers) -> None:
    job = beating.at("dispatched")
    beating.say(job, "dispatched")

    beating.keep_beating(seconds=99)
    assert 0 == beating.sweep()
    beating.keep_beating(seconds=1)
    assert 1 == beating.sweep()


def test_a_running_job_that_is_silent_has_failed_unless_its_worker_speaks_in_time(beating: Containers) -> None:
    job = beating.at("running")
    beating.keep_beating(seconds=99)
    beating.say(job, "running")
    beating.keep_beating(seconds=99)
    assert 0 == beating.sweep()
    beating.keep_beating(seconds=1)

    assert 1 == beating.sweep()
    assert (State.FAILED, Cause.SILENT) == (beating.get(job.id).state, beating.get(job.id).cause)


def test_a_worker_that_is_gone_loses_what_it_holds(beating: Containers) -> None:
    waiting, going = beating.at("dispatched"), beating.at("running")
    other = beating.at("running", "w2")

    beating.keep_beating(seconds=59)
    beating.hear("w2")
    assert 0 == beating.look_for_absent()
    beating.keep_beating(seconds=1)
    assert 2 == beating.look_for_absent()

    assert (State.READY, "queued") == (beating.get(waiting.id).state, beating.word(waiting))
    assert (State.FAILED, Cause.OFFLINE) == (beating.get(going.id).state, beating.get(going.id).cause)
    assert "running" == beating.word(other)
    assert 0 == beating.look_for_absent()


def test_polling_is_being_heard_of(beating: Containers) -> None:
    job = beating.at("running")
    for _ in range(4):
        beating.keep_beating(seconds=50)
        beating.poll()
        beating.say(job, "running")

    assert 0 == beating.look_for_absent()


def test_no_worker_is_gone_because_no_server_lived(beating: Containers) -> None:
    job = beating.at("running")
    beating.clock.passes(hours=5)

    assert (0, 0) == (beating.sweep(), beating.look_for_absent())
    assert "running" == beating.word(job)


def _end(ships: Containers, job: Job) -> None:
    ships.say(job, "finished")


CHANGES = {
    "a claim": ("queued", lambda ships, job: ships.poll()),
    "a report": ("running", _end),
    "a renewed lease": ("running", lambda ships, job: ships.say(job, "running")),
    "a stop": ("running", lambda ships, job: ships.stop(job)),
    "a requeue": ("dispatched", lambda ships, job: ships.requeue(job)),
    "a failure": ("running", lambda ships, job: ships.fail(job)),
    "a deletion": ("finished", lambda ships, job: ships.delete(job.id)),
}


@pytest.mark.parametrize(("word", "change"), CHANGES.values(), ids=CHANGES)
def test_every_change_marks_the_job_whose_files_are_behind(ships: Containers, word: str, change: object) -> None:
    job = ships.at(word)
    assert {job.id} == ships.marked()

    change(ships, job)  # type: ignore[operator]  # a table of callables

    assert {job.id} == ships.marked()
    assert set() == ships.marked()
