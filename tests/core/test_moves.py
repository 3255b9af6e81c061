"""What a job becomes with a claim, a report and a new attempt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import moves
from cableferry.core.jobs import FINAL, HELD, Cause, Job, Payload, Report, State, Wish
from cableferry.core.policy import Limits, Timeouts
from tests.core.specimens import NEVER, NOW, SPEAKER, a_job, seconds

LATER = NOW + seconds(60)
LIMITS = Timeouts(default=Limits(claimed_seconds=300, submitted_seconds=600, started_seconds=900))

texts = st.none() | st.text(max_size=20)
payloads = st.builds(
    Payload,
    worker=st.none() | st.just("w1"),
    detail=texts,
    slurm_job_id=texts,
    output_artifact_id=texts,
    log_artifact_id=texts,
    phase=texts,
    message=texts,
    progress=st.none() | st.floats(0, 1),
)


def a_report(state: State, **said: object) -> Report:
    return Report("j17", state, Payload(worker="w1", **said), "worker:w1")


def test_a_claim_leases_the_job_under_a_higher_epoch() -> None:
    change = moves.claimed(a_job(epoch=4), SPEAKER, LIMITS, LATER)

    after = change.after
    assert (State.CLAIMED, "w1", 5, 1) == (after.state, after.worker, after.epoch, after.attempt)
    assert (LATER, LATER, LATER) == (after.claimed_at, after.moved_at, after.touched_at)
    assert LATER + seconds(300) == after.due_at


def test_the_history_of_a_claim_says_who_when_and_from_where_to_where() -> None:
    t = moves.claimed(a_job(epoch=4), SPEAKER, LIMITS, LATER).transition

    assert (17, 4, 1, 5) == (t.job_key, t.seq, t.attempt, t.epoch)
    assert (State.READY, State.CLAIMED, "worker:w1", LATER) == (t.old, t.new, t.actor, t.at)
    assert Payload(worker="w1", detail="Claimed by worker w1") == t.payload


def test_the_clock_of_a_jobs_own_timeout_starts_with_its_claim() -> None:
    after = moves.claimed(a_job(timeout_seconds=100), SPEAKER, NEVER, LATER).after

    assert LATER + seconds(110) == after.ends_by == after.due_at


STAMPS = [
    (State.CLAIMED, State.SUBMITTED, "submitted_at", 600),
    (State.SUBMITTED, State.RUNNING, "started_at", 900),
    (State.RUNNING, State.SUCCEEDED, "ended_at", None),
    (State.RUNNING, State.FAILED, "ended_at", None),
    (State.READY, State.CANCELLED, "ended_at", None),
]


@pytest.mark.parametrize(("old", "new", "stamp", "limit"), STAMPS)
def test_a_move_stamps_its_time_and_says_when_the_next_word_is_due(
    old: State, new: State, stamp: str, limit: int | None
) -> None:
    after = moves.moved(a_job(old), a_report(new), LIMITS, LATER).after

    assert (new, LATER, LATER) == (after.state, getattr(after, stamp), after.moved_at)
    assert (None if limit is None else LATER + seconds(limit)) == after.due_at


def test_a_job_that_is_suspected_keeps_the_time_of_its_start() -> None:
    after = moves.moved(a_job(State.RUNNING, started_at=NOW), a_report(State.SUSPECT), LIMITS, LATER).after

    assert (State.SUSPECT, NOW, None) == (after.state, after.started_at, after.ended_at)


def test_a_failure_leaves_its_cause_on_the_job_and_in_the_history() -> None:
    report = Report("j17", State.FAILED, Payload(detail="disk full"), "worker:w1", Cause.ERROR)

    change = moves.moved(a_job(State.RUNNING), report, NEVER, LATER)

    assert (Cause.ERROR, Cause.ERROR) == (change.after.cause, change.transition.cause)
    assert "disk full" == change.after.detail


def test_the_end_of_a_job_ends_its_clocks() -> None:
    job = a_job(State.RUNNING, ends_by=LATER, due_at=LATER)

    after = moves.moved(job, a_report(State.SUCCEEDED), LIMITS, NOW).after

    assert (None, None) == (after.ends_by, after.due_at)


def test_a_note_moves_nothing_but_the_time_of_silence() -> None:
    job = a_job(State.RUNNING, moved_at=NOW, due_at=NOW + seconds(1), progress=0.1)

    change = moves.noted(job, a_report(State.RUNNING, progress=0.5, phase="training"), LIMITS, LATER)

    assert (State.RUNNING, NOW, LATER) == (change.after.state, change.after.moved_at, change.after.touched_at)
    assert (0.5, "training", LATER + seconds(900)) == (change.after.progress, change.after.phase, change.after.due_at)
    assert (State.RUNNING, State.RUNNING) == (change.transition.old, change.transition.new)


def test_a_note_does_not_push_out_the_jobs_own_timeout() -> None:
    job = a_job(State.RUNNING, ends_by=NOW + seconds(70))

    assert NOW + seconds(70) == moves.noted(job, a_report(State.RUNNING), LIMITS, LATER).after.due_at


def test_what_a_report_does_not_say_stays_as_it_was() -> None:
    job = a_job(State.SUBMITTED, slurm_job_id="77", detail="Slurm job 77")

    after = moves.moved(job, a_report(State.RUNNING, detail="runs"), NEVER, LATER).after

    assert ("77", "runs") == (after.slurm_job_id, after.detail)


def test_no_report_gives_a_job_to_another_worker() -> None:
    report = Report("j17", State.RUNNING, Payload(worker="w2"), "worker:w2")

    assert "w1" == moves.moved(a_job(State.SUBMITTED), report, NEVER, LATER).after.worker


def test_a_new_attempt_fences_off_the_holder_and_forgets_the_old_one() -> None:
    job = a_job(
        State.RUNNING, epoch=3, slurm_job_id="77", progress=0.5, phase="x", message="y", wish=Wish.STOP,
        submitted_at=NOW, started_at=NOW, due_at=NOW, ends_by=NOW, cause=Cause.LOST,
    )  # fmt: skip

    after = moves.reopened(job, "silent for too long", "server", LATER).after

    kept = {"key", "id", "pool", "processor", "profile", "priority", "created_at", "parameters", "inputs"}
    counted = {"state", "attempt", "epoch", "revision", "detail", "moved_at", "touched_at"}
    rest = {name: getattr(after, name) for name in Job.__struct_fields__ if name not in kept | counted}
    assert (State.READY, 2, 4, 4) == (after.state, after.attempt, after.epoch, after.revision)
    assert [] == [name for name, value in rest.items() if value is not None]
    assert [] == [name for name in kept if getattr(after, name) != getattr(job, name)]


def test_the_history_of_a_new_attempt_names_who_lost_the_lease() -> None:
    t = moves.reopened(a_job(State.CLAIMED), "silent for too long", "server", LATER).transition

    assert (State.CLAIMED, State.READY, 2, 2) == (t.old, t.new, t.attempt, t.epoch)
    assert ("server", Payload(worker="w1", detail="silent for too long")) == (t.actor, t.payload)


@given(st.sampled_from(sorted(HELD)), st.sampled_from(State), payloads)
def test_every_change_raises_the_revision_by_one_and_numbers_its_history_by_it(
    old: State, new: State, payload: Payload
) -> None:
    job = a_job(old)
    report = Report(job.id, new, payload, "worker:w1")
    changes = [
        moves.claimed(job, SPEAKER, LIMITS, LATER),
        moves.moved(job, report, LIMITS, LATER),
        moves.noted(job, report, LIMITS, LATER),
        moves.reopened(job, "late", "server", LATER),
    ]

    for change in changes:
        assert job.revision + 1 == change.after.revision == change.transition.seq
        assert (change.before.state, change.after.state) == (change.transition.old, change.transition.new)
        assert change.after.epoch == change.transition.epoch >= job.epoch


@given(st.sampled_from(sorted(HELD)), st.sampled_from(sorted(HELD | FINAL)), payloads)
def test_the_history_keeps_every_word_of_a_report(old: State, new: State, payload: Payload) -> None:
    job = a_job(old)

    change = moves.moved(job, Report(job.id, new, payload, "worker:w1"), NEVER, LATER)

    assert payload == change.transition.payload
    said = {name: value for name in Payload.__struct_fields__ if (value := getattr(payload, name)) is not None}
    assert said.items() <= {name: getattr(change.after, name) for name in said}.items()
