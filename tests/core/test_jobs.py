"""Who may report on a job, and what a job knows of itself."""

import pytest

from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import FINAL, HELD, Job, Payload, State, check_claimed, check_holder
from tests.core.specimens import a_job

S = State

HOLDERS = [
    ("the holder", "w1", None),
    ("the holder with its epoch", "w1", 1),
    ("someone who names no worker", None, None),
    ("the epoch alone", None, 1),
]
STRANGERS = [
    ("another worker", "w2", None),
    ("another worker with the right epoch", "w2", 1),
    ("the holder with an older epoch", "w1", 0),
    ("the holder with an epoch of the future", "w1", 2),
    ("an older epoch alone", None, 0),
]


@pytest.mark.parametrize(("worker", "epoch"), [h[1:] for h in HOLDERS], ids=[h[0] for h in HOLDERS])
def test_whoever_holds_the_lease_may_report(worker: str | None, epoch: int | None) -> None:
    check_holder(a_job(S.RUNNING), worker, epoch)


@pytest.mark.parametrize(("worker", "epoch"), [s[1:] for s in STRANGERS], ids=[s[0] for s in STRANGERS])
def test_whoever_does_not_hold_the_lease_is_told_who_does(worker: str | None, epoch: int | None) -> None:
    with pytest.raises(Conflict, match="held by w1 with epoch 1") as refused:
        check_holder(a_job(S.RUNNING), worker, epoch)

    assert Kind.STALE_LEASE is refused.value.kind
    assert {"holder": "w1", "epoch": 1, "current_state": S.RUNNING} == refused.value.facts


def test_a_lease_on_a_job_back_in_the_queue_is_held_by_nobody() -> None:
    with pytest.raises(Conflict, match="held by nobody with epoch 2"):
        check_holder(a_job(S.READY, attempt=2, epoch=2), "w1", 1)


def test_a_worker_does_not_move_a_job_it_never_claimed() -> None:
    with pytest.raises(Conflict, match="not leased to worker w1: claim it first") as refused:
        check_claimed(a_job(S.READY), "w1")

    assert Kind.STALE_LEASE is refused.value.kind


@pytest.mark.parametrize(
    ("job", "worker"),
    [
        pytest.param(a_job(S.READY), None, id="a user moves a waiting job"),
        pytest.param(a_job(S.CLAIMED), "w1", id="a worker moves what it claimed"),
    ],
)
def test_a_job_is_moved_by_a_user_or_by_its_claimant(job: Job, worker: str | None) -> None:
    check_claimed(job, worker)


@pytest.mark.parametrize("state", State)
def test_a_job_knows_whether_it_is_over_and_whether_it_is_held(state: State) -> None:
    job = a_job(state)

    assert (state in FINAL, state in HELD) == (job.is_final, job.is_held)


def test_the_results_are_the_artifacts_that_are_named() -> None:
    said = {"output_artifact_id": "a1", "log_artifact_id": "a2"}

    assert a_job(**said).results == Payload(**said).results == ("a1", "a2")
    assert a_job().results == Payload().results == ()
