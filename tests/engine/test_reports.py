"""What a worker's word does: once, in order, and only by whoever holds the lease."""

import pytest
from msgspec.structs import replace

from cableferry.core.artifacts import Draft
from cableferry.core.errors import Conflict, Kind, NotFound, Refusal
from cableferry.core.jobs import Cause, Job, State
from cableferry.core.policy import Limits, Stalled, Timeouts
from cableferry.engine import artifacts
from cableferry.store import jobs as rows
from cableferry.wire.emx2.words import WORDS
from tests.engine.world import World, a_report

S = State


@pytest.fixture
def requeuing(world: World) -> World:
    """A contract whose claimed jobs return to the queue when they are not submitted in time."""
    return world.with_rules(timeouts=Timeouts(default=Limits(claimed_seconds=300, after_claimed=Stalled.PENDING)))


def back_in_the_queue(world: World) -> Job:
    """A job whose first claim came to nothing."""
    world.register()
    job = world.a_job(S.CLAIMED)
    world.keep_beating(seconds=301)
    world.sweep()
    return world.get(job.id)


def test_a_job_goes_the_usual_way_and_keeps_what_was_said(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)
    output, log = (world.write(artifacts.create, Draft()).id for _ in range(2))

    world.report(job.id, S.SUBMITTED, slurm_job_id="4711", detail="Slurm job 4711")
    world.report(job.id, S.RUNNING, phase="training", progress=0.5)
    world.report(job.id, S.SUCCEEDED, output_artifact_id=output, log_artifact_id=log)

    done = world.get(job.id)
    assert (S.SUCCEEDED, "4711", "Slurm job 4711") == (done.state, done.slurm_job_id, done.detail)
    assert ("training", 0.5, output, log) == (
        done.phase,
        done.progress,
        done.output_artifact_id,
        done.log_artifact_id,
    )
    assert [S.READY, S.CLAIMED, S.SUBMITTED, S.RUNNING, S.SUCCEEDED] == [row.new for row in world.history(job.id)]


def test_each_state_stamps_its_time(world: World) -> None:
    world.register()
    job = world.create()
    times = [world.clock.now]
    for state in (S.CLAIMED, S.SUBMITTED, S.RUNNING, S.FAILED):
        world.clock.passes(seconds=10)
        times.append(world.clock.now)
        world.claim(job.id) if state is S.CLAIMED else world.report(job.id, state)

    done = world.get(job.id)
    assert times == [done.created_at, done.claimed_at, done.submitted_at, done.started_at, done.ended_at]
    assert times[-1] == done.moved_at == done.touched_at


@pytest.mark.parametrize("state", [S.CLAIMED, S.SUBMITTED, S.RUNNING])
def test_a_held_job_may_fail_wherever_it_is(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)

    assert S.FAILED is world.report(job.id, S.FAILED, detail="disk full").state


ILLEGAL = [
    (S.CLAIMED, S.RUNNING),
    (S.CLAIMED, S.SUCCEEDED),
    (S.SUBMITTED, S.SUCCEEDED),
    (S.SUBMITTED, S.CLAIMED),
    (S.RUNNING, S.SUBMITTED),
]


@pytest.mark.parametrize(("old", "new"), ILLEGAL)
def test_an_illegal_move_is_refused_in_the_contracts_words_and_changes_nothing(
    world: World, old: State, new: State
) -> None:
    world.register()
    job = world.a_job(old)

    with pytest.raises(Conflict, match=f"from {WORDS[old]} to {WORDS[new]}") as refused:
        world.report(job.id, new, detail="something new")

    assert (Kind.ILLEGAL_MOVE, old) == (refused.value.kind, refused.value.facts["current_state"])
    assert job == world.get(job.id)


def test_a_job_is_not_claimed_by_a_report(world: World) -> None:
    world.register()
    job = world.create()

    with pytest.raises(Conflict, match="from PENDING to CLAIMED"):
        world.report(job.id, S.CLAIMED)

    assert S.READY is world.get(job.id).state


def test_a_worker_ends_no_job_that_it_never_claimed(world: World) -> None:
    world.register()
    job = world.create()

    with pytest.raises(Conflict, match="claim it first"):
        world.report(job.id, S.CANCELLED)

    assert S.READY is world.get(job.id).state


def test_a_person_may_call_off_a_waiting_job_by_a_report(world: World) -> None:
    job = world.create()

    assert S.CANCELLED is world.report(job.id, S.CANCELLED, worker=None).state


def test_an_unknown_job_takes_no_report(world: World) -> None:
    with pytest.raises(NotFound) as refused:
        world.report("j0", S.FAILED)

    assert Kind.UNKNOWN_JOB is refused.value.kind


