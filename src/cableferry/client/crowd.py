"""Many files at once: a few threads, and the first trouble ends them all."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# so many wait for a thread at most: a list of a million files is not a million promises
AHEAD = 64


def each(work: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """What the work gave for each item, in no order; what had begun is finished before trouble is raised."""
    results: list[R] = []
    with ThreadPoolExecutor(threads) as pool:
        waiting: set[Future[R]] = set()
        try:
            for item in items:
                waiting.add(pool.submit(work, item))
                if len(waiting) >= AHEAD:
                    waiting = _collect(waiting, results)
            while waiting:
                waiting = _collect(waiting, results)
        finally:
            for future in waiting:
                future.cancel()
    return results


def _collect(waiting: set[Future[R]], results: list[R]) -> set[Future[R]]:
    """Take in what is done, waiting for at least one."""
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    results.extend(future.result() for future in done)
    return waiting - done
