"""Every answer to why a job is where it is, from what the engine really sees."""

import pytest

from cableferry.core.explain import Code, Explanation
from cableferry.core.jobs import Job, State
from cableferry.core.workers import Offer
from cableferry.engine import explain, workers
from cableferry.wire.emx2 import remarks
from tests.engine.world import World, a_speaker

S = State


def explained(world: World, job: Job) -> Explanation:
    return world.read(explain.job, world.rules, job.id, remarks.waiting)


def test_nobody_is_registered(world: World) -> None:
    assert Code.NO_WORKER is explained(world, world.create()).code


def test_nobody_offers_it(world: World) -> None:
    world.register("w1", Offer("align"))

    found = explained(world, world.create())

    assert (Code.NOT_OFFERED, 0, 1) == (found.code, found.facts["offering"], found.facts["workers"])


def test_whoever_offers_it_is_silent(world: World) -> None:
    world.register()
    world.register("w2", Offer("align"))
    job = world.create()
    world.clock.passes(minutes=6)
    world.write(workers.heartbeat, world.rules, a_speaker("w2", None))

    found = explained(world, job)

    assert Code.WORKERS_SILENT is found.code
    assert found.sentence.startswith("Worker w1 offers")
    assert found.sentence.endswith("last seen 6 minutes ago.")


def test_whoever_offers_it_is_full(world: World) -> None:
    world.register("w1", Offer("embed", "gpu", 1))
    world.a_job(S.RUNNING)

    assert Code.WORKERS_FULL is explained(world, world.create()).code


@pytest.mark.parametrize("priority", [-1, 0, 1])
def test_a_forecast_says_what_is_said_once_the_job_is_there(world: World, priority: int) -> None:
    world.register("w1", Offer("embed", "gpu", 2))
    for _ in range(3):
        world.create()

    told = world.read(explain.forecast, world.rules, ("embed", "gpu"), priority)

    assert told == explained(world, world.create(priority=priority))


def test_a_forecast_names_what_nobody_offers(world: World) -> None:
    world.register("w1", Offer("align"))

    assert Code.NOT_OFFERED is world.read(explain.forecast, world.rules, ("embed", None), 0).code


def test_it_waits_its_turn(world: World) -> None:
    world.register()
    for _ in range(2):
        world.create()
    job = world.create()
    world.create()

    found = explained(world, job)

    assert (Code.WAITING, 2, "w1") == (found.code, found.facts["ahead"], found.facts["worker_id"])


def test_it_is_claimed_until(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)

    found = explained(world, job)

    assert job.due_at is not None
    assert (Code.CLAIMED, job.due_at.isoformat()) == (found.code, found.facts["leased_until"])


def test_it_waits_in_the_scheduler_for_a_reason(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)
    world.report(job.id, S.SUBMITTED, slurm_job_id="4711", detail="Slurm job 4711")
    world.report(job.id, S.SUBMITTED, detail="slurm_state=PENDING; reason=Resources; queued=300s")

    found = explained(world, job)

    assert (Code.IN_SCHEDULER, "4711", "Resources") == (
        found.code,
        found.facts["slurm_job_id"],
        found.facts["waiting_for"],
    )


def test_it_runs(world: World) -> None:
    world.register()

    assert Code.RUNNING is explained(world, world.a_job(S.RUNNING)).code


def test_it_is_over(world: World) -> None:
    world.register()

    codes = [explained(world, world.a_job(state)).code for state in (S.SUCCEEDED, S.FAILED, S.CANCELLED)]

    assert [Code.SUCCEEDED, Code.FAILED, Code.CANCELLED] == codes


def test_its_worker_was_removed_meanwhile(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)
    world.write(workers.delete, world.rules, "w1")

    assert "no longer registered" in explained(world, job).sentence
