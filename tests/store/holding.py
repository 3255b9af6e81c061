"""A transaction that is held open, and whether another one waits for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg

from cableferry.store.tx import Store, Tx

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
PATIENCE = 2000


class Holding:
    """A transaction that did its work and stays open until it is let go."""

    def __init__(self, store: Store, pool: ThreadPoolExecutor, work: Callable[[Tx], object]) -> None:
        self._has_worked = threading.Event()
        self._may_end = threading.Event()
        self.outcome: Future[object] = pool.submit(store.write, self._working(work))
        assert self._has_worked.wait(20)

    def _working(self, work: Callable[[Tx], object]) -> Callable[[Tx], object]:
        def held(tx: Tx) -> object:
            done = work(tx)
            self._has_worked.set()
            assert self._may_end.wait(20)
            return done

        return held

    def let_go(self) -> object:
        self._may_end.set()
        return self.outcome.result(20)


def waits(url: str, other: "Future[object]") -> bool:
    """Whether the other transaction waits for a lock, looked at until it does or has ended."""
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(PATIENCE):
            if other.done():
                return False
            if connection.execute(WAITING).fetchone() != (0,):
                return True
    raise AssertionError("the other transaction neither waits nor ends")
