"""Which jobs a list shows, in which order, and how many there are."""

import pytest

from cableferry.core import paging
from cableferry.core.jobs import Filter, Job, State
from cableferry.core.workers import Offer
from cableferry.engine import queue
from cableferry.engine.queue import Listing
from tests.engine.world import World

S = State


def find(world: World, wanted: Filter, limit: int = 100, offset: int = 0) -> Listing:
    return world.read(queue.find, world.rules.pool, wanted, paging.page(limit, offset))


def ids(found: Listing) -> list[str]:
    return [job.id for job in found.jobs]


@pytest.fixture
def waiting(world: World) -> dict[str, Job]:
    """Ready jobs of several lanes, by the name that the tests use."""
    return {
        "old": world.create("embed", "gpu"),
        "cpu": world.create("embed", "cpu"),
        "bare": world.create("embed", None),
        "other": world.create("align", "gpu"),
        "high": world.create("embed", "gpu", priority=9),
        "low": world.create("embed", "gpu", priority=-9),
    }


READY = [
    ("all that wait", Filter(S.READY), ["high", "old", "cpu", "bare", "other", "low"]),
    ("a processor", Filter(S.READY, "embed"), ["high", "old", "cpu", "bare", "low"]),
    ("a lane, with jobs of no profile", Filter(S.READY, "embed", "gpu"), ["high", "old", "bare", "low"]),
    ("a profile of every processor", Filter(S.READY, None, "gpu"), ["high", "old", "other", "low"]),
    ("another processor", Filter(S.READY, "align"), ["other"]),
    ("a processor that nobody named", Filter(S.READY, "none"), []),
    ("a profile that nobody named", Filter(S.READY, "embed", "tpu"), ["bare"]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "names"), [r[1:] for r in READY], ids=[r[0] for r in READY])
def test_waiting_jobs_are_listed_in_the_order_of_claiming(
    world: World, waiting: dict[str, Job], wanted: Filter, names: list[str]
) -> None:
    found = find(world, wanted)

    assert [waiting[name].id for name in names] == ids(found)
    assert len(names) == found.total


@pytest.mark.parametrize("wanted", [wanted for _, wanted, _ in READY], ids=[name for name, _, _ in READY])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_waiting_jobs_follow_each_other_without_gap_or_overlap(
    world: World, waiting: dict[str, Job], wanted: Filter, limit: int
) -> None:
    whole = find(world, wanted)

    pages = [find(world, wanted, limit, offset) for offset in range(0, len(waiting), limit)]

    assert ids(whole) == [job_id for page in pages for job_id in ids(page)]
    assert {whole.total} == {page.total for page in pages}


def test_jobs_of_another_state_are_listed_by_age(world: World) -> None:
    world.register()
    running = [world.a_job(S.RUNNING, priority=p) for p in (0, 9, -9)]
    world.a_job(S.SUBMITTED)
    world.create()

    found = find(world, Filter(S.RUNNING))

    assert [job.id for job in running] == ids(found)
    assert 3 == found.total


@pytest.mark.parametrize("state", [S.CLAIMED, S.SUBMITTED, S.RUNNING, S.SUCCEEDED, S.FAILED, S.CANCELLED])
def test_every_state_has_its_list(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)
    world.create()

    assert [job.id] == ids(find(world, Filter(state)))
    assert [job.id] == ids(find(world, Filter(state, "embed", "gpu")))
    assert [] == ids(find(world, Filter(state, "align")))
    assert 0 == find(world, Filter(state, None, "cpu")).total


def test_all_states_together_are_listed_by_age_and_paged(world: World) -> None:
    world.register()
    made = [world.a_job(state) for state in (S.RUNNING, S.FAILED, S.READY)]

    found = find(world, Filter(), limit=2, offset=1)

    assert [job.id for job in made[1:]] == ids(found)
    assert 3 == found.total


def test_a_listed_job_is_whole(world: World) -> None:
    job = world.create(timeout_seconds=60, submit_user="ann")

    assert [job] == find(world, Filter(S.READY)).jobs


def test_jobs_of_another_pool_are_not_listed(world: World) -> None:
    world.with_rules(pool="torc").create()

    assert (0, []) == (find(world, Filter()).total, find(world, Filter()).jobs)


def test_what_a_worker_holds_stands_behind_the_first_page(world: World) -> None:
    world.register("w1", Offer("embed", "gpu"), Offer("align", "gpu"))
    held = [world.create("embed", "gpu").id for _ in range(paging.DEFAULT + 2)]
    world.create("align", "gpu")
    world.claim_many(1000, "w1")
    of_embed = Filter(S.CLAIMED, "embed")

    own = world.read(queue.find_with_own, world.rules.pool, of_embed, "w1")
    others = world.read(queue.find_with_own, world.rules.pool, of_embed, "w2")

    assert held == ids(own)
    assert held[: paging.DEFAULT] == ids(others)
    assert (len(held), len(held)) == (own.total, others.total)
