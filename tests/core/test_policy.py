"""How long a job may be silent, and what becomes of one that is silent for longer."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import policy
from cableferry.core.jobs import FINAL, HELD, Cause, State
from cableferry.core.policy import Limits, Stalled, Timeouts, Verdict
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
