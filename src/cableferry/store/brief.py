"""Brief units run on the event loop that waits for them; only their commit leaves it.

A unit of some tens of microseconds costs more to hand to a thread and back, and to share the interpreter
with it, than to run. So the loop runs what has arrived, a thread puts it on disk, and meanwhile the loop
reads the next requests: those share the next commit. Whatever could keep the loop goes to the writer's thread.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import apsw

from cableferry import failpoints
from cableferry.store import units
from cableferry.store.failures import Unavailable
from cableferry.store.group_commit import MOST_UNITS, GroupCommit
from cableferry.store.tx import Tx
from cableferry.store.units import CLOSED, Unit

T = TypeVar("T")

LONGEST_SECONDS = 0.005


class Brief:
    """One event loop's way to write; every other loop, and every turn that is not ours, goes the usual way."""

    def __init__(self, commits: GroupCommit, busy_milliseconds: int) -> None:
        self._commits = commits
        self._execute = commits.connection.cursor().execute
        self._busy_milliseconds = busy_milliseconds
        self._committer = ThreadPoolExecutor(1, "store-committer")
        self._waiting: list[Unit] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_under_way = False

    async def hand_in(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None) -> T:
        loop = asyncio.get_running_loop()
        if self._commits.desk.is_closed:
            raise Unavailable(CLOSED)
        if not self._is_at_home(loop):
            return await self._commits.desk.hand_in(work, guard)
        waiter: asyncio.Future[T] = loop.create_future()
        self._waiting.append(Unit(work, guard, waiter, loop, time.monotonic()))
        if not self._is_under_way:
            self._is_under_way = True
            loop.call_soon(self._go)
        return await waiter

    def close(self) -> None:
        """Wait for the commit under way; the writer closes the connection."""
        self._committer.shutdown()

    def _is_at_home(self, loop: asyncio.AbstractEventLoop) -> bool:
        if self._loop is None or self._loop.is_closed():
            self._loop, self._waiting, self._is_under_way = loop, [], False
        return self._loop is loop

    def _go(self) -> None:
        """Run what has arrived, or hand it to the thread that has the turn or waits for it."""
        if self._commits.desk.is_closed or not self._commits.turn.acquire(blocking=False):
            self._pass_on()
        elif not self._begin():
            self._commits.turn.release()
            self._pass_on()
        else:
            self._run()

    def _pass_on(self) -> None:
        passed, self._waiting, self._is_under_way = self._waiting, [], False
        for unit in passed:
            self._commits.desk.pass_on(unit)

    def _begin(self) -> bool:
        """Whether the database is ours to write; another process must not keep the loop waiting."""
        connection = self._commits.connection
        connection.set_busy_timeout(0)
        try:
            self._execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        finally:
            connection.set_busy_timeout(self._busy_milliseconds)
        return True

    def _run(self) -> None:
        batch, until = [], time.perf_counter() + LONGEST_SECONDS
        failure = None
        try:
            for unit in self._waiting[:MOST_UNITS]:
                batch.append(unit)
                self._commits.perform(unit)
                if time.perf_counter() > until:
                    break
        except apsw.Error as error:
            failure = error
        del self._waiting[: len(batch)]
        assert self._loop is not None  # noqa: S101  # set by hand_in
        done = self._loop.run_in_executor(self._committer, self._commit, batch, failure)
        done.add_done_callback(lambda outcome: self._settle(batch, outcome.result()))

    def _commit(self, batch: list[Unit], failure: apsw.Error | None) -> float | None:
        """On its own thread: put the batch on disk and give the turn back."""
        started = time.perf_counter()
        try:
            if failure is not None:
                raise failure
            with failpoints.crossing("commit", "brief"):
                self._execute("COMMIT")
        except apsw.Error as error:
            self._commits.undo(batch, error)
            return None
        finally:
            self._commits.turn.release()
        return time.perf_counter() - started

    def _settle(self, batch: list[Unit], seconds: float | None) -> None:
        units.answer_all(batch)
        if seconds is not None:
            self._commits.publish(batch, seconds)
        if self._waiting:
            self._go()
        else:
            self._is_under_way = False