def test_the_same_state_with_other_words_is_noted_in_the_history(world: World) -> None:
    world.register()
    job = world.a_job(S.SUBMITTED)
    world.clock.passes(seconds=5)

    noted = world.report(job.id, S.SUBMITTED, detail="slurm_state=PENDING; reason=Resources")

    last = world.history(job.id)[-1]
    assert (S.SUBMITTED, job.revision + 1, world.clock.now) == (noted.state, noted.revision, noted.touched_at)
    assert (job.submitted_at, job.moved_at) == (noted.submitted_at, noted.moved_at)
    assert (S.SUBMITTED, S.SUBMITTED, "slurm_state=PENDING; reason=Resources") == (
        last.old,
        last.new,
        last.payload.detail,
    )


REPEATED = [S.SUBMITTED, S.RUNNING, S.SUCCEEDED, S.FAILED, S.CANCELLED]


@pytest.mark.parametrize("state", REPEATED)
def test_the_very_same_report_again_writes_nothing(world: World, state: State) -> None:
    world.register()
    job = world.a_job(state)
    history = world.history(job.id)
    world.clock.passes(seconds=5)

    again = world.report(job.id, state)

    assert job == again == world.get(job.id)
    assert history == world.history(job.id)


@pytest.mark.parametrize("state", [S.SUCCEEDED, S.FAILED, S.CANCELLED])
@pytest.mark.parametrize("word", [{"detail": "other"}, {"output_artifact_id": "a9"}, {"log_artifact_id": "a9"}])
def test_an_end_reported_with_other_words_is_refused(world: World, state: State, word: dict[str, str]) -> None:
    world.register()
    job = world.a_job(state)

    with pytest.raises(Conflict, match="it is over") as refused:
        world.report(job.id, state, **word)

    assert (Kind.ALREADY_ENDED, state) == (refused.value.kind, refused.value.facts["current_state"])
    assert job == world.get(job.id)


def test_an_end_is_not_turned_into_another(world: World) -> None:
    world.register()
    job = world.a_job(S.SUCCEEDED)

    for state in (S.FAILED, S.CANCELLED):
        with pytest.raises(Conflict) as refused:
            world.report(job.id, state)
        assert Kind.ALREADY_ENDED is refused.value.kind
    assert job == world.get(job.id)


def test_a_report_that_was_taken_long_ago_is_taken_again_without_a_trace(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)
    world.report(job.id, S.SUBMITTED, slurm_job_id="4711")
    world.report(job.id, S.RUNNING)
    history = world.history(job.id)

    again = world.report(job.id, S.SUBMITTED, slurm_job_id="4711")

    assert S.RUNNING is again.state
    assert history == world.history(job.id)


def test_an_older_state_with_other_words_is_refused(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)

    with pytest.raises(Conflict, match="from STARTED to SUBMITTED"):
        world.report(job.id, S.SUBMITTED, slurm_job_id="4712")


def test_another_worker_does_not_report_on_a_job(world: World) -> None:
    world.register()
    world.register("w2")
    job = world.a_job(S.RUNNING)

    for state in (S.SUCCEEDED, S.FAILED, S.RUNNING):
        with pytest.raises(Conflict, match="held by w1") as refused:
            world.report(job.id, state, worker="w2")
        assert (Kind.STALE_LEASE, "w1") == (refused.value.kind, refused.value.facts["holder"])
    assert job == world.get(job.id)


def test_the_holder_reports_with_its_epoch(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)

    assert S.SUBMITTED is world.report(job.id, S.SUBMITTED, epoch=1).state


def test_a_report_with_another_epoch_is_fenced_off(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)

    for epoch in (0, 2):
        with pytest.raises(Conflict) as refused:
            world.report(job.id, S.SUBMITTED, epoch=epoch)
        assert (Kind.STALE_LEASE, 1) == (refused.value.kind, refused.value.facts["epoch"])


def test_a_report_in_the_words_of_the_holder_but_of_another_epoch_is_fenced_off(world: World) -> None:
    world.register()
    job = world.a_job(S.SUBMITTED)

    with pytest.raises(Conflict) as refused:
        world.report(job.id, S.SUBMITTED, epoch=0)

    assert Kind.STALE_LEASE is refused.value.kind


def test_a_job_back_in_the_queue_is_another_attempt_under_a_higher_epoch(requeuing: World) -> None:
    job = back_in_the_queue(requeuing)

    assert (S.READY, 2, 2, None) == (job.state, job.attempt, job.epoch, job.worker)
    last = requeuing.history(job.id)[-1]
    assert (S.CLAIMED, S.READY, "server", "w1") == (last.old, last.new, last.actor, last.payload.worker)


OLD_WORDS = [(state, epoch) for state in (S.SUBMITTED, S.FAILED, S.CANCELLED) for epoch in (1, None)]


