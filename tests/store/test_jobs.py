"""Rows of jobs: they come back as they went in, and a change counts only for the revision it was made of."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw, json
from msgspec.structs import replace

from cableferry.core.jobs import FINAL, HELD, Cause, Draft, Job, Preference, State, Wish
from cableferry.core.policy import Place
from cableferry.core.workers import Load
from cableferry.store import jobs
from cableferry.store.jobs import Held
from cableferry.store.tx import Store, Tx
from tests.core.specimens import NOW, seconds

DRAFT = Draft("embed", "gpu", parameters=Raw(b'{"a": [1.50, "\\u00e9"]}'), inputs=Raw(b'["corpus-01"]'))

texts = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
moments = st.none() | st.integers(0, 10**12).map(lambda micros: NOW + seconds(micros / 1e6))
counts = st.integers(0, 2**53)
changes = st.fixed_dictionaries(
    {
        "state": st.sampled_from(State),
        "wish": st.none() | st.sampled_from(Wish),
        "cause": st.none() | st.sampled_from(Cause),
        "attempt": counts,
        "epoch": counts,
        "progress": st.none() | st.floats(0, 1),
        **dict.fromkeys(("worker", "slurm_job_id", "output_artifact_id", "log_artifact_id"), texts),
        **dict.fromkeys(("detail", "phase", "message"), texts),
        **dict.fromkeys(("claimed_at", "submitted_at", "started_at", "ended_at", "due_at", "ends_by"), moments),
        "preference": st.none() | st.builds(Preference, st.text("abc", min_size=1), st.booleans()),
        "kept_for": st.none() | st.text("abc", min_size=1),
        "remarks": st.none() | st.dictionaries(st.text("abcé"), st.integers()).map(json.encode).map(Raw),
    }
)


def added(store: Store, id: str = "j1", draft: Draft = DRAFT, **changed: object) -> Job:
    """A job in the store, changed after it was added."""

    def work(tx: Tx) -> Job:
        job = jobs.add(tx, id, "emx2", draft)
        after = replace(job, revision=job.revision + 1, **changed)
        jobs.save(tx, [(job, after)])
        return after

    return store.write(work)


def test_a_new_job_is_ready_and_whole(store: Store) -> None:
    draft = replace(DRAFT, priority=-7, timeout_seconds=60, submit_user="ann", created_by="user:ann")

    job = store.write(lambda tx: jobs.add(tx, "j1", "emx2", draft))

    assert job == store.read(lambda tx: jobs.get(tx, "j1"))
    assert (State.READY, 1, 0, 1, None) == (job.state, job.attempt, job.epoch, job.revision, job.worker)
    kept = set(Draft.__struct_fields__) & set(Job.__struct_fields__)
    assert {name: getattr(draft, name) for name in kept} == {name: getattr(job, name) for name in kept}


def test_a_job_that_is_not_there_is_none(store: Store) -> None:
    looks: list[Callable[[Tx], object]] = [
        lambda tx: jobs.get(tx, "j0"),
        lambda tx: jobs.lock(tx, "j0"),
        lambda tx: jobs.lock_many(tx, ["j0", "j1"]),
        lambda tx: jobs.find_many(tx, ["j0"]),
        lambda tx: jobs.by_keys(tx, [7]),
    ]

    assert [None, None, {}, {}, []] == [store.write(look) for look in looks]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes)
def test_a_changed_job_comes_back_as_it_was_saved(store: Store, changed: dict[str, object]) -> None:
    job = added(store, f"j{id(changed)}", **changed)

    found = store.write(lambda tx: (jobs.get(tx, job.id), jobs.lock(tx, job.id), jobs.by_keys(tx, [job.key])))
    store.write(lambda tx: jobs.delete(tx, job))

    assert (job, job, [job]) == found


def test_a_change_of_a_job_as_it_was_before_writes_nothing(store: Store) -> None:
    job = added(store, worker="w1")
    before = replace(job, revision=job.revision - 1)

    assert 0 == store.write(lambda tx: jobs.save(tx, [(before, replace(job, worker="w2"))]))
    assert 0 == store.write(lambda tx: jobs.delete(tx, before))
    assert job == store.read(lambda tx: jobs.get(tx, "j1"))


def test_many_changes_are_written_and_counted_one_by_one(store: Store) -> None:
    found = [added(store, f"j{number}") for number in range(3)]
    stale = replace(found[1], revision=0)
    changes = [(job, replace(job, detail=f"{job.id}!", revision=9)) for job in (found[0], stale, found[2])]

    assert 2 == store.write(lambda tx: jobs.save(tx, changes))
    details = [job.detail for job in store.read(lambda tx: jobs.by_keys(tx, [job.key for job in found]))]
    assert ["j0!", None, "j2!"] == details


def test_jobs_by_their_keys_come_in_the_order_asked(store: Store) -> None:
    keys = [added(store, f"j{number}").key for number in range(4)]

    found = store.read(lambda tx: jobs.by_keys(tx, [keys[2], keys[0], 10**9, keys[3]]))

    assert ["j2", "j0", "j3"] == [job.id for job in found]


@pytest.mark.parametrize("state", State)
def test_only_what_is_held_loads_a_worker(store: Store, state: State) -> None:
    added(store, "j1", state=state, worker="w1", epoch=3)
    added(store, "j2", state=state, worker="w2")

    loads = store.read(lambda tx: jobs.loads(tx, "w1"))
    held = store.read(lambda tx: jobs.held_by(tx, "w1"))

    assert (1 if state in HELD else 0) == len(loads) == len(held)
    if state in HELD:
        assert ([Load("embed", "gpu", 1)], [Held("j1", state, 3, None)]) == (loads, held)


def test_overdue_jobs_come_longest_overdue_first_and_no_more_than_asked(store: Store) -> None:
    now = store.read(lambda tx: tx.now)
    for number, ago in enumerate((5, 10, -3600, 1)):
        added(store, f"j{number}", state=State.RUNNING, worker="w1", due_at=now - seconds(ago))
    added(store, "j9", state=State.RUNNING, worker="w1")

    found = store.write(lambda tx: jobs.overdue(tx, "emx2", 2))

    assert ["j1", "j0"] == [job.id for job in found]
    assert [] == store.write(lambda tx: jobs.overdue(tx, "torc", 2))


def test_forgiveness_moves_every_due_time_and_no_other(store: Store) -> None:
    due = added(store, "j1", state=State.RUNNING, due_at=NOW, ends_by=NOW, moved_at=NOW)
    calm = added(store, "j2", state=State.RUNNING, moved_at=NOW)

    store.write(lambda tx: jobs.forgive(tx, 5_000_000))

    later = NOW + seconds(5)
    assert replace(due, due_at=later, ends_by=later) == store.read(lambda tx: jobs.get(tx, "j1"))
    assert calm == store.read(lambda tx: jobs.get(tx, "j2"))


@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_deleted_job_is_known_by_its_tombstone_until_that_is_forgotten(store: Store, state: State) -> None:
    job = added(store, "j1", state=state, worker="w1")
    store.write(lambda tx: (jobs.bury(tx, job, "user:ann"), jobs.delete(tx, job)))

    assert store.read(lambda tx: jobs.is_buried(tx, "j1"))
    assert {"j1"} == store.read(lambda tx: jobs.buried(tx, ["j1", "j2"]))
    assert None is store.read(lambda tx: jobs.get(tx, "j1"))

    store.write(lambda tx: jobs.forget_tombstones(tx, tx.now + seconds(1)))
    assert not store.read(lambda tx: jobs.is_buried(tx, "j1"))


def test_a_new_job_stands_where_it_is_placed(store: Store) -> None:
    place = Place(Preference("w1"), "w1", NOW)

    job = store.write(lambda tx: jobs.add(tx, "j1", "opeva", DRAFT, place))

    assert (place.preference, "w1", NOW) == (job.preference, job.kept_for, job.due_at)
    assert job == store.read(lambda tx: jobs.get(tx, "j1"))


def test_a_touched_job_has_new_times_and_no_new_revision(store: Store) -> None:
    job = added(store, state=State.RUNNING, worker="w1", due_at=NOW)
    renewed = replace(job, touched_at=NOW + seconds(5), due_at=NOW + seconds(9))

    counted = [
        store.write(lambda tx, job=each: jobs.touch(tx, job)) for each in (renewed, replace(renewed, revision=1))
    ]

    assert [1, 0] == counted
    assert renewed == store.read(lambda tx: jobs.get(tx, "j1"))


def test_what_a_worker_holds_of_one_pool(store: Store) -> None:
    for name, state, worker in (("j1", State.RUNNING, "w1"), ("j2", State.FAILED, "w1"), ("j3", State.CLAIMED, "w2")):
        added(store, name, state=state, worker=worker)

    assert ["j1"] == [job.id for job in store.write(lambda tx: jobs.held(tx, "emx2", "w1"))]
    assert [] == store.write(lambda tx: jobs.held(tx, "opeva", "w1"))
