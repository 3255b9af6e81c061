"""When a daemon may submit: as long as its server knows it, and was heard of lately."""

import pytest

from cableferry.daemon.conversation import Talked
from cableferry.daemon.tenure import SURE_SECONDS, Tenure

LATE = 100 + SURE_SECONDS
GOOD = Talked(is_plain=False)
AWAY = Talked(trouble="no answer", kind="unreachable")
UNKNOWN = Talked(trouble="register it", kind="unknown-worker")
TAKEN = Talked(displaced="worker w1 is in use by there", is_plain=False)


@pytest.mark.parametrize(
    ("heard", "now", "may"),
    [
        ([], 100, False),
        ([GOOD], 101, True),
        ([GOOD], LATE, False),
        ([Talked(is_plain=True)], LATE, True),
        ([GOOD, AWAY], 101, True),
        ([AWAY], 101, False),
        ([GOOD, UNKNOWN], 101, False),
        ([GOOD, UNKNOWN, AWAY], 101, False),
        ([GOOD, TAKEN], 101, False),
        ([GOOD, TAKEN, GOOD], 101, True),
    ],
    ids=[
        "before the first word",
        "known",
        "silent for long",
        "silent without sessions",
        "silent for a moment",
        "never reached",
        "forgotten",
        "forgotten and silent",
        "displaced",
        "back",
    ],
)
def test_only_the_one_daemon_of_a_worker_submits(heard: list[Talked], now: float, may: bool) -> None:
    tenure = Tenure("w1")
    for talked in heard:
        tenure.hear(talked, 100)

    assert tenure.may_submit(now) is may