@pytest.mark.parametrize(("state", "epoch"), OLD_WORDS)
def test_who_lost_a_job_to_the_queue_no_longer_moves_it(requeuing: World, state: State, epoch: int | None) -> None:
    job = back_in_the_queue(requeuing)

    with pytest.raises(Conflict):
        requeuing.report(job.id, state, epoch=epoch)

    assert job == requeuing.get(job.id)


@pytest.mark.parametrize("state", [S.SUBMITTED, S.FAILED, S.CANCELLED, S.CLAIMED])
def test_who_lost_a_job_to_another_worker_no_longer_moves_it(requeuing: World, state: State) -> None:
    job = back_in_the_queue(requeuing)
    requeuing.register("w2")
    held = requeuing.claim(job.id, "w2")

    for epoch in (1, None):
        with pytest.raises(Conflict, match="held by w2 with epoch 3") as refused:
            requeuing.report(job.id, state, epoch=epoch)
        assert Kind.STALE_LEASE is refused.value.kind
    assert held == requeuing.get(job.id)


def test_who_claims_its_lost_job_again_is_still_fenced_off_in_its_old_epoch(requeuing: World) -> None:
    job = back_in_the_queue(requeuing)
    requeuing.claim(job.id)

    with pytest.raises(Conflict) as refused:
        requeuing.report(job.id, S.SUBMITTED, epoch=1)

    assert Kind.STALE_LEASE is refused.value.kind
    assert S.SUBMITTED is requeuing.report(job.id, S.SUBMITTED, epoch=3).state


def test_a_report_of_an_earlier_attempt_is_not_taken_for_one_of_this(requeuing: World) -> None:
    """The first attempt was noted as claimed in the very same words."""
    requeuing.register()
    job = requeuing.a_job(S.CLAIMED)
    requeuing.report(job.id, S.CLAIMED, detail="staging")
    requeuing.keep_beating(seconds=301)
    requeuing.sweep()
    requeuing.claim(job.id)
    before = len(requeuing.history(job.id))

    requeuing.report(job.id, S.CLAIMED, detail="staging")

    assert before + 1 == len(requeuing.history(job.id))


def test_reports_are_taken_in_order_each_on_what_the_ones_before_it_left(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)

    outcomes = world.report_many(*[a_report(job.id, state) for state in (S.SUBMITTED, S.RUNNING, S.SUCCEEDED)])

    assert [S.SUBMITTED, S.RUNNING, S.SUCCEEDED] == [outcome.state for outcome in outcomes]
    assert outcomes[-1] == world.get(job.id)
    assert [1, 2, 3, 4, 5] == [row.seq for row in world.history(job.id)]


def test_a_report_refused_among_many_leaves_the_others_standing(world: World) -> None:
    world.register()
    one, other = world.a_job(S.CLAIMED), world.a_job(S.CLAIMED)

    outcomes = world.report_many(
        a_report(one.id, S.SUBMITTED),
        a_report(other.id, S.RUNNING),
        a_report("j0", S.FAILED),
        a_report(one.id, S.RUNNING),
    )

    kinds = [outcome.kind if isinstance(outcome, Refusal) else outcome.state for outcome in outcomes]
    assert [S.SUBMITTED, Kind.ILLEGAL_MOVE, Kind.UNKNOWN_JOB, S.RUNNING] == kinds
    assert (S.RUNNING, S.CLAIMED) == (world.get(one.id).state, world.get(other.id).state)


def test_a_report_repeated_among_many_is_taken_once(world: World) -> None:
    world.register()
    job = world.a_job(S.CLAIMED)

    world.report_many(*[a_report(job.id, S.SUBMITTED, slurm_job_id="4711")] * 3, a_report(job.id, S.RUNNING))

    assert [S.READY, S.CLAIMED, S.SUBMITTED, S.RUNNING] == [row.new for row in world.history(job.id)]


def test_a_report_is_refused_when_the_job_changed_under_it(world: World) -> None:
    """The guard that stands behind every lock: a change counts only for the revision it was made of."""
    world.register()
    job = world.a_job(S.CLAIMED)
    seen = world.get(job.id)
    world.report(job.id, S.SUBMITTED)

    assert 0 == world.write(rows.save, [(seen, replace(seen, detail="too late", revision=seen.revision + 1))])
    assert S.SUBMITTED is world.get(job.id).state


def test_a_failure_keeps_the_cause_that_its_reporter_gave(world: World) -> None:
    world.register()
    job = world.a_job(S.RUNNING)

    world.report_many(replace(a_report(job.id, S.FAILED), cause=Cause.TIMEOUT))

    assert (Cause.TIMEOUT, Cause.TIMEOUT) == (world.get(job.id).cause, world.history(job.id)[-1].cause)
