"""Which artifacts may go, by which policy, and which may not by any."""

from datetime import timedelta

import pytest

from cableferry.core import retention
from cableferry.core.artifacts import Stage
from cableferry.core.retention import Failures, Lifetimes, Policy, Retention, Unused, Uses
from tests.core.specimens import NOW, an_artifact

DAY = timedelta(days=1)
LIFETIMES = Lifetimes({"log": 30 * DAY, "model": 400 * DAY})
COMMITTED = an_artifact(Stage.COMMITTED, type="log", committed_at=NOW)
FAILED = an_artifact(Stage.FAILED, touched_at=NOW)


@pytest.mark.parametrize(
    ("policy", "days", "expected"),
    [
        (LIFETIMES, 29.9, None),
        (LIFETIMES, 30, "artifacts of type log are kept for 30 days"),
        (Lifetimes({"model": DAY}), 1000, None),
        (Lifetimes({"model": DAY, "*": 2 * DAY}), 1.5, None),
        (Lifetimes({"model": DAY, "*": 2 * DAY}), 2, "artifacts of type log are kept for 2 days"),
        (Unused(DAY), 0.9, None),
        (Unused(DAY), 1, "no job has used it for 1 day"),
        (Failures(DAY), 1000, None),
    ],
)
def test_a_committed_artifact_goes_when_its_time_is_over(policy: Policy, days: float, expected: str | None) -> None:
    assert expected == policy.why(COMMITTED, Uses(), NOW + days * DAY)


def test_time_without_use_begins_when_the_last_job_was_deleted() -> None:
    uses = Uses(last_used_at=NOW + 5 * DAY)

    assert Unused(DAY).why(COMMITTED, uses, NOW + 5.5 * DAY) is None
    assert Unused(DAY).why(COMMITTED, uses, NOW + 6 * DAY) == "no job has used it for 1 day"
    assert Unused(DAY).why(COMMITTED, Uses(jobs=1), NOW + 60 * DAY) is None


def test_a_failed_artifact_can_be_looked_at_for_a_while() -> None:
    assert Failures(DAY).why(FAILED, Uses(), NOW + 0.9 * DAY) is None
    assert Failures(DAY).why(FAILED, Uses(), NOW + DAY) == "it failed, and failed ones are kept for 1 day"
    assert Unused(DAY).why(FAILED, Uses(), NOW + 9 * DAY) is None


@pytest.mark.parametrize(
    ("uses", "frees_results", "goes"),
    [
        (Uses(), False, True),
        (Uses(jobs=2), False, True),
        (Uses(takers=1, jobs=1), True, False),
        (Uses(makers=1, jobs=1), False, False),
        (Uses(makers=1, jobs=1), True, True),
    ],
)
def test_what_jobs_need_stays_whatever_the_policies_say(uses: Uses, frees_results: bool, goes: bool) -> None:
    kept = Retention((Failures(DAY), LIFETIMES), frees_results)

    assert goes == (retention.why(kept, COMMITTED, uses, NOW + 900 * DAY) is not None)


@pytest.mark.parametrize("stage", [Stage.CREATED, Stage.UPLOADING, Stage.REGISTERED])
def test_an_open_artifact_is_nobodys_to_take(stage: Stage) -> None:
    artifact = an_artifact(stage, committed_at=NOW)

    assert retention.why(Retention((LIFETIMES, Unused(DAY))), artifact, Uses(), NOW + 900 * DAY) is None
    assert "never committed" in retention.stalled(artifact)


def test_without_policies_everything_stays() -> None:
    assert retention.why(Retention(), COMMITTED, Uses(), NOW + 900 * DAY) is None
    assert Retention().cut(NOW) is None
    assert Retention((Unused(3 * DAY), LIFETIMES)).cut(NOW) == NOW - 3 * DAY


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(days=2), "2 days"),
        (timedelta(hours=36), "36 hours"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_a_span_is_told_in_one_unit(span: timedelta, expected: str) -> None:
    assert expected == retention.told(span)
