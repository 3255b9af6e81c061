"""Lanes of ready jobs, pages of jobs, and counts that equal what is there."""

import pytest
from msgspec.structs import replace

from cableferry.core.jobs import Draft, Filter, Job, Preference, State
from cableferry.core.paging import Page
from cableferry.core.policy import Place
from cableferry.core.workers import Lane
from cableferry.store import jobs, lanes, pulse
from cableferry.store.lanes import Tally
from cableferry.store.tx import Store, Tx

GPU: Lane = ("embed", "gpu")
BARE: Lane = ("embed", None)


def added(store: Store, id: str, lane: Lane = GPU, priority: int = 0, state: State = State.READY) -> Job:
    def work(tx: Tx) -> Job:
        job = jobs.add(tx, id, "emx2", Draft(*lane, priority=priority))
        after = replace(job, state=state, revision=2)
        jobs.save(tx, [(job, after)])
        return after

    return store.write(work)


@pytest.mark.parametrize("head", [lanes.lane_head, lanes.lane_head_locked])
def test_a_lane_is_in_order_of_priority_then_age(store: Store, head: object) -> None:
    old, high, low = added(store, "a"), added(store, "b", priority=5), added(store, "c", priority=-5)
    added(store, "d", BARE)
    added(store, "e", ("embed", "cpu"))
    added(store, "f", state=State.CLAIMED)

    found = store.write(lambda tx: head(tx, "emx2", GPU, 10))

    assert [(high.key, 5), (old.key, 0), (low.key, -5)] == [tuple(row) for row in found]
    assert 2 == len(store.write(lambda tx: head(tx, "emx2", GPU, 2)))
    assert 1 == len(store.write(lambda tx: head(tx, "emx2", BARE, 9)))
    assert 0 == len(store.write(lambda tx: head(tx, "torc", GPU, 9)))


def test_a_page_of_the_queue_runs_over_all_lanes(store: Store) -> None:
    keys = [added(store, "a").key, added(store, "b", BARE).key, added(store, "c", ("align", "gpu"), 1).key]

    assert [keys[2], keys[0], keys[1]] == store.read(lambda tx: lanes.queue_page(tx, "emx2", None, Page()))
    assert [keys[2], keys[0]] == store.read(lambda tx: lanes.queue_page(tx, "emx2", "gpu", Page()))
    assert [keys[0]] == store.read(lambda tx: lanes.queue_page(tx, "emx2", None, Page(1, 1)))


def test_a_page_of_two_lanes_is_one_queue(store: Store) -> None:
    keys = [added(store, "a").key, added(store, "b", BARE, 5).key, added(store, "c").key]
    added(store, "d", ("embed", "cpu"))

    def page(*wanted: Lane, limit: int = 9, offset: int = 0) -> list[int]:
        return store.read(lambda tx: lanes.page_of_two(tx, "emx2", wanted, Page(limit, offset)))

    assert [keys[1], keys[0], keys[2]] == page(GPU, BARE)
    assert [keys[0]] == page(GPU, BARE, limit=1, offset=1)
    assert [keys[0], keys[2]] == page(GPU)
    assert [] == page()


@pytest.mark.parametrize("state", State)
def test_a_page_of_a_state_holds_that_state_alone(store: Store, state: State) -> None:
    here = added(store, "a", state=state).key
    there = added(store, "b", ("align", None), state=state).key
    other = added(store, "c", state=State.FAILED if state is not State.FAILED else State.READY).key

    def page(wanted: Filter) -> list[int]:
        return store.read(lambda tx: lanes.page(tx, "emx2", wanted, Page()))

    assert [here, there] == page(Filter(state))
    assert [there] == page(Filter(state, "align"))
    assert [here] == page(Filter(state, None, "gpu"))
    assert [here, there, other] == page(Filter())


def test_the_counts_follow_every_move_and_removal(store: Store) -> None:
    first, second = added(store, "a"), added(store, "b")
    added(store, "c", BARE)
    claimed = replace(first, state=State.CLAIMED, revision=3)
    noted = replace(claimed, detail="staging", revision=4)

    store.write(lambda tx: jobs.save(tx, [(first, claimed)]))
    store.write(lambda tx: jobs.save(tx, [(claimed, noted)]))
    store.write(lambda tx: jobs.delete(tx, second))

    expected = {Tally(State.CLAIMED, "embed", "gpu", 1), Tally(State.READY, "embed", None, 1)}
    assert expected == set(store.read(lambda tx: lanes.tallies(tx, "emx2")))
    store.write(pulse.fold_tallies)
    assert expected == set(store.read(lambda tx: lanes.tallies(tx, "emx2")))


def test_the_oldest_ready_job_says_how_long_the_queue_is(store: Store) -> None:
    first = added(store, "a", priority=-3)
    added(store, "b", BARE, priority=7)
    added(store, "c", priority=-3)

    assert first.created_at == store.read(lambda tx: lanes.oldest_ready(tx, "emx2"))
    assert None is store.read(lambda tx: lanes.oldest_ready(tx, "torc"))


@pytest.mark.parametrize("head", [lanes.lane_head, lanes.lane_head_locked])
def test_what_is_kept_for_a_worker_stands_apart_from_what_is_for_all(store: Store, head: object) -> None:
    place = Place(Preference("w1"), "w1")
    kept = store.write(lambda tx: jobs.add(tx, "a", "emx2", Draft(*GPU), place))
    free = added(store, "b")

    heads = [store.write(lambda tx, who=who: head(tx, "emx2", GPU, 9, who)) for who in (lanes.NOBODY, "w1", "w2")]

    assert [[free.key], [kept.key], []] == [[row[0] for row in found] for found in heads]
