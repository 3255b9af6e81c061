"""Where an artifact came from and went to is told level by level, and never without end."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from cableferry.core.artifacts import Draft, Use
from cableferry.core.jobs import State
from cableferry.engine import artifacts, lineage
from cableferry.engine.lineage import Lineage
from cableferry.store import artifacts as rows
from cableferry.store.tx import Tx
from tests.engine.world import World


def _artifact(world: World, name: str) -> str:
    return world.write(artifacts.create, Draft("blob", name=name, created_by="user:mia")).id


def _job(world: World, took: Sequence[str], made: Sequence[str]) -> int:
    job = world.create()

    def tie(tx: Tx) -> None:
        rows.use(tx, job.key, Use.INPUT, took)
        rows.use(tx, job.key, Use.OUTPUT, made)

    world.write(tie)
    return job.key


def _names(found: Lineage) -> set[str | None]:
    return {each.name for each in found.artifacts.values()}


@pytest.fixture
def chain(world: World) -> list[str]:
    """Five artifacts, each made from the one before it."""
    ids = [_artifact(world, f"a{place}") for place in range(5)]
    for before, after in pairwise(ids):
        _job(world, [before], [after])
    return ids


@pytest.mark.parametrize(("levels", "names"), [(1, {"a1", "a2", "a3"}), (2, {"a0", "a1", "a2", "a3", "a4"})])
def test_it_reaches_so_many_jobs_in_both_directions(
    world: World, chain: list[str], levels: int, names: set[str]
) -> None:
    found = world.read(lineage.of, "emx2", chain[2], levels)

    assert names == _names(found)
    assert 2 * levels == len(found.jobs)
    assert 4 * levels == len(found.ties)
    assert not found.is_cut


def test_an_artifact_that_many_jobs_took_still_tells_which_made_it(world: World) -> None:
    source, taken = _artifact(world, "source"), _artifact(world, "taken")
    maker = _job(world, [source], [taken])
    for _ in range(lineage.MOST_OF_ONE + 3):
        _job(world, [taken], [])

    found = world.read(lineage.of, "emx2", taken, 2)

    assert {"source", "taken"} == _names(found)
    assert maker in found.jobs
    assert 1 + lineage.MOST_OF_ONE == len(found.jobs)
    assert found.is_cut


def test_a_circle_of_jobs_ends(world: World) -> None:
    one, other = _artifact(world, "one"), _artifact(world, "other")
    _job(world, [one], [other])
    _job(world, [other], [one])

    found = world.read(lineage.of, "emx2", one, lineage.MOST_LEVELS)

    assert ({"one", "other"}, 2, 4) == (_names(found), len(found.jobs), len(found.ties))


def test_jobs_of_another_contract_are_not_told(world: World, chain: list[str]) -> None:
    found = world.read(lineage.of, "other", chain[2], 2)

    assert ({"a2"}, 0) == (_names(found), len(found.jobs))
    assert world.a_job(State.READY).key not in found.jobs
