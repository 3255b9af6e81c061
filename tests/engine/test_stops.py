"""A stop is a wish: what waits is cancelled, what is held ends by its worker's word."""

import pytest

from cableferry.core.access import Claimant, Person, Role
from cableferry.core.errors import Conflict, Forbidden, Kind
from cableferry.core.jobs import Cause, State, Wish
from cableferry.engine.sync import Stop
from cableferry.store.tx import News
from tests.engine.containers import Containers
from tests.engine.world import World


def test_a_waiting_job_is_cancelled_at_once(ships: Containers) -> None:
    asked = ships.stop(ships.launch())

    assert (State.READY, State.CANCELLED) == (asked.before.state, asked.after.state)
    assert None is ships.poll()


@pytest.mark.parametrize("word", ["dispatched", "running"])
def test_a_held_job_stays_where_it_is_until_its_worker_says_so(ships: Containers, word: str) -> None:
    job = ships.at(word)

    ships.stop(job)

    assert "stop_requested" == ships.word(job)
    ships.say(job, "stopped")
    assert ("stopped", Cause.STOPPED) == (ships.word(job), ships.get(job.id).cause)


@pytest.mark.parametrize("word", ["stop_requested", "finished", "failed", "stopped", "canceled"])
def test_a_job_that_stops_or_is_over_stays_as_it_is(ships: Containers, word: str) -> None:
    job = ships.at(word)

    asked = ships.stop(job)

    assert asked.before == asked.after == ships.get(job.id)
    assert len(ships.history(job.id)) == job.revision


def test_a_stop_stands_in_the_history_and_its_worker_is_told(ships: Containers) -> None:
    job = ships.at("running")
    ships.settle()

    ships.stop(job)

    last = ships.history(job.id)[-1]
    assert (State.RUNNING, State.RUNNING, "user:olga", "enough") == (
        last.old,
        last.new,
        last.actor,
        last.payload.detail,
    )
    assert News("worker", "w1", job.id) in ships.settle()


def test_a_worker_may_not_go_on_with_a_job_that_is_to_stop(ships: Containers) -> None:
    job = ships.at("stop_requested")

    with pytest.raises(Conflict, match="from stop_requested to running"):
        ships.say(job, "running")


@pytest.mark.parametrize("word", ["finished", "failed"])
def test_a_job_that_ended_by_itself_meanwhile_has_its_result(ships: Containers, word: str) -> None:
    job = ships.at("stop_requested")

    ships.say(job, word)

    assert word == ships.word(job)


def test_a_worker_may_say_first_that_it_is_stopping(ships: Containers) -> None:
    job = ships.at("running")

    stopping = ships.say(job, "stop_requested")

    assert (Wish.STOP, "stop_requested") == (stopping.wish, ships.word(job))


def test_a_job_that_was_asked_to_stop_and_is_silent_has_failed(ships: Containers) -> None:
    ships.beat()
    job = ships.at("dispatched")
    ships.stop(job)
    ships.keep_beating(seconds=41)

    assert 1 == ships.sweep()
    assert ("failed", Cause.SILENT) == (ships.word(job), ships.get(job.id).cause)


def test_another_editor_may_not_stop_it(ships: Containers) -> None:
    job = ships.at("running")

    for caller in (Person("ann", Role.EDITOR), Claimant("w2", "c1")):
        with pytest.raises(Forbidden) as refused:
            ships.stop(job, caller)
        assert Kind.NOT_YOURS is refused.value.kind


def test_a_daemon_of_the_other_contract_learns_of_the_same_wish(world: World) -> None:
    world.register()
    job = world.a_job(State.RUNNING)
    ships = Containers(world.store, world.clock, world.rules)

    ships.stop(job)

    assert [Stop(job.id, "stop", State.RUNNING)] == world.sync(holding=[job.id]).stops
    assert State.RUNNING is world.report(job.id, State.RUNNING, detail="still going").state
