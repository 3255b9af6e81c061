"""Units of work on their way to a database thread, and their outcomes on the way back."""

import asyncio
import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from cableferry.store.failures import Unavailable
from cableferry.store.tx import News, Tx

T = TypeVar("T")

CLOSED = "the store is closed"


class Unit(msgspec.Struct):
    """One caller's transaction, who waits for it since when by the monotonic clock, and how it ended."""

    work: Callable[[Tx], Any]
    guard: Callable[[Tx], None] | None
    waiter: "asyncio.Future[Any] | concurrent.futures.Future[Any]"
    loop: asyncio.AbstractEventLoop | None
    since: float
    value: Any = None
    error: BaseException | None = None
    news: Sequence[News] = ()


class Desk:
    """Where callers hand in units and database threads fetch them, first come, first served."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Unit | None] = SimpleQueue()
        self.is_closed = False

    def __len__(self) -> int:
        return self._queue.qsize()

    async def hand_in(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        """Wait for the outcome on the running event loop, without a thread for the call."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        self._put(Unit(work, guard, waiter, loop, time.monotonic()))
        return await waiter

    def hand_in_and_block(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        waiter: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._put(Unit(work, guard, waiter, None, time.monotonic()))
        return waiter.result()

    def _put(self, unit: Unit) -> None:
        if self.is_closed:
            raise Unavailable(CLOSED)
        self._queue.put(unit)

    def pass_on(self, unit: Unit) -> None:
        """Put a unit that somebody waits for already into the line; at a closed desk it is answered so."""
        if self.is_closed:
            unit.error = Unavailable(CLOSED)
            settle((unit,))
        else:
            self._queue.put(unit)

    def next(self) -> Unit | None:
        """The next unit, waiting for it; None asks the thread to end."""
        return self._queue.get()

    def close(self, threads: int) -> None:
        """Take in no more; the threads finish what was handed in and end."""
        self.is_closed = True
        for _ in range(threads):
            self._queue.put(None)

    def shut(self) -> None:
        """Take in no more and answer whoever still waits: there is no thread to serve them."""
        self.is_closed = True
        while not self._queue.empty():
            if (unit := self._queue.get()) is not None:
                unit.error = Unavailable(CLOSED)
                settle((unit,))


def settle(units: Iterable[Unit]) -> None:
    """Wake every waiter, with one call into each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Unit]] = {}
    for unit in units:
        if unit.loop is None:
            _answer(unit)
        else:
            by_loop.setdefault(unit.loop, []).append(unit)
    for loop, waiting in by_loop.items():
        # a loop that has ended took everyone who waited there with it
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(answer_all, waiting)


def answer_all(units: list[Unit]) -> None:
    for unit in units:
        _answer(unit)


def _answer(unit: Unit) -> None:
    if unit.waiter.done():
        return  # the caller has gone away; what was committed stays
    if unit.error is None:
        unit.waiter.set_result(unit.value)
    else:
        unit.waiter.set_exception(unit.error)
        unit.error = None  # breaks the circle from the traceback back to this unit
