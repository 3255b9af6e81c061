"""A caller's bucket of requests: how it empties, how it fills, and that it is nobody else's."""

import pytest

from cableferry.core.access import Anyone, Claimant, Person, Role
from cableferry.dialects.denials import TooMany
from cableferry.server import throttle
from cableferry.server.throttle import Buckets


class Ticks:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def buckets(ticks: Ticks) -> Buckets:
    return Buckets(rate=2, burst=3, clock=ticks)


def test_a_burst_is_let_through_and_then_the_rate(buckets: Buckets, ticks: Ticks) -> None:
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]

    ticks.now = 0.5
    assert [buckets.take("a") for _ in range(2)] == [0, 0.5]


def test_a_bucket_never_holds_more_than_its_burst(buckets: Buckets, ticks: Ticks) -> None:
    buckets.take("a")
    ticks.now = 1e6

    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_one_caller_takes_nothing_from_another(buckets: Buckets) -> None:
    for _ in range(10):
        buckets.take("a")

    assert buckets.take("b") == 0


def test_whoever_asks_too_much_is_told_how_long_to_wait(buckets: Buckets) -> None:
    for _ in range(3):
        buckets.check("a")

    with pytest.raises(TooMany) as refused:
        buckets.check("a")

    assert refused.value.headers() == {"retry-after": "1"}


def test_no_rate_is_no_limit() -> None:
    buckets = Buckets(rate=0, burst=1)

    assert [buckets.take("a") for _ in range(100)] == [0] * 100


def test_whoever_was_quiet_longest_is_forgotten_first(buckets: Buckets) -> None:
    for _ in range(3):
        buckets.take("loud")
    for number in range(10_000):
        buckets.take(f"caller {number}")

    assert buckets.take("loud") == 0


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        (Claimant("w1", "c"), "worker:w1"),
        (Person("ann", Role.VIEWER), "user:ann"),
        (Anyone("w1"), "address 10.0.0.1"),
    ],
)
def test_a_caller_without_a_name_pays_by_address(caller: throttle.Caller, expected: str) -> None:
    assert throttle.payer(caller, "10.0.0.1") == expected
