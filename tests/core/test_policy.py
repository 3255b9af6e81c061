"""How long a job may be silent, and what becomes of one that is silent for longer."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cableferry.core import policy
from cableferry.core.jobs import FINAL, HELD, JOBS, Cause, Job, Preference, State, Wish
from cableferry.core.machine import Machine
from cableferry.core.policy import Limits, Rules, Stalled, Timeouts, Verdict
from tests.core.specimens import NEVER, NOW, a_job, seconds

S = State
LIMITS = Timeouts(
    default=Limits(claimed_seconds=10, submitted_seconds=20, started_seconds=30),
    processors={"embed": Limits(claimed_seconds=11, started_seconds=31)},
    profiles={"gpu": Limits(claimed_seconds=12)},
)
WIDTHS = [
    ("by its profile first", "embed", "gpu", S.CLAIMED, 12),
    ("by its processor when the profile says nothing", "embed", "gpu", S.RUNNING, 31),
    ("by the rule for all when neither says anything", "embed", "gpu", S.SUBMITTED, 20),
    ("by its processor when it has no profile", "embed", None, S.CLAIMED, 11),
    ("by the rule for all when it is of another kind", "align", "cpu", S.CLAIMED, 10),
    ("by the rule for running while it is suspected", "align", "cpu", S.SUSPECT, 30),
    ("not at all while nobody holds it", "embed", "gpu", S.READY, None),
    ("not at all when it is over", "embed", "gpu", S.FAILED, None),
]


@pytest.mark.parametrize(
    ("processor", "profile", "state", "expected"), [w[1:] for w in WIDTHS], ids=[w[0] for w in WIDTHS]
)
def test_a_job_is_limited(processor: str, profile: str | None, state: State, expected: float | None) -> None:
    assert expected == policy.limit(a_job(state, processor=processor, profile=profile), state, LIMITS)


GRACES = [
    ("five seconds at least", 1, 5),
    ("a tenth of the timeout", 100, 10),
    ("the longest grace at most", 10_000, 60),
]


@pytest.mark.parametrize(("timeout", "grace"), [g[1:] for g in GRACES], ids=[g[0] for g in GRACES])
def test_a_daemon_gets_time_to_report_a_timeout_first(timeout: int, grace: int) -> None:
    assert NOW + seconds(timeout + grace) == policy.ends_by(a_job(timeout_seconds=timeout), NEVER, NOW)


def test_a_job_without_a_timeout_of_its_own_never_uses_it_up() -> None:
    assert None is policy.ends_by(a_job(), NEVER, NOW)


SOON, LATE = NOW + seconds(5), NOW + seconds(500)
DUE = [
    ("after its limit", S.CLAIMED, LIMITS, None, NOW + seconds(12)),
    ("at its own end when that comes sooner", S.CLAIMED, LIMITS, SOON, SOON),
    ("after its limit when that comes sooner", S.CLAIMED, LIMITS, LATE, NOW + seconds(12)),
    ("at its own end when nothing else limits it", S.RUNNING, NEVER, LATE, LATE),
    ("never without a limit", S.RUNNING, NEVER, None, None),
    ("never when it is over", S.FAILED, LIMITS, SOON, None),
    ("never while it waits", S.READY, LIMITS, SOON, None),
]


@pytest.mark.parametrize(("state", "timeouts", "ends", "expected"), [d[1:] for d in DUE], ids=[d[0] for d in DUE])
def test_the_next_word_of_a_job_is_due(
    state: State, timeouts: Timeouts, ends: datetime | None, expected: datetime | None
) -> None:
    assert expected == policy.due_at(a_job(state), state, timeouts, NOW, ends)


def test_a_job_is_not_overdue_before_its_time() -> None:
    assert None is policy.stalled(a_job(S.RUNNING, due_at=NOW + seconds(0.001)), LIMITS, NOW)


def test_a_job_that_nobody_holds_is_never_overdue() -> None:
    assert None is policy.stalled(a_job(S.READY, due_at=NOW), LIMITS, NOW)


def test_a_job_without_a_due_time_is_never_overdue() -> None:
    assert None is policy.stalled(a_job(S.RUNNING), LIMITS, NOW)


OUTCOMES = [
    (None, Verdict(S.FAILED, Cause.NOT_SUBMITTED, "timeout: worker w1 did not submit within 10s of its claim")),
    (Stalled.FAIL, Verdict(S.FAILED, Cause.NOT_SUBMITTED, "timeout: worker w1 did not submit within 10s of its claim")),
    (Stalled.CANCEL, Verdict(S.CANCELLED, None, "timeout: worker w1 did not submit within 10s of its claim")),
    (Stalled.PENDING, Verdict(None, None, "timeout: worker w1 did not submit within 10s of its claim")),
]


@pytest.mark.parametrize(("choice", "expected"), OUTCOMES)
def test_a_claimed_job_that_is_not_submitted_in_time_ends_as_the_setting_says(
    choice: Stalled | None, expected: Verdict
) -> None:
    timeouts = Timeouts(default=Limits(claimed_seconds=10, after_claimed=choice))

    assert expected == policy.stalled(a_job(S.CLAIMED, due_at=NOW), timeouts, NOW)


@pytest.mark.parametrize(("attempt", "state"), [(1, None), (4, None), (5, S.FAILED), (6, S.FAILED)])
def test_a_job_that_nobody_ever_submits_goes_back_to_the_queue_only_so_often(attempt: int, state: S | None) -> None:
    timeouts = Timeouts(default=Limits(claimed_seconds=10, after_claimed=Stalled.PENDING), most_attempts=5)

    verdict = policy.stalled(a_job(S.CLAIMED, due_at=NOW, attempt=attempt), timeouts, NOW)

    assert verdict is not None
    assert state is verdict.state


def test_what_happens_after_a_claim_is_chosen_by_the_narrowest_rule_that_says_it() -> None:
    timeouts = Timeouts(
        default=Limits(claimed_seconds=10, after_claimed=Stalled.FAIL),
        processors={"embed": Limits(after_claimed=Stalled.PENDING)},
        profiles={"gpu": Limits(claimed_seconds=5)},
    )

    verdict = policy.stalled(a_job(S.CLAIMED, due_at=NOW), timeouts, NOW)

    assert Verdict(None, None, "timeout: worker w1 did not submit within 5s of its claim") == verdict


SILENCES = [
    (S.SUBMITTED, "timeout: not started by worker w1 within 20s"),
    (S.RUNNING, "timeout: no report from worker w1 within 31s"),
    (S.SUSPECT, "timeout: no report from worker w1 within 31s"),
]


@pytest.mark.parametrize(("state", "detail"), SILENCES)
def test_a_submitted_or_running_job_that_falls_silent_fails(state: State, detail: str) -> None:
    assert Verdict(S.FAILED, Cause.SILENT, detail) == policy.stalled(a_job(state, due_at=NOW), LIMITS, NOW)


@pytest.mark.parametrize("state", sorted(HELD))
def test_a_job_that_has_used_up_its_own_timeout_fails_wherever_it_is(state: State) -> None:
    job = a_job(state, timeout_seconds=100, due_at=NOW, ends_by=NOW)

    verdict = policy.stalled(job, LIMITS, NOW)

    detail = "timeout: job timeout_seconds (100s) exceeded since its claim"
    assert Verdict(S.FAILED, Cause.TIMEOUT, detail) == verdict


def test_a_job_silent_before_its_own_end_is_judged_by_its_silence() -> None:
    job = a_job(S.RUNNING, timeout_seconds=100, due_at=NOW, ends_by=LATE)

    verdict = policy.stalled(job, LIMITS, NOW)

    assert verdict is not None
    assert Cause.SILENT is verdict.cause


def test_a_limit_that_was_taken_away_meanwhile_is_told_as_nothing() -> None:
    details = [policy.stalled(a_job(state, due_at=NOW), NEVER, NOW) for state in (S.CLAIMED, S.RUNNING)]

    assert [True, True] == [verdict is not None and "within 0s" in verdict.detail for verdict in details]


limits = st.none() | st.floats(0.1, 1e6)
rules = st.builds(Limits, limits, limits, limits, st.none() | st.sampled_from(Stalled))
timeouts = st.builds(
    Timeouts,
    rules,
    st.dictionaries(st.just("gpu"), rules),
    st.dictionaries(st.just("embed"), rules),
)


@given(st.sampled_from(State), timeouts, st.none() | st.integers(1, 10**6))
def test_only_a_held_job_is_ever_due_and_it_is_resolved_exactly_when_it_is(
    state: State, timeouts: Timeouts, own: int | None
) -> None:
    job = a_job(state, timeout_seconds=own)
    ends = policy.ends_by(job, timeouts, NOW)

    due = policy.due_at(job, state, timeouts, NOW, ends)

    assert due is None or state in HELD
    if due is not None:
        waiting = a_job(state, timeout_seconds=own, due_at=due, ends_by=ends)
        verdict = policy.stalled(waiting, timeouts, due)
        assert None is policy.stalled(waiting, timeouts, due - seconds(0.001))
        assert verdict is not None
        assert verdict.state in FINAL or (verdict.state is None and state is S.CLAIMED)


GRACE = seconds(30)
PLACES = [
    ("anywhere without a preference", None, GRACE, policy.Place()),
    ("with its worker for good when it is pinned", Preference("w1", True), GRACE, ("w1", None)),
    ("with its worker for the grace", Preference("w1"), GRACE, ("w1", NOW + GRACE)),
    ("anywhere when there is no grace", Preference("w1"), seconds(0), (None, None)),
]


@pytest.mark.parametrize(("preference", "grace", "expected"), [p[1:] for p in PLACES], ids=[p[0] for p in PLACES])
def test_a_job_waits(preference: Preference | None, grace: timedelta, expected: object) -> None:
    place = policy.place(preference, grace, NOW)

    assert expected in (place, (place.kept_for, place.due_at))
    assert preference == place.preference


def test_a_kept_job_has_waited_long_enough_when_it_is_due() -> None:
    job = a_job(S.READY, kept_for="w1", due_at=NOW)

    assert not policy.has_waited(job, NOW - seconds(1))
    assert policy.has_waited(job, NOW)
    assert not policy.has_waited(a_job(S.READY, kept_for="w1"), NOW)
    assert not policy.has_waited(a_job(S.RUNNING, due_at=NOW), NOW)


RULES = Rules("opeva", JOBS, NEVER, lambda state, wish, cause: state.value, has_preferences=True)


def test_a_job_that_comes_back_prefers_whom_it_did_or_who_had_it() -> None:
    held = a_job(S.CLAIMED)
    pinned = Preference("w2", is_pinned=True)

    assert Preference("w1") == policy.next_preference(held, RULES)
    assert pinned == policy.next_preference(replace(held, preference=pinned), RULES)
    assert None is policy.next_preference(held, replace(RULES, has_preferences=False))
    assert None is policy.next_preference(a_job(S.READY), RULES)


UNHEARD = Timeouts(Limits(claimed_seconds=100, after_claimed=Stalled.PENDING), unheard_seconds=20)
FIRST_WORDS = [
    ("the first word when that is expected earlier", UNHEARD, None, 20),
    ("the claim when that ends earlier", Timeouts(Limits(claimed_seconds=10), unheard_seconds=20), None, 10),
    ("the job's own end", UNHEARD, NOW + seconds(5), 5),
    ("the claim when nothing else is asked", LIMITS, None, 12),
    ("the first word alone", Timeouts(Limits(), unheard_seconds=20), None, 20),
]


@pytest.mark.parametrize(
    ("timeouts", "ends", "expected"), [f[1:] for f in FIRST_WORDS], ids=[f[0] for f in FIRST_WORDS]
)
def test_a_new_claim_is_limited_by(timeouts: Timeouts, ends: datetime | None, expected: float) -> None:
    assert NOW + seconds(expected) == policy.first_due_at(a_job(), timeouts, NOW, ends)


def test_nothing_limits_a_claim_where_nothing_says_so() -> None:
    assert None is policy.first_due_at(a_job(), NEVER, NOW, None)


def test_a_claim_whose_worker_never_said_a_word_is_told_from_one_it_spoke_of() -> None:
    unheard = a_job(S.CLAIMED, due_at=NOW)
    heard = replace(unheard, touched_at=NOW + seconds(1))

    details = [str(policy.stalled(job, UNHEARD, NOW).detail) for job in (unheard, heard)]

    assert ["within 20s" in details[0], "within 100s" in details[1]] == [True, True]


ABANDONED = [
    ("a claimed job goes back", a_job(S.CLAIMED), None, None),
    ("a claimed job that was to stop has failed", a_job(S.CLAIMED, wish=Wish.STOP), S.FAILED, Cause.OFFLINE),
    ("a running job has failed", a_job(S.RUNNING), S.FAILED, Cause.OFFLINE),
    ("a job claimed too often has failed", a_job(S.CLAIMED, attempt=5), S.FAILED, Cause.OFFLINE),
]


@pytest.mark.parametrize(("job", "state", "cause"), [a[1:] for a in ABANDONED], ids=[a[0] for a in ABANDONED])
def test_when_its_worker_is_gone(job: Job, state: State | None, cause: Cause | None) -> None:
    verdict = policy.abandoned(job, UNHEARD)

    assert (state, cause) == (verdict.state, verdict.cause)


def test_a_claimed_job_that_was_to_stop_does_not_go_back_to_the_queue() -> None:
    job = a_job(S.CLAIMED, wish=Wish.STOP, due_at=NOW)

    assert (S.FAILED, Cause.SILENT) == (
        policy.stalled(job, UNHEARD, NOW).state,
        policy.stalled(job, UNHEARD, NOW).cause,
    )


@pytest.mark.parametrize(
    ("wish", "stopping", "expected"),
    [
        (None, True, "moves"),
        (Wish.STOP, True, "stopping"),
        (Wish.STOP, False, "moves"),
    ],
)
def test_a_job_that_is_to_stop_may_have_moves_of_its_own(wish: Wish | None, stopping: bool, expected: str) -> None:
    other = Machine(moves={state: frozenset() for state in State})
    rules = replace(RULES, stopping=other if stopping else None)
    job = a_job(S.RUNNING, wish=wish)

    assert {"moves": JOBS, "stopping": other}[expected] is rules.moves_of(job)
    assert (expected == "stopping") is rules.forbids_going_on(job)
