"""What a job becomes with a claim, a report and a new attempt."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from cableferry.core import moves
from cableferry.core.jobs import FINAL, HELD, Cause, Job, Payload, Preference, Report, State, Wish
from cableferry.core.policy import Limits, Place, Timeouts
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
    remarks=st.none() | st.dictionaries(st.text(max_size=3), st.integers()).map(msgspec.json.encode).map(Raw),
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


A_REOPENING = Report("j17", State.READY, Payload("w1", "silent for too long"), "server")


def test_a_new_attempt_fences_off_the_holder_and_forgets_the_old_one() -> None:
    job = a_job(
        State.RUNNING, epoch=3, slurm_job_id="77", progress=0.5, phase="x", message="y", wish=Wish.STOP,
        submitted_at=NOW, started_at=NOW, due_at=NOW, ends_by=NOW, cause=Cause.LOST, remarks=Raw(b'{"a":1}'),
        preference=Preference("w1", is_pinned=True), kept_for="w1",
    )  # fmt: skip

    after = moves.reopened(job, Place(), A_REOPENING, LATER).after

    kept = {"key", "id", "pool", "processor", "profile", "priority", "created_at", "parameters", "inputs"}
    counted = {"state", "attempt", "epoch", "revision", "detail", "moved_at", "touched_at"}
    rest = {name: getattr(after, name) for name in Job.__struct_fields__ if name not in kept | counted}
    assert (State.READY, 2, 4, 4) == (after.state, after.attempt, after.epoch, after.revision)
    assert [] == [name for name, value in rest.items() if value is not None]
    assert [] == [name for name in kept if getattr(after, name) != getattr(job, name)]


def test_the_history_of_a_new_attempt_names_who_lost_the_lease() -> None:
    t = moves.reopened(a_job(State.CLAIMED), Place(), A_REOPENING, LATER).transition

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
        moves.reopened(job, Place(), A_REOPENING, LATER),
        moves.wished(job, Wish.STOP, report, LATER),
        moves.placed(job, Place(Preference("w2"), "w2", LATER), report, LATER),
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


def a_note(remarks: bytes, **said: object) -> Report:
    return Report("j17", State.RUNNING, Payload("w1", remarks=Raw(remarks), **said), "worker:w1")


def test_remarks_gather_through_an_attempt_and_the_later_word_counts() -> None:
    job = a_job(State.RUNNING, remarks=Raw(b'{"container":"c1","node":"n1"}'))

    noted = moves.noted(job, a_note(b'{"node":"n2","load":1.50}'), NEVER, LATER).after

    assert Raw(b'{"container":"c1","node":"n2","load":1.50}') == noted.remarks
    assert noted.remarks == moves.moved(noted, a_report(State.FAILED), NEVER, LATER).after.remarks


def test_a_new_attempt_begins_with_the_remarks_of_its_opening() -> None:
    job = a_job(State.RUNNING, remarks=Raw(b'{"container":"c1"}'))
    report = Report("j17", State.READY, Payload(remarks=Raw(b'{"by":"ann"}')), "user:ann")

    assert Raw(b'{"by":"ann"}') == moves.reopened(job, Place(), report, LATER).after.remarks


NEWS = [
    ("nothing at all", Payload("w1"), False),
    ("what is known", Payload("w1", "fine", remarks=Raw(b'{"container":"c1"}')), False),
    ("another detail", Payload("w1", "well"), True),
    ("another remark", Payload("w1", remarks=Raw(b'{"load":1}')), True),
    ("another value of a remark", Payload("w1", remarks=Raw(b'{"container":"c2"}')), True),
]


@pytest.mark.parametrize(("payload", "expected"), [n[1:] for n in NEWS], ids=[n[0] for n in NEWS])
def test_a_report_that_says_nothing_new_is_told_from_one_that_does(payload: Payload, expected: bool) -> None:
    job = a_job(State.RUNNING, detail="fine", remarks=Raw(b'{"container":"c1","node":"n1"}'))

    assert expected is moves.says_something_new(job, payload)


def test_a_renewed_lease_changes_only_its_times() -> None:
    job = a_job(State.RUNNING, due_at=NOW, ends_by=None)

    renewed = moves.renewed(job, LIMITS, LATER)

    assert msgspec.structs.replace(job, touched_at=LATER, due_at=LATER + seconds(900)) == renewed


def test_a_wish_leaves_the_job_where_it_is_and_gives_its_worker_no_more_time() -> None:
    job = a_job(State.RUNNING, due_at=NOW)

    change = moves.wished(job, Wish.STOP, Report("j17", job.state, Payload(detail="enough"), "user:ann"), LATER)

    assert (State.RUNNING, Wish.STOP, NOW) == (change.after.state, change.after.wish, change.after.due_at)
    assert (State.RUNNING, State.RUNNING, "user:ann") == (
        change.transition.old,
        change.transition.new,
        change.transition.actor,
    )


def test_a_worker_may_say_itself_that_it_is_stopping() -> None:
    report = Report("j17", State.RUNNING, Payload("w1"), "worker:w1", wish=Wish.STOP)

    assert Wish.STOP is moves.noted(a_job(State.RUNNING), report, NEVER, LATER).after.wish


@pytest.mark.parametrize(("is_pinned", "kept_for"), [(True, "w1"), (False, None)])
def test_a_claimed_job_is_kept_only_by_a_pin(is_pinned: bool, kept_for: str | None) -> None:
    job = a_job(preference=Preference("w1", is_pinned), kept_for="w1", due_at=LATER)

    assert kept_for == moves.claimed(job, SPEAKER, NEVER, LATER).after.kept_for


def test_a_claim_carries_the_remarks_of_its_worker() -> None:
    speaker = msgspec.structs.replace(SPEAKER, remarks=Raw(b'{"fenced":true}'))

    assert Raw(b'{"fenced":true}') == moves.claimed(a_job(), speaker, NEVER, LATER).after.remarks


def test_a_job_stands_where_it_was_placed() -> None:
    place = Place(Preference("w2"), "w2", LATER)

    after = moves.placed(a_job(), place, A_REOPENING, NOW).after

    assert (place.preference, "w2", LATER, State.READY, 1) == (
        after.preference,
        after.kept_for,
        after.due_at,
        after.state,
        after.attempt,
    )


def test_what_comes_later_leaves_a_job_as_it_ended() -> None:
    job = a_job(State.FAILED, detail="exit_code=1")
    report = Report(job.id, job.state, Payload(detail="Log stored", log_artifact_id="a7"), "server")

    change = moves.annotated(job, report, NOW + seconds(5))

    assert msgspec.structs.replace(job, revision=4, log_artifact_id="a7", touched_at=NOW + seconds(5)) == change.after
    assert (State.FAILED, State.FAILED, "Log stored") == (
        change.transition.old,
        change.transition.new,
        change.transition.payload.detail,
    )
