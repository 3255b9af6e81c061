"""A drained worker goes on with what it holds and takes nothing more, until somebody lets it."""

from datetime import timedelta

import pytest

from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.explain import Code
from cableferry.core.jobs import Preference, State
from cableferry.engine import crews, waiting, workers
from cableferry.wire.emx2 import remarks
from tests.engine.world import World, a_report


def _drain(world: World, id: str = "w1") -> None:
    world.write(workers.drain, world.rules, id, "user:mia")


def test_a_drained_worker_claims_nothing(world: World) -> None:
    world.register()
    job = world.create()

    _drain(world)

    with pytest.raises(Conflict, match="drained by user:mia") as refused:
        world.claim(job.id)
    assert refused.value.kind is Kind.DRAINED
    assert [] == world.claim_many(5)
    assert world.get(job.id).state is State.READY


def test_a_drained_worker_is_heard_and_reports_what_it_holds(world: World) -> None:
    world.register()
    held, other = world.a_job(State.RUNNING), world.create()
    _drain(world)
    world.clock.passes(seconds=30)

    synced = world.sync(a_report(held.id, State.SUCCEEDED), claim=1)

    assert Kind.DRAINED is synced.no_claims.kind
    assert [] == synced.claimed
    assert world.get(held.id).state is State.SUCCEEDED
    assert world.get(other.id).state is State.READY
    assert world.clock.now == world.read(workers.get, world.rules, "w1").seen_at


def test_it_takes_jobs_again_when_it_is_resumed(world: World) -> None:
    world.register()
    job = world.create()
    _drain(world)

    resumed = world.write(workers.resume, world.rules, "w1")

    assert (None, None) == (resumed.drained_at, resumed.drained_by)
    assert [job.id] == [each.id for each in world.claim_many(1)]


def test_the_first_to_drain_a_worker_is_remembered(world: World) -> None:
    world.register()
    _drain(world)
    since = world.clock.now
    world.clock.passes(seconds=5)

    again = world.write(workers.drain, world.rules, "w1", "user:olga")

    assert (since, "user:mia") == (again.drained_at, again.drained_by)
    assert ["registered", "drained"] == [each.detail for each in world.settle() if each.topic == "worker"]
    with pytest.raises(NotFound):
        _drain(world, "w9")


def test_what_waits_is_explained_queue_by_queue(world: World) -> None:
    world.register()
    first = world.create()
    world.clock.passes(seconds=60)
    urgent, _, other = world.create(priority=5), world.create(), world.create("align", None)
    _drain(world)

    queues = world.read(waiting.queues, world.rules, remarks.waiting)
    crew = world.read(crews.crew, world.rules)

    assert [("embed", "gpu", 3), ("align", None, 1)] == [(q.processor, q.profile, q.jobs) for q in queues]
    assert [urgent.id, other.id] == [each.next.id for each in queues]
    assert [first.created_at, other.created_at] == [each.oldest_at for each in queues]
    assert [Code.WORKERS_DRAINED, Code.NOT_OFFERED] == [each.why.code for each in queues]
    assert "nothing more is begun: every worker that is alive is being drained, and 4 jobs wait" == crew.why


def test_a_queue_whose_jobs_are_all_kept_for_a_worker_has_a_next_job_too(world: World) -> None:
    kept = world.with_rules(has_preferences=True)
    job = kept.create(preference=Preference("w2", is_pinned=True))

    queues = kept.read(waiting.queues, kept.rules, remarks.waiting)

    assert [(job.id, job.created_at)] == [(each.next.id, each.oldest_at) for each in queues]


def test_what_workers_ended_lately_is_told_in_steps(world: World) -> None:
    world.register()
    world.register("w2")
    world.a_job(State.FAILED)
    world.clock.passes(hours=12)
    for _ in range(2):
        world.a_job(State.SUCCEEDED)

    told = world.read(crews.throughput, world.rules, timedelta(hours=24))

    first, second = told.workers
    assert ("w1", 2, 1, [0, 0]) == (
        first.worker,
        first.succeeded[-1],
        first.failed[crews.STEPS // 2],
        [*first.failed[-2:]],
    )
    assert 0 == sum(second.succeeded) + sum(second.failed)
    assert timedelta(minutes=30) == told.step
