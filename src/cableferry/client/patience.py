"""How often and how long to ask again."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

RETRIED = frozenset({423, 429, 502, 503, 504})


class Patience(msgspec.Struct, frozen=True):
    """Bounds for the tries of one call."""

    tries: int = 6
    least_seconds: float = 0.2
    most_seconds: float = 20.0


ONCE = Patience(tries=1)


def pauses(patience: Patience) -> Iterator[float]:
    """The pauses between tries: decorrelated jitter, so that many callers do not come back at once."""
    pause = patience.least_seconds
    for _ in range(patience.tries - 1):
        # chance spreads callers here, it guards nothing
        pause = min(patience.most_seconds, random.uniform(patience.least_seconds, pause * 3))  # noqa: S311 # no secret
        yield pause


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds of a Retry-After header, which holds a number or a date."""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), 86400))
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
