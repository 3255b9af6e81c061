"""An overview tells what there is at this moment and what there was, of one pool."""

from datetime import timedelta

import pytest

from cableferry.core.jobs import State
from cableferry.engine import overviews
from cableferry.store import samples
from tests.engine.world import World

DAY = timedelta(hours=24)


def _told(world: World, span: timedelta = DAY) -> overviews.Overview:
    return world.read(overviews.overview, world.rules, span)


def test_jobs_workers_and_failures_are_counted(world: World) -> None:
    world.register()
    oldest = world.create()
    world.a_job(State.RUNNING)
    for _ in range(2):
        world.a_job(State.FAILED)

    told = _told(world)

    assert {State.READY: 1, State.RUNNING: 1, State.FAILED: 2} == {each.state: each.jobs for each in told.tallies}
    assert oldest.created_at == told.oldest_ready
    assert 2 == sum(told.causes.values())


def test_a_worker_that_was_not_heard_of_is_silent(world: World) -> None:
    world.register("early")
    world.clock.passes(seconds=world.rules.worker_silence.total_seconds())
    world.register("late")
    world.clock.passes(seconds=1)

    told = _told(world)

    assert (1, 1) == (told.alive, told.silent)


def test_the_past_is_noted_once_a_minute_and_forgotten_in_the_end(world: World) -> None:
    assert 0 == world.write(overviews.sample, world.rules)
    world.create()
    assert 1 == world.write(overviews.sample, world.rules)
    world.create()
    assert 0 == world.write(overviews.sample, world.rules)
    world.clock.passes(minutes=1)
    assert 1 == world.write(overviews.sample, world.rules)

    assert [1, 2] == [each.jobs for each in _told(world, timedelta(hours=1)).history]
    world.clock.passes(days=9)
    world.write(overviews.sample, world.rules)
    kept = world.read(samples.since, world.rules.pool, world.clock.now - timedelta(days=30), samples.STEP)
    assert [2] == [each.jobs for each in kept]


@pytest.mark.parametrize(("hours", "minutes"), [(1, 1), (2, 1), (3, 2), (24, 10), (168, 120)])
def test_a_chart_has_about_as_many_points_for_every_span(hours: int, minutes: int) -> None:
    assert timedelta(minutes=minutes) == overviews.step_of(timedelta(hours=hours))
