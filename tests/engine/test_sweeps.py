"""What the server does by itself: resolve silence, forgive its own, forget what is old."""

from datetime import timedelta

import pytest

from cableferry.core.errors import Kind, NotFound
from cableferry.core.jobs import Cause, State
from cableferry.core.policy import Limits, Stalled, Timeouts
from cableferry.core.workers import Offer
from cableferry.engine import sweeps
from cableferry.store import answers, nonces
from tests.engine.world import World

S = State
ALL = Timeouts(
    default=Limits(claimed_seconds=100, submitted_seconds=200, started_seconds=300),
    processors={"embed": Limits(claimed_seconds=50)},
    profiles={"quick": Limits(claimed_seconds=20, started_seconds=30)},
)


@pytest.fixture
def timed(world: World) -> World:
    """A contract with short limits, and a server that lives."""
    timed = world.with_rules(timeouts=ALL)
    timed.beat()
    for worker in ("w1", "w2"):
        timed.register(worker, Offer("*", "*"))
    return timed


LIMITED = [
    ("by the rule for all", "align", "cpu", S.CLAIMED, 100),
    ("by its processor", "embed", "cpu", S.CLAIMED, 50),
    ("by its profile", "embed", "quick", S.CLAIMED, 20),
    ("by the rule for all once submitted", "embed", "quick", S.SUBMITTED, 200),
    ("by its profile while it runs", "embed", "quick", S.RUNNING, 30),
    ("by the rule for all while it runs", "embed", None, S.RUNNING, 300),
]


@pytest.mark.parametrize(
    ("processor", "profile", "state", "limit"), [case[1:] for case in LIMITED], ids=[case[0] for case in LIMITED]
)
def test_a_silent_job_is_resolved(timed: World, processor: str, profile: str | None, state: State, limit: int) -> None:
    job = timed.a_job(state, processor=processor, profile=profile)

    timed.keep_beating(seconds=limit - 1)
    assert 0 == timed.sweep()
    timed.keep_beating(seconds=1)
    assert 1 == timed.sweep()

    assert S.FAILED is timed.get(job.id).state
    assert 0 == timed.sweep()


CAUSES = [(S.CLAIMED, Cause.NOT_SUBMITTED), (S.SUBMITTED, Cause.SILENT), (S.RUNNING, Cause.SILENT)]


@pytest.mark.parametrize(("state", "cause"), CAUSES)
def test_a_resolved_job_says_why_and_by_whom(timed: World, state: State, cause: Cause) -> None:
    job = timed.a_job(state)
    timed.keep_beating(seconds=301)
    timed.sweep()

    done, last = timed.get(job.id), timed.history(job.id)[-1]
    assert (S.FAILED, cause) == (done.state, done.cause)
    assert (state, S.FAILED, cause, "server") == (last.old, last.new, last.cause, last.actor)
    assert str(done.detail).startswith("timeout: ")


CHOICES = [(Stalled.FAIL, S.FAILED), (Stalled.CANCEL, S.CANCELLED), (Stalled.PENDING, S.READY)]


@pytest.mark.parametrize(("choice", "state"), CHOICES)
def test_a_claimed_job_that_is_not_submitted_becomes_what_the_setting_says(
    timed: World, choice: Stalled, state: State
) -> None:
    world = timed.with_rules(timeouts=Timeouts(default=Limits(claimed_seconds=100, after_claimed=choice)))
    job = world.a_job(S.CLAIMED)
    world.keep_beating(seconds=100)

    assert 1 == world.sweep()
    assert state is world.get(job.id).state


def test_a_job_back_in_the_queue_is_claimed_in_its_old_place(timed: World) -> None:
    world = timed.with_rules(timeouts=Timeouts(default=Limits(claimed_seconds=100, after_claimed=Stalled.PENDING)))
    job = world.a_job(S.CLAIMED)
    later = world.create()
    world.keep_beating(seconds=100)
    world.sweep()

    assert [job.id, later.id] == [claimed.id for claimed in world.claim_many(5, "w2")]


def test_a_word_from_the_worker_starts_its_time_anew(timed: World) -> None:
    job = timed.a_job(S.RUNNING)
    for _ in range(3):
        timed.keep_beating(seconds=299)
        timed.report(job.id, S.RUNNING, detail=str(timed.clock.now))

    assert 0 == timed.sweep()


def test_a_jobs_own_timeout_counts_from_its_claim_whatever_is_heard_of_it(timed: World) -> None:
    job = timed.a_job(S.CLAIMED, timeout_seconds=1000, profile="long")
    for state in (S.SUBMITTED, S.RUNNING):
        timed.keep_beating(seconds=40)
        timed.report(job.id, state)
    for _ in range(5):
        timed.keep_beating(seconds=195)
        timed.report(job.id, S.RUNNING, detail=str(timed.clock.now))

    timed.keep_beating(seconds=4)
    assert 0 == timed.sweep()
    timed.keep_beating(seconds=1)
    assert 1 == timed.sweep()
    assert Cause.TIMEOUT is timed.get(job.id).cause


