"""What a worker says of a job besides where it is."""

from datetime import UTC, datetime

import msgspec
import pytest

from cableferry.core import moves
from cableferry.core.jobs import State, Waiting
from cableferry.wire.emx2 import bodies, remarks
from cableferry.wire.emx2.remarks import Remarks, Requested, Scheduled, Usage
from tests.core.specimens import a_job

SOON = datetime(2026, 3, 1, 13, tzinfo=UTC)
USED = Usage(12.5, 40.25, 2**30, 1, 9, "node[1-3]")


def test_nothing_said_is_nothing_kept() -> None:
    assert remarks.packed(Remarks()) is None
    assert (None, None) == (remarks.opened(None).usage, remarks.opened(None).scheduler)


def test_what_was_said_comes_back_and_gathers() -> None:
    first = remarks.packed(Remarks(scheduler=Scheduled("PENDING", "Priority", SOON)))
    later = remarks.packed(Remarks(USED))

    shown = bodies.job(a_job(State.FAILED, remarks=moves.merged(first, later)))

    assert (USED, Scheduled("PENDING", "Priority", SOON)) == (shown.usage, shown.scheduler)


def test_what_a_job_was_given_stays_beside_what_it_took() -> None:
    given = Requested(8, 2**34, 3600, "a100:2", "gpu")

    said = moves.merged(remarks.packed(Remarks(requested=given)), remarks.packed(Remarks(USED)))

    assert (given, USED) == (bodies.job(a_job(State.FAILED, remarks=said)).requested, remarks.opened(said).usage)


def test_a_body_without_them_is_as_it_was() -> None:
    plain = msgspec.json.decode(b'{"status": "STARTED"}', type=bodies.TransitionBody)

    assert (None, None, None) == (plain.usage, plain.scheduler, plain.cause)


@pytest.mark.parametrize(
    "text",
    [
        b'{"exit_code": 1.5}',
        b'{"max_rss_bytes": -1}',
        b'{"nodes": "a\\nb"}',
        b'{"signal": 300}',
        b'{"cpu_seconds": "x"}',
    ],
)
def test_a_usage_that_makes_no_sense_is_refused(text: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Usage)


REASONS = [
    (None, None),
    ("Slurm job 4711", None),
    ("slurm_state=PENDING; reason=Resources; queued=300s", "Resources"),
    ("slurm_state=PENDING; reason=; queued=300s", None),
    ("slurm_state=PENDING;reason=QOSMaxCpuPerUserLimit", "QOSMaxCpuPerUserLimit"),
]


@pytest.mark.parametrize(("detail", "reason"), REASONS)
def test_the_reason_for_waiting_is_read_from_a_queue_report(detail: str | None, reason: str | None) -> None:
    assert Waiting(reason) == remarks.waiting(a_job(State.SUBMITTED, detail=detail))


def test_what_the_scheduler_says_comes_before_the_report() -> None:
    said = remarks.packed(Remarks(scheduler=Scheduled(reason="Priority", starts_at=SOON)))

    assert Waiting("Priority", SOON) == remarks.waiting(a_job(State.SUBMITTED, detail="reason=x", remarks=said))
