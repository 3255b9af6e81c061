"""What a worker says of a job besides where it is."""

from datetime import UTC, datetime

import msgspec
import pytest

from cableferry.core import moves
from cableferry.core.jobs import State, Waiting
from cableferry.wire.emx2 import bodies, remarks
from cableferry.wire.emx2.remarks import Scheduled, Usage
from tests.core.specimens import a_job

SOON = datetime(2026, 3, 1, 13, tzinfo=UTC)
USED = Usage(12.5, 40.25, 2**30, 1, 9, "node[1-3]")


def test_nothing_said_is_nothing_kept() -> None:
    assert remarks.packed(None, None) is None
    assert (None, None) == (remarks.opened(None).usage, remarks.opened(None).scheduler)


def test_what_was_said_comes_back_and_gathers() -> None:
    first = remarks.packed(None, Scheduled("PENDING", "Priority", SOON))
    later = remarks.packed(USED, None)

    shown = bodies.job(a_job(State.FAILED, remarks=moves.merged(first, later)))

    assert (USED, Scheduled("PENDING", "Priority", SOON)) == (shown.usage, shown.scheduler)


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
    said = remarks.packed(None, Scheduled(reason="Priority", starts_at=SOON))

    assert Waiting("Priority", SOON) == remarks.waiting(a_job(State.SUBMITTED, detail="reason=x", remarks=said))
