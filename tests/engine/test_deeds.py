"""Operators see what happened lately: every job's moves, and what people did besides."""

from datetime import timedelta

from cableferry.core.jobs import State
from cableferry.engine import deeds, sweeps
from cableferry.store import deeds as rows
from cableferry.store import history
from cableferry.store.history import Sought
from tests.engine.world import World


def test_moves_of_all_jobs_are_told_the_latest_first_and_a_page_at_a_time(world: World) -> None:
    world.register()
    early = world.a_job(State.CLAIMED)
    world.clock.passes(minutes=1)
    late = world.a_job(State.CLAIMED)
    sought = Sought(world.clock.now - timedelta(hours=1))

    first = world.read(deeds.moves, "emx2", sought, 3)
    place = history.place(first[-1].transition)
    rest = world.read(deeds.moves, "emx2", Sought(sought.since, place), 3)

    told = [(each.job.id, each.transition.new) for each in (*first, *rest)]
    assert [(job.id, state) for job in (late, early) for state in (State.CLAIMED, State.READY)] == told
    assert [] == world.read(deeds.moves, "other", sought, 3)


def test_moves_are_found_by_who_made_them_since_when_and_to_where(world: World) -> None:
    world.register()
    world.a_job(State.RUNNING)
    since = world.clock.now - timedelta(hours=1)

    def told(**asked: object) -> list[State]:
        return [each.transition.new for each in world.read(deeds.moves, "emx2", Sought(since, **asked), 9)]

    assert [State.RUNNING, State.SUBMITTED, State.CLAIMED] == told(actor="worker:w1")
    assert [State.SUBMITTED] == told(state=State.SUBMITTED)
    world.clock.passes(hours=2)
    assert [] == [*world.read(deeds.moves, "emx2", Sought(world.clock.now - timedelta(hours=1)), 9)]


def test_deeds_are_told_the_latest_first_and_forgotten_in_the_end(world: World) -> None:
    for actor, what in (("user:mia", "first"), ("user:olga", "second"), ("user:mia", "third")):
        world.write(deeds.note, actor, what, "x" * 900)
    sought = Sought(world.clock.now - timedelta(hours=1))

    first = world.read(deeds.others, sought, 2)
    rest = world.read(deeds.others, Sought(sought.since, rows.place(first[-1])), 2)

    assert ["third", "second", "first"] == [each.what for each in (*first, *rest)]
    assert {500} == {len(each.about or "") for each in first}
    assert ["second"] == [e.what for e in world.read(deeds.others, Sought(sought.since, actor="user:olga"), 9)]
    world.clock.passes(days=401)
    assert 3 == world.write(sweeps.purge)
