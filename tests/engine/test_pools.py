"""Two contracts over one engine: neither sees, claims nor changes what is the other's."""

from collections.abc import Callable

import pytest

from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.jobs import Job, Payload, State
from cableferry.core.workers import Offer
from cableferry.engine import explain, jobs
from tests.engine.containers import OPERATOR, Containers
from tests.engine.world import World, a_report, a_speaker

Use = Callable[[World, Job], object]

USES: dict[str, Use] = {
    "looks at it": lambda world, job: world.get(job.id),
    "reads its history": lambda world, job: world.history(job.id),
    "asks why it waits": lambda world, job: world.read(explain.job, world.rules, job.id, lambda detail: None),
    "claims it": lambda world, job: world.claim(job.id),
    "reports on it": lambda world, job: world.report(job.id, State.FAILED),
    "cancels it": lambda world, job: world.cancel(job.id),
    "stops it": lambda world, job: world.write(jobs.ask_to_stop, world.rules, job.id, OPERATOR, Payload()),
    "deletes it": lambda world, job: world.delete(job.id),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_nobody_of_another_contract(world: World, ships: Containers, use: Use) -> None:
    job = ships.launch()
    world.register("w1", Offer("*", "*"))

    with pytest.raises(NotFound) as refused:
        use(world, job)

    assert Kind.UNKNOWN_JOB is refused.value.kind
    assert job == ships.get(job.id)


def test_a_worker_that_takes_everything_takes_nothing_of_another_contract(world: World, ships: Containers) -> None:
    job = ships.launch()
    world.register("w1", Offer("*", "*"))

    assert [] == world.claim_many(10)
    assert [] == world.sync(claim=10).claimed
    assert job.id == ships.poll("w2")


def test_of_many_reports_those_on_jobs_of_another_contract_are_refused(world: World, ships: Containers) -> None:
    world.register()
    foreign, own = ships.launch(), world.a_job(State.CLAIMED)

    outcomes = world.report_many(a_report(foreign.id, State.FAILED), a_report(own.id, State.FAILED))

    assert [NotFound, Job] == [type(outcome) for outcome in outcomes]


def test_a_worker_speaks_for_one_contract_only(world: World, ships: Containers) -> None:
    world.register("w1")

    with pytest.raises(Conflict, match="claims from pool emx2") as refused:
        ships.hear("w1")
    with pytest.raises(Conflict, match="w1 is not registered"):
        ships.write(jobs.claim_many, ships.rules, a_speaker("w1"), 1)

    assert Kind.NAME_TAKEN is refused.value.kind