def test_the_daemon_gets_to_report_a_jobs_own_timeout_first(timed: World) -> None:
    job = timed.a_job(S.RUNNING, timeout_seconds=100)
    timed.keep_beating(seconds=101)
    timed.sweep()

    timed.report(job.id, S.FAILED, detail="timeout: job timeout_seconds (100s) exceeded after 101s")

    assert "worker:w1" == timed.history(job.id)[-1].actor


def test_a_waiting_job_waits_for_ever(timed: World) -> None:
    job = timed.create(timeout_seconds=1)
    timed.keep_beating(hours=3)

    assert 0 == timed.sweep()
    assert S.READY is timed.get(job.id).state


def test_a_sweep_resolves_no_more_than_asked_the_longest_overdue_first(timed: World) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(timed.a_job(S.CLAIMED))
        timed.keep_beating(seconds=5)
    timed.keep_beating(seconds=100)

    assert 2 == timed.sweep(most=2)
    assert [S.FAILED, S.FAILED, S.CLAIMED] == [timed.get(job.id).state for job in jobs]
    assert 1 == timed.sweep(most=2)


def test_a_sweep_leaves_the_jobs_of_another_contract_alone(timed: World) -> None:
    job = timed.a_job(S.RUNNING)
    timed.keep_beating(hours=1)

    assert 0 == timed.with_rules(pool="torc").sweep()
    assert S.RUNNING is timed.get(job.id).state


def test_no_lease_ends_that_could_not_have_been_renewed(timed: World) -> None:
    """The server is down for an hour, and the worker could not say a word meanwhile."""
    job = timed.a_job(S.RUNNING, timeout_seconds=1000)
    timed.keep_beating(seconds=290)
    timed.clock.passes(hours=1)

    assert 0 == timed.sweep()
    assert S.RUNNING is timed.report(job.id, S.RUNNING, detail="still here").state


def test_what_was_used_up_before_the_silence_stays_used_up(timed: World) -> None:
    timed.a_job(S.RUNNING)
    timed.keep_beating(seconds=290)
    timed.clock.passes(hours=1)
    timed.sweep()

    timed.keep_beating(seconds=9)
    assert 0 == timed.sweep()
    timed.keep_beating(seconds=1)
    assert 1 == timed.sweep()


def test_a_jobs_own_end_is_forgiven_too(timed: World) -> None:
    job = timed.a_job(S.RUNNING, timeout_seconds=280)
    ends = timed.get(job.id).ends_by
    timed.clock.passes(hours=1)
    timed.beat()

    assert ends is not None
    assert ends + timedelta(hours=1) == timed.get(job.id).ends_by


def test_a_short_pause_is_not_forgiven(timed: World) -> None:
    timed.clock.passes(seconds=60)

    assert timedelta(0) == timed.beat()


def test_a_long_silence_is_forgiven_once_and_in_full(timed: World) -> None:
    timed.clock.passes(seconds=61)

    assert [timedelta(seconds=61), timedelta(0)] == [timed.beat(), timed.beat()]


def test_the_first_beat_of_all_forgives_nothing(world: World) -> None:
    assert timedelta(0) == world.beat()


def test_a_clock_that_goes_back_forgives_nothing(timed: World) -> None:
    timed.clock.passes(hours=-1)

    assert timedelta(0) == timed.beat()


def test_what_is_old_is_forgotten_and_what_may_still_matter_is_kept(world: World) -> None:
    job = world.create()
    world.delete(job.id)
    world.write(lambda tx: nonces.spend(tx, "c1", "n1", tx.now))
    world.write(lambda tx: answers.begin(tx, "ann", "k1", b"digest", tx.now))

    counts = []
    for span in ({"seconds": 900}, {"seconds": 1}, {"hours": 24}, {"days": 30}):
        world.clock.passes(**span)
        counts.append(world.write(sweeps.purge))

    assert [0, 1, 1, 1] == counts


def test_a_forgotten_deletion_leaves_a_job_that_never_was(world: World) -> None:
    job = world.create()
    world.delete(job.id)
    world.clock.passes(days=31)
    world.write(sweeps.purge)

    with pytest.raises(NotFound) as refused:
        world.get(job.id)

    assert Kind.UNKNOWN_JOB is refused.value.kind


def test_folding_the_counts_changes_none(world: World) -> None:
    world.register()
    world.a_job(S.RUNNING)
    world.delete(world.create("align").id)
    before = world.tallies()

    world.write(sweeps.fold_tallies)

    assert {(S.RUNNING, "embed", "gpu"): 1} == before == world.tallies()
