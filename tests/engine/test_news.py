"""What the engine announces, to whom, and that it announces nothing that did not happen."""

import pytest

from cableferry.core.errors import Refusal
from cableferry.core.jobs import Job, State
from cableferry.core.policy import Limits, Stalled, Timeouts
from cableferry.store.tx import News
from tests.engine.world import MANAGER, World, a_report

S = State


@pytest.fixture
def held(world: World) -> Job:
    """A running job of w1; what led there is not news any more."""
    world.register()
    job = world.a_job(S.RUNNING)
    world.settle()
    return job


def test_a_new_job_is_ready_in_its_lane(world: World) -> None:
    job = world.create()
    bare = world.create(profile=None)

    assert [News("ready", "emx2/embed/gpu", job.id), News("ready", "emx2/embed/", bare.id)] == world.settle()


def test_a_claimed_job_is_taken(world: World) -> None:
    world.register()
    job = world.create()
    world.settle()

    world.claim(job.id)

    assert [News("job", job.id, "claimed"), News("taken", job.id)] == world.settle()


def test_a_report_is_news_of_its_job_alone(world: World, held: Job) -> None:
    world.report(held.id, S.RUNNING, progress=0.5)
    world.report(held.id, S.SUCCEEDED)

    assert [News("job", held.id, "running"), News("job", held.id, "succeeded")] == world.settle()


def test_a_cancelled_job_is_news_for_its_worker(world: World, held: Job) -> None:
    world.cancel(held.id)

    assert [News("job", held.id, "cancelled"), News("worker", "w1", held.id)] == world.settle()


def test_a_deleted_job_is_news_for_its_worker_and_for_who_follows_it(world: World, held: Job) -> None:
    world.delete(held.id, MANAGER)

    told = world.settle()
    assert News("worker", "w1", held.id) in told
    assert News("job", held.id, "deleted") == told[-1]


def test_a_cancelled_waiting_job_is_not_ready_any_more(world: World) -> None:
    job = world.create()
    world.settle()

    world.cancel(job.id)

    assert [News("job", job.id, "cancelled"), News("taken", job.id)] == world.settle()


def test_a_job_back_in_the_queue_is_news_for_its_worker_and_ready_again(world: World) -> None:
    world = world.with_rules(timeouts=Timeouts(default=Limits(claimed_seconds=300, after_claimed=Stalled.PENDING)))
    world.register()
    job = world.a_job(S.CLAIMED)
    world.keep_beating(seconds=301)
    world.settle()

    world.sweep()

    assert [
        News("job", job.id, "ready"),
        News("worker", "w1", job.id),
        News("ready", "emx2/embed/gpu", job.id),
    ] == world.settle()


def test_a_job_that_the_server_failed_is_news_for_its_worker(world: World, held: Job) -> None:
    world.keep_beating(hours=3)

    world.sweep()

    assert [News("job", held.id, "failed"), News("worker", "w1", held.id)] == world.settle()


def test_a_registered_worker_is_news(world: World) -> None:
    world.register()

    assert [News("worker", "w1", "registered")] == world.settle()


def test_a_refusal_is_no_news(world: World, held: Job) -> None:
    for call in (lambda: world.claim(held.id), lambda: world.report(held.id, S.SUBMITTED, detail="late")):
        with pytest.raises(Refusal):
            call()

    assert [] == world.settle()


def test_what_was_taken_before_is_no_news(world: World, held: Job) -> None:
    world.report(held.id, S.RUNNING)

    assert [] == world.settle()


def test_a_report_refused_among_many_is_no_news(world: World, held: Job) -> None:
    world.report_many(a_report("j0", S.FAILED), a_report(held.id, S.SUCCEEDED))

    assert [News("job", held.id, "succeeded")] == world.settle()
