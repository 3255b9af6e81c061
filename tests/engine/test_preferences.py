"""Which worker gets which job: pins hold, preferences come first for a while, then age decides."""

from datetime import timedelta

import pytest

from cableferry.core.jobs import Preference
from cableferry.store.tx import News
from tests.engine.containers import Containers


def test_pinned_jobs_go_to_their_workers_and_keep_their_order(ships: Containers) -> None:
    made = [ships.launch(worker, is_pinned=True) for worker in ("a", "b", "a", "b")]

    got = [ships.poll(worker) for worker in ("a", "b", "a", "b", "a", "b")]

    assert [*(job.id for job in made), None, None] == got


def test_no_other_worker_ever_gets_a_pinned_job(ships: Containers) -> None:
    ships.launch("a", is_pinned=True)
    ships.beat()
    ships.keep_beating(hours=1)
    ships.sweep()

    assert None is ships.poll("b")


def test_a_pinned_job_takes_its_turn_among_those_for_all(ships: Containers) -> None:
    first, second, third = ships.launch(), ships.launch("a", is_pinned=True), ships.launch()

    assert [first.id, second.id, third.id] == [ships.poll("a") for _ in range(3)]


def test_without_a_grace_a_preference_is_an_echo(ships: Containers) -> None:
    job = ships.launch("a")

    assert job.id == ships.poll("b")
    assert Preference("a") == ships.get(job.id).preference


@pytest.fixture
def graceful(ships: Containers) -> Containers:
    ships.beat()
    return Containers(ships.store, ships.clock, ships.with_rules(preference_grace=timedelta(seconds=30)).rules)


def test_during_the_grace_only_the_preferred_worker_gets_the_job(graceful: Containers) -> None:
    job = graceful.launch("a")

    assert [None, job.id] == [graceful.poll("b"), graceful.poll("a")]


def test_after_the_grace_anybody_gets_it_and_is_woken_for_it(graceful: Containers) -> None:
    job = graceful.launch("a")
    graceful.keep_beating(seconds=30)
    graceful.settle()

    graceful.sweep()

    assert News("ready", "opeva/simulation/", job.id) in graceful.settle()
    assert job.id == graceful.poll("b")
    assert "Worker a did not come for it" == graceful.history(job.id)[1].payload.detail


def test_the_grace_is_not_used_up_while_no_server_lives(graceful: Containers) -> None:
    job = graceful.launch("a")
    graceful.clock.passes(hours=2)
    graceful.sweep()

    assert [None, job.id] == [graceful.poll("b"), graceful.poll("a")]


def test_a_job_of_a_silent_worker_prefers_it_and_is_open_to_all(graceful: Containers) -> None:
    job = graceful.launch()
    assert job.id == graceful.poll("a")
    graceful.keep_beating(seconds=41)

    graceful.sweep()

    assert Preference("a") == graceful.get(job.id).preference
    assert job.id == graceful.poll("b")


def test_a_pin_outlives_the_silence_of_its_worker(ships: Containers) -> None:
    ships.beat()
    job = ships.launch("a", is_pinned=True)
    assert job.id == ships.poll("a")
    ships.keep_beating(seconds=41)
    ships.sweep()

    assert [None, job.id] == [ships.poll("b"), ships.poll("a")]


def test_a_job_waits_for_the_worker_it_is_kept_for(ships: Containers) -> None:
    job = ships.launch("a", is_pinned=True)
    ships.hear("b")

    assert None is ships.poll("b")
    ships.requeue(job, preference=None)
    assert job.id == ships.poll("b")
