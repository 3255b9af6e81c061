"""The writer of a SQLite database: every unit that has arrived shares one commit."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

import apsw
import structlog

from cableferry import failpoints
from cableferry.store import units
from cableferry.store.failures import Unavailable
from cableferry.store.tx import News, Params, Row, Statement
from cableferry.store.units import Desk, Unit

T = TypeVar("T")

log = structlog.get_logger()

MOST_UNITS = 512
LONGEST_SECONDS = 0.010


class BatchTx:
    """One unit's view of the open batch; its savepoint opens with its first write."""

    __slots__ = ("_changes", "_execute", "_has_savepoint", "_news", "now")

    def __init__(self, connection: apsw.Connection) -> None:
        self._execute = connection.cursor().execute
        self._changes = connection.changes
        self._has_savepoint = False
        self._news: list[News] = []
        self.now: datetime

    def all(self, what: Statement, params: Params = ()) -> list[Row]:
        sql = what.sqlite
        # anything but a plain SELECT may write (RETURNING, WITH)
        if sql[0] != "S" and not self._has_savepoint:
            self._open_savepoint()
        return self._execute(sql, params).fetchall()

    def one(self, what: Statement, params: Params = ()) -> Row | None:
        rows = self.all(what, params)
        return rows[0] if rows else None

    def run(self, what: Statement, params: Params = ()) -> int:
        if not self._has_savepoint:
            self._open_savepoint()
        self._execute(what.sqlite, params)
        return self._changes()

    def run_many(self, what: Statement, rows: Sequence[Params]) -> int:
        return sum(self.run(what, row) for row in rows)

    def announce(self, news: News) -> None:
        self._news.append(news)

    def perform(self, unit: Unit, now: datetime) -> None:
        """Run one unit; what fails of it is undone alone, and a guard that has passed stays."""
        self.now = now
        try:
            if unit.guard is not None:
                self._apart(unit.guard)
            unit.value = self._apart(unit.work)
            unit.news = self._news
        except BaseException as error:  # the caller's thread gets it, whatever it is
            unit.error = error

    def _apart(self, part: Callable[["BatchTx"], T]) -> T:
        self._news = []
        try:
            value = part(self)
        except BaseException:
            self._leave_savepoint("ROLLBACK TO unit; RELEASE unit")
            raise
        self._leave_savepoint("RELEASE unit")
        return value

    def _open_savepoint(self) -> None:
        self._execute("SAVEPOINT unit")
        self._has_savepoint = True

    def _leave_savepoint(self, sql: str) -> None:
        if self._has_savepoint:
            self._has_savepoint = False
            self._execute(sql)


class GroupCommit:
    """The writer's thread and its connection, from start to close."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], datetime]) -> None:
        self.desk = Desk()
        self.listeners: list[Callable[[Sequence[News]], None]] = []
        self.on_commit: Callable[[int, float], None] | None = None
        self._execute = connection.cursor().execute
        # whose turn it is to use the connection: this thread's, or brief work's
        self.turn = threading.Lock()
        self.tx = BatchTx(connection)
        self.connection = connection
        self.clock = clock
        self._is_closing = False
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.desk.close(1)
        self._thread.join()
        self.desk.shut()
        with self.turn:
            self.connection.close()

    def is_this_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _serve(self) -> None:
        try:
            while not self._is_closing and (first := self.desk.next()) is not None:
                self._commit_together(first)
        finally:
            self.desk.shut()

    def _commit_together(self, first: Unit) -> None:
        batch = [first]
        with self.turn:
            seconds = self._commit(batch)
        units.settle(batch)
        if seconds is not None:
            self.publish(batch, seconds)

    def _commit(self, batch: list[Unit]) -> float | None:
        """Run a batch and return the seconds of its commit, None when all of it was undone."""
        try:
            self._execute("BEGIN IMMEDIATE")
            self._fill(batch)
            started = time.perf_counter()
            with failpoints.crossing("commit"):
                self._execute("COMMIT")
            return time.perf_counter() - started
        except apsw.Error as error:
            self.undo(batch, error)
            return None

    def _fill(self, batch: list[Unit]) -> None:
        """Run what has arrived and what arrives meanwhile, until the batch is big or old enough."""
        unit, until = batch[0], time.perf_counter() + LONGEST_SECONDS
        while True:
            self.perform(unit)
            is_full = len(batch) >= MOST_UNITS or time.perf_counter() > until
            if is_full or not len(self.desk):
                return
            arrived = self.desk.next()
            if arrived is None:
                self._is_closing = True
                return
            batch.append(unit := arrived)

    def perform(self, unit: Unit) -> None:
        self.tx.perform(unit, self.clock())
        # a full disk makes SQLite undo the whole transaction, not only the statement
        if not self.connection.in_transaction:
            raise apsw.AbortError("the disk is full or failing, so SQLite undid the whole transaction")

    def undo(self, batch: Sequence[Unit], error: apsw.Error) -> None:
        """Nothing of a batch came to be; every caller is to hear so."""
        log.error("batch undone", units=len(batch), error=str(error))
        for unit in batch:
            unit.error = Unavailable(f"the database could not commit, nothing was changed: {error}")
        with contextlib.suppress(apsw.Error):
            if self.connection.in_transaction:
                self._execute("ROLLBACK")

    def publish(self, batch: Sequence[Unit], seconds: float) -> None:
        if self.on_commit is not None:
            self.on_commit(len(batch), seconds)
        news = [item for unit in batch for item in unit.news]
        if news:
            tell(self.listeners, news)


def tell(listeners: Sequence[Callable[[Sequence[News]], None]], news: Sequence[News]) -> None:
    """Hand committed news to every listener; a listener that fails takes nobody with it."""
    for listener in listeners:
        try:
            listener(news)
        except Exception:
            log.exception("listener failed", news=len(news))
