"""A few read-only connections of a SQLite database, each on a thread, each read on one snapshot."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NoReturn, TypeVar

import apsw

from cableferry.store import units
from cableferry.store.failures import Unavailable
from cableferry.store.tx import News, Params, Row, Statement, Tx
from cableferry.store.units import CLOSED, Desk, Unit

T = TypeVar("T")


class SnapshotTx:
    """A transaction that can look and not touch."""

    __slots__ = ("_execute", "now")

    def __init__(self, connection: apsw.Connection, now: datetime) -> None:
        self._execute = connection.cursor().execute
        self.now = now

    def all(self, what: Statement, params: Params = ()) -> list[Row]:
        return self._execute(what.sqlite, params).fetchall()

    def one(self, what: Statement, params: Params = ()) -> Row | None:
        rows = self.all(what, params)
        return rows[0] if rows else None

    def run(self, what: Statement, params: Params = ()) -> NoReturn:
        raise TypeError(f"{what.name} writes, and this is a read")

    def run_many(self, what: Statement, rows: Sequence[Params]) -> NoReturn:
        raise TypeError(f"{what.name} writes, and this is a read")

    def announce(self, news: News) -> NoReturn:
        raise TypeError(f"a read has no news, not even {news.topic}")


class Glance:
    """One more connection, for reads that cost less than a thread would; whoever asks runs them."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], datetime]) -> None:
        # whoever would have to wait takes the other way
        connection.set_busy_timeout(0)
        self._connection = connection
        self._clock = clock
        # a server has one event loop; tests have several
        self._lock = threading.Lock()
        self._is_closed = False

    def look(self, work: Callable[[Tx], T]) -> T:
        with self._lock:
            if self._is_closed:
                raise Unavailable(CLOSED)
            self._connection.execute("BEGIN")
            try:
                return work(SnapshotTx(self._connection, self._clock()))
            finally:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._connection.close()


class Readers:
    """The reading threads and their connections, from start to close."""

    def __init__(self, connections: Sequence[apsw.Connection], clock: Callable[[], datetime]) -> None:
        self.desk = Desk()
        self._clock = clock
        self._connections = connections
        self._threads = [
            threading.Thread(target=self._serve, args=(connection,), name="store-reader", daemon=True)
            for connection in connections
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self.desk.close(len(self._threads))
        for thread in self._threads:
            thread.join()
        self.desk.shut()
        for connection in self._connections:
            connection.close()

    def _serve(self, connection: apsw.Connection) -> None:
        while (unit := self.desk.next()) is not None:
            self._look(connection, unit)
            units.settle((unit,))
            del unit  # an idle thread keeps no answer alive

    def _look(self, connection: apsw.Connection, unit: Unit) -> None:
        try:
            connection.execute("BEGIN")
            try:
                unit.value = unit.work(SnapshotTx(connection, self._clock()))
            finally:
                connection.execute("ROLLBACK")
        except BaseException as error:  # the caller's thread gets it, whatever it is
            unit.error = error
