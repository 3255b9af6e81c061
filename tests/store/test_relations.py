"""What belongs to many rows comes with one statement, the first few of each, on both databases."""

from collections.abc import Iterable
from typing import TypeVar

import pytest

from cableferry.core.artifacts import Use
from cableferry.core.jobs import HELD
from cableferry.store import relations
from cableferry.store.relations import User
from cableferry.store.tx import Store
from tests.store import town

T = TypeVar("T")
EVERY_KEY = range(100)


@pytest.mark.parametrize(("after", "most"), [(0, 100), (0, 2), (2, 1), (0, 0)])
def test_each_job_has_its_first_transitions(store: Store, after: int, most: int) -> None:
    built = town.build(store)
    keys = [job.key for job in built.jobs[2:9]]

    found = store.read(lambda tx: relations.transitions(tx, keys, after, most))

    behind = [t for t in built.transitions if t.job_key in keys and t.seq > after]
    assert [t for t in behind if t.seq - after <= most] == found


@pytest.mark.parametrize(("prefix", "after", "most"), [("", "", 100), ("", "", 2), ("a", "", 9), ("", "a0", 2)])
def test_each_artifact_has_its_first_files(store: Store, prefix: str, after: str, most: int) -> None:
    built = town.build(store)
    keys = [artifact.key for artifact in built.artifacts[:6]]

    found = store.read(lambda tx: relations.files_of(tx, keys, prefix, after, most))

    fitting = [f for f in built.files if f.path.startswith(prefix) and f.path.encode() > after.encode()]
    assert [file for key in keys for file in [f for f in fitting if f.artifact_key == key][:most]] == found


@pytest.mark.parametrize("most", [1, 100])
def test_each_job_has_its_first_inputs(store: Store, most: int) -> None:
    built = town.build(store)
    by_key = {artifact.key: artifact for artifact in built.artifacts}

    found = store.read(lambda tx: relations.inputs(tx, EVERY_KEY, most))

    used = {job.key: sorted({a for a, j, u in built.uses if j == job.key and u is Use.INPUT}) for job in built.jobs}
    assert [(job, by_key[key]) for job, keys in used.items() for key in keys[:most]] == found


@pytest.mark.parametrize("most", [100, 1])
def test_each_artifact_has_its_latest_users(store: Store, most: int) -> None:
    built = town.build(store)
    by_key = {job.key: job for job in built.jobs}

    found = store.read(lambda tx: relations.users(tx, "emx2", EVERY_KEY, most))

    expected = []
    for artifact in built.artifacts:
        latest = sorted({j for a, j, _ in built.uses if a == artifact.key}, reverse=True)[:most]
        for key in latest:
            uses = sorted(u for a, j, u in built.uses if (a, j) == (artifact.key, key))
            expected += [User(artifact.key, use, by_key[key]) for use in uses]
    assert expected == found
    assert [] == store.read(lambda tx: relations.users(tx, "other", EVERY_KEY, most))


@pytest.mark.parametrize("most", [100, 1])
@pytest.mark.parametrize("are_makers", [True, False])
def test_each_artifact_has_its_latest_makers_and_takers(store: Store, most: int, are_makers: bool) -> None:
    built = town.build(store)
    by_key = {job.key: job for job in built.jobs}
    ask = relations.makers if are_makers else relations.takers

    found = store.read(lambda tx: ask(tx, "emx2", EVERY_KEY, most))

    fitting = sorted(((a, -j, u) for a, j, u in built.uses if (u is not Use.INPUT) == are_makers), key=str)
    latest = {a: sorted({-j for b, j, _ in fitting if a == b}, reverse=True)[:most] for a, _, _ in fitting}
    expected = {(a, -j, u) for a, j, u in fitting if -j in latest[a]}
    told = [(each.artifact_key, each.job.key, each.used_as) for each in found]
    assert expected >= set(told)
    assert {(a, j) for a, j, _ in expected} == {(a, j) for a, j, _ in told}
    assert all(by_key[each.job.key] == each.job for each in found)


@pytest.mark.parametrize("most", [100, 1])
def test_each_job_has_what_it_made(store: Store, most: int) -> None:
    built = town.build(store)
    by_key = {artifact.key: artifact for artifact in built.artifacts}

    found = store.read(lambda tx: relations.products(tx, EVERY_KEY, most))

    made = {job.key: sorted({a for a, j, u in built.uses if j == job.key and u is not Use.INPUT}) for job in built.jobs}
    assert {(job, key) for job, keys in made.items() for key in keys[:most]} == {(j, a.key) for j, _, a in found}
    assert all(by_key[artifact.key] == artifact for _, _, artifact in found)


@pytest.mark.parametrize("most", [100, 1])
def test_each_worker_has_the_first_jobs_it_holds(store: Store, most: int) -> None:
    built = town.build(store)

    found = store.read(lambda tx: relations.held(tx, ["w0", "w1", "w9"], most))

    held = {w: [job for job in built.jobs if job.worker == w and job.state in HELD] for w in ("w0", "w1")}
    assert [job for jobs in held.values() for job in jobs[:most]] == found


def test_rows_are_found_by_what_leads_to_them(store: Store) -> None:
    built = town.build(store)

    named, artifacts = store.read(
        lambda tx: (relations.workers_of(tx, ["w3", "w1", "w9"]), relations.artifacts_of(tx, [1, 2, 99]))
    )

    assert {worker.id: worker for worker in built.workers if worker.id in ("w1", "w3")} == _by_id(named)
    assert {artifact.id: artifact for artifact in built.artifacts[:2]} == _by_id(artifacts)


def test_ids_lead_to_the_keys_between_which_they_lie(store: Store) -> None:
    built = town.build(store)
    ids = [built.jobs[4].id, "unknown", built.jobs[2].id]

    assert (built.jobs[2].key, built.jobs[4].key) == store.read(lambda tx: relations.keys_of(tx, "jobs", ids))
    assert None is store.read(lambda tx: relations.keys_of(tx, "artifacts", ["unknown"]))


def _by_id(found: Iterable[T]) -> dict[str, T]:
    return {each.id: each for each in found}
