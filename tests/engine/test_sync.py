"""One cycle of a daemon: reports in, stops and claims out, whatever became of each."""

import pytest

from cableferry.core.errors import Kind, NotFound, Refusal
from cableferry.core.jobs import State
from cableferry.core.policy import Limits, Stalled, Timeouts
from cableferry.core.workers import Offer
from cableferry.engine import workers
from cableferry.engine.sync import Stop, Synced
from tests.core.specimens import a_session
from tests.engine.world import World, a_report

S = State


def test_an_empty_cycle_is_a_heartbeat(world: World) -> None:
    world.register()
    world.clock.passes(seconds=60)

    assert Synced([], [], [], None) == world.sync()
    assert world.clock.now == world.read(workers.get, world.rules, "w1").seen_at


def test_an_unknown_worker_is_told_to_register(world: World) -> None:
    with pytest.raises(NotFound, match="worker w1 not found: register it"):
        world.sync()


def test_each_report_has_its_own_result(world: World) -> None:
    world.register()
    one, other = world.a_job(S.CLAIMED), world.a_job(S.CLAIMED)

    synced = world.sync(
        a_report(one.id, S.SUBMITTED),
        a_report(other.id, S.SUCCEEDED),
        a_report("j0", S.FAILED),
        a_report(one.id, S.RUNNING),
    )

    results = [outcome.kind if isinstance(outcome, Refusal) else outcome.state for outcome in synced.outcomes]
    assert [S.SUBMITTED, Kind.ILLEGAL_MOVE, Kind.UNKNOWN_JOB, S.RUNNING] == results
    assert (S.RUNNING, S.CLAIMED) == (world.get(one.id).state, world.get(other.id).state)


def test_a_cycle_claims_what_it_has_room_for(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 2))
    waiting = [world.create() for _ in range(3)]

    synced = world.sync(claim=10)

    assert [job.id for job in waiting[:2]] == [job.id for job in synced.claimed]


def test_a_report_makes_room_for_a_claim_of_the_same_cycle(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 1))
    running, waiting = world.a_job(S.RUNNING), world.create()

    synced = world.sync(a_report(running.id, S.SUCCEEDED), claim=1)

    assert [waiting.id] == [job.id for job in synced.claimed]


def test_a_daemon_is_not_told_to_stop_what_it_holds(world: World) -> None:
    world.register()
    jobs = [world.a_job(state) for state in (S.CLAIMED, S.SUBMITTED, S.RUNNING)]

    assert [] == world.sync(holding=[job.id for job in jobs]).stops


def test_a_daemon_is_not_told_to_stop_what_it_ends_itself(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)

    assert [] == world.sync(a_report(job.id, S.SUCCEEDED), holding=[job.id]).stops


def test_a_daemon_is_told_once_of_a_job_that_it_names_twice(world: World) -> None:
    world.register()

    assert [Stop("j0", "unknown", None)] == world.sync(holding=["j0", "j0"]).stops


def test_a_cancelled_job_is_stopped(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.cancel(job.id)

    assert [Stop(job.id, "cancelled", S.CANCELLED)] == world.sync(holding=[job.id]).stops


def test_a_deleted_job_is_stopped(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.delete(job.id)

    assert [Stop(job.id, "deleted", None)] == world.sync(holding=[job.id]).stops


def test_a_job_that_the_server_failed_is_stopped(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.keep_beating(hours=2, seconds=1)
    world.sweep()

    assert [Stop(job.id, "ended", S.FAILED)] == world.sync(holding=[job.id]).stops


def test_a_job_that_went_back_to_the_queue_is_stopped(world: World) -> None:
    world = world.with_rules(timeouts=Timeouts(default=Limits(claimed_seconds=300, after_claimed=Stalled.PENDING)))
    world.register()
    world.register("w2")
    back, taken = world.a_job(S.CLAIMED), world.a_job(S.CLAIMED)
    world.keep_beating(seconds=301)
    world.sweep()
    world.claim(taken.id, "w2")

    stops = world.sync(holding=[back.id, taken.id]).stops

    assert [Stop(back.id, "fenced", S.READY), Stop(taken.id, "fenced", S.CLAIMED)] == stops


def test_a_job_of_another_worker_is_stopped(world: World) -> None:
    world.register()
    world.register("w2")
    job = world.a_job(S.RUNNING)

    assert [Stop(job.id, "fenced", S.RUNNING)] == world.sync(holding=[job.id], worker="w2").stops


def test_a_job_that_is_claimed_in_a_cycle_is_not_stopped_in_it(world: World) -> None:
    world.register()
    world.create()

    synced = world.sync(claim=1)

    assert (1, []) == (len(synced.claimed), synced.stops)


def test_a_daemon_whose_session_was_taken_over_still_reports_but_claims_nothing(world: World) -> None:
    world.register("w1", session=a_session("boot-0001"))
    job = world.a_job(S.RUNNING)
    world.create()
    world.clock.passes(seconds=90)
    world.register("w1", session=a_session("boot-0002"))
    world.clock.passes(seconds=60)

    synced = world.sync(a_report(job.id, S.SUCCEEDED), claim=1, session="boot-0001")

    assert ([S.SUCCEEDED], []) == ([outcome.state for outcome in synced.outcomes], synced.claimed)
    assert synced.no_claims is not None
    assert Kind.SESSION_REVOKED is synced.no_claims.kind


def test_a_daemon_whose_session_was_taken_over_keeps_nobodys_session_alive(world: World) -> None:
    world.register("w1", session=a_session("boot-0001"))
    world.clock.passes(seconds=90)
    seen_at = world.register("w1", session=a_session("boot-0002")).session_seen_at
    world.clock.passes(seconds=60)

    world.sync(session="boot-0001")

    assert seen_at == world.read(workers.get, world.rules, "w1").session_seen_at


def test_a_whole_cycle_is_one_transaction(world: World) -> None:
    """An unknown worker's reports leave no trace, though each of them alone is legal."""
    world.register()
    job = world.a_job(S.CLAIMED)
    world.write(workers.delete, world.rules, "w1")

    with pytest.raises(NotFound):
        world.sync(a_report(job.id, S.SUBMITTED))

    assert job == world.get(job.id)
