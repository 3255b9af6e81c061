"""What Slurm's word, the note of the run and the fence say together about an end."""

import pytest

from cableferry.schedulers.protocol import Ending, Usage
from cableferry.schedulers.slurm import verdicts
from cableferry.schedulers.slurm.rows import Row
from cableferry.schedulers.slurm.runs import Status

GOOD, BAD = Status("1", 0), Status("1", 3)
STOPPED_GOOD, STOPPED = Status("1", 0, was_stopped=True), Status("1", 143, was_stopped=True)


@pytest.mark.parametrize(
    ("word", "status", "turned_away", "ending"),
    [
        ("COMPLETED", GOOD, None, Ending.DONE),
        ("FAILED", BAD, None, Ending.FAILED),
        ("TIMEOUT", None, None, Ending.TIMEOUT),
        (None, GOOD, None, Ending.DONE),
        (None, BAD, None, Ending.FAILED),
        # what came after a good end did not undo it
        ("NODE_FAIL", GOOD, None, Ending.DONE),
        ("CANCELLED", GOOD, None, Ending.DONE),
        ("OUT_OF_MEMORY", GOOD, None, Ending.OUT_OF_MEMORY),
        # a program that was stopped and says that all is well
        ("TIMEOUT", STOPPED_GOOD, None, Ending.TIMEOUT),
        ("CANCELLED", STOPPED_GOOD, None, Ending.CANCELLED),
        ("PREEMPTED", STOPPED_GOOD, None, Ending.PREEMPTED),
        ("COMPLETED", STOPPED_GOOD, None, Ending.DONE),
        (None, STOPPED_GOOD, None, Ending.DONE),
        ("TIMEOUT", STOPPED, None, Ending.TIMEOUT),
        # the fence
        ("FAILED", None, Ending.DUPLICATE, Ending.DUPLICATE),
        ("COMPLETED", None, Ending.DUPLICATE, Ending.DUPLICATE),
        ("FAILED", STOPPED, Ending.PUT_BACK, Ending.PUT_BACK),
        ("FAILED", None, Ending.PUT_BACK, Ending.PUT_BACK),
        ("FAILED", GOOD, Ending.PUT_BACK, Ending.DONE),
    ],
)
def test_an_end_is_what_all_of_them_say(
    word: str | None, status: Status | None, turned_away: Ending | None, ending: Ending
) -> None:
    row = None if word is None else Row("1", word, "cf-a")

    assert verdicts.ended(row, status, turned_away).ending is ending


@pytest.mark.parametrize(
    ("accounted", "noted", "told"), [(None, None, None), (5, None, 5), (None, 7, 7), (5, 7, 7), (9, 7, 9)]
)
def test_a_peak_of_memory_that_accounting_missed_counts(
    accounted: int | None, noted: int | None, told: int | None
) -> None:
    row = Row("1", "COMPLETED", "cf-a", usage=Usage(3, 1.5, accounted))
    status = Status("1", 0, seconds=4, cpu="0m0.100s", peak_bytes=noted)

    assert verdicts.ended(row, status).usage == Usage(3, 1.5, told)
    assert verdicts.ended(None, status).usage == Usage(4, 0.1, noted)
