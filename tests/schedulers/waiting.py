"""Waits for what other processes do, and no longer than anybody would."""

import select
import time
from collections.abc import Callable

SECONDS = 60


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, condition
        select.select((), (), (), 0.1)
