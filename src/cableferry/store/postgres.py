"""A store in PostgreSQL: a few threads with a connection each, and news between processes as a hint."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import psycopg
import structlog
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from cableferry import failpoints
from cableferry.store import group_commit, units
from cableferry.store.failures import Unavailable, Unknown
from cableferry.store.notify import Hints
from cableferry.store.tx import News, Params, Row, Statement, Tx
from cableferry.store.units import Desk, Unit

T = TypeVar("T")

log = structlog.get_logger()

GIVE_UP_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.5
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN"

# the database undid the transaction and asks for it again
_AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
# those, a broken connection, or a database that cannot go on
_GONE = (psycopg.OperationalError, psycopg.InterfaceError)


class PostgresTx:
    """One unit's transaction on one connection."""

    __slots__ = ("_execute", "has_written", "news", "now")

    def __init__(self, connection: psycopg.Connection, now: datetime) -> None:
        self._execute = connection.cursor().execute
        self.now = now
        self.has_written = False
        self.news: list[News] = []

    def all(self, what: Statement, params: Params = ()) -> list[Row]:
        self.has_written |= what.postgres[0] != "S"
        return self._execute(what.postgres, params).fetchall()

    def one(self, what: Statement, params: Params = ()) -> Row | None:
        self.has_written |= what.postgres[0] != "S"
        return self._execute(what.postgres, params).fetchone()

    def run(self, what: Statement, params: Params = ()) -> int:
        self.has_written = True
        return self._execute(what.postgres, params).rowcount

    def run_many(self, what: Statement, rows: Sequence[Params]) -> int:
        if not rows:
            return 0
        return self.run(what, [list(column) for column in zip(*rows, strict=True)])

    def announce(self, news: News) -> None:
        self.news.append(news)


class Session:
    """One thread and its connection, which it opens when it first needs it and again when it breaks."""

    def __init__(self, url: str, desk: Desk, begin: str, clock: Callable[[], datetime]) -> None:
        self._url = url
        self._desk = desk
        self._begin = begin
        self._clock = clock
        self._connection: psycopg.Connection | None = None
        self.after_commit: Callable[[float, Sequence[News]], None] = _nothing
        self._thread = threading.Thread(target=self._serve, name="store-session", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _serve(self) -> None:
        while (unit := self._desk.next()) is not None:
            seconds = self._finish(unit)
            news = unit.news
            units.settle((unit,))
            self.after_commit(seconds, news)
            del unit  # an idle thread keeps no answer alive
        self._disconnect()

    def _finish(self, unit: Unit) -> float:
        try:
            return self._persist(unit)
        except BaseException as error:  # the caller's thread gets it, whatever it is
            unit.error = error
            return 0.0

    def _persist(self, unit: Unit) -> float:
        """Try the whole transaction again while the database says that nothing of it happened.

        The wait for this thread counts: while the database is away, those who wait are soon told so.
        """
        pause, until = FIRST_PAUSE_SECONDS, unit.since + GIVE_UP_SECONDS
        while True:
            try:
                return self._attempt(unit)
            except _GONE as error:
                if not self._may_repeat(error) or time.monotonic() > until or self._desk.is_closed:
                    raise Unavailable(f"the database did not take the transaction: {error}") from error
                log.info("transaction repeated", error=type(error).__name__)
            time.sleep(random.uniform(0, pause))  # noqa: S311 # chance against lockstep, not a secret
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _may_repeat(self, error: psycopg.Error) -> bool:
        """A lock lost to another transaction, or no connection; not a full disk."""
        if self._connection is None:
            return True
        if self._connection.closed:
            self._connection = None
            return True
        return isinstance(error, _AGAIN)

    def _attempt(self, unit: Unit) -> float:
        connection = self._connected()
        tx = PostgresTx(connection, self._clock())
        connection.execute(self._begin)
        try:
            failure = _perform(connection, tx, unit)
            seconds = _commit(connection)
        finally:
            _leave_nothing_open(connection)
        if failure is not None:
            raise failure
        unit.news = tx.news
        return seconds

    def _connected(self) -> psycopg.Connection:
        if self._connection is None:
            self._connection = connect(self._url)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _perform(connection: psycopg.Connection, tx: PostgresTx, unit: Unit) -> Exception | None:
    """Run guard and work; a failure of the work is given back when what the guard wrote is to stay."""
    if unit.guard is not None:
        unit.guard(tx)
        tx.news = []
    if not tx.has_written:
        unit.value = unit.work(tx)
        return None
    connection.execute("SAVEPOINT unit")
    try:
        unit.value = unit.work(tx)
    except _GONE:
        raise
    except Exception as failure:
        connection.execute("ROLLBACK TO unit")
        return failure
    return None


def _commit(connection: psycopg.Connection) -> float:
    started = time.perf_counter()
    try:
        with failpoints.crossing("commit"):
            said = connection.execute("COMMIT").statusmessage
    except _GONE as error:
        if connection.closed:
            raise Unknown(
                "the connection to the database broke during a commit: the change may or may not be there; "
                "look before you repeat it, or repeat it with the same idempotency key"
            ) from error
        raise
    if said != "COMMIT":
        raise psycopg.InternalError("the transaction went on after a statement of it had failed")
    return time.perf_counter() - started


def _leave_nothing_open(connection: psycopg.Connection) -> None:
    if connection.closed or connection.info.transaction_status is TransactionStatus.IDLE:
        return
    try:
        connection.execute("ROLLBACK")
    except _GONE:
        connection.close()


def _nothing(seconds: float, news: Sequence[News]) -> None:
    pass


class PostgresStore:
    """The threads and connections of one process, from open to close; reads have their own."""

    def __init__(self, url: str, clock: Callable[[], datetime], pool_size: int, notify: bool) -> None:
        self._listeners: list[Callable[[Sequence[News]], None]] = []
        self._commit_listener: Callable[[int, float], None] | None = None
        self._writes, self._reads = Desk(), Desk()
        self._writers = [Session(url, self._writes, WRITE, clock) for _ in range(pool_size)]
        self._readers = [Session(url, self._reads, READ, clock) for _ in range(max(2, pool_size // 2))]
        self._hints = Hints(url, self._tell) if notify else None
        for session in self._writers:
            session.after_commit = self._publish
        for session in (*self._writers, *self._readers):
            session.start()

    def write(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        return self._writes.hand_in_and_block(work, guard)

    async def awrite_briefly(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        return await self.awrite(work, guard)

    async def awrite(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        return await self._writes.hand_in(work, guard)

    def read(self, work: Callable[[Tx], T]) -> T:
        return self._reads.hand_in_and_block(work)

    async def aread(self, work: Callable[[Tx], T]) -> T:
        return await self._reads.hand_in(work)

    async def aread_briefly(self, work: Callable[[Tx], T]) -> T:
        return await self.aread(work)

    def on_news(self, listener: Callable[[Iterable[News]], None]) -> None:
        self._listeners.append(listener)

    def on_commit(self, listener: Callable[[int, float], None]) -> None:
        """Call `listener` after each commit with how many units shared it and its seconds."""
        self._commit_listener = listener

    def waiting(self) -> int:
        """How many writes wait for a connection."""
        return len(self._writes)

    def is_listening(self, seconds: float) -> bool:
        """Whether other processes' news arrives here, or does within some seconds."""
        return self._hints is not None and self._hints.wait_until_listening(seconds)

    def close(self) -> None:
        self._writes.close(len(self._writers))
        self._reads.close(len(self._readers))
        for session in (*self._writers, *self._readers):
            session.join()
        self._writes.shut()
        self._reads.shut()
        if self._hints is not None:
            self._hints.close()

    def _publish(self, seconds: float, news: Sequence[News]) -> None:
        if self._commit_listener is not None and seconds:
            self._commit_listener(1, seconds)
        if news:
            self._tell(news)
            if self._hints is not None:
                self._hints.send(news)

    def _tell(self, news: Sequence[News]) -> None:
        group_commit.tell(self._listeners, news)


def connect(url: str) -> psycopg.Connection:
    """A connection that begins and ends its transactions by word, and prepares what it repeats."""
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=1, connect_timeout=10)
    connection.prepared_max = 500
    # one type for every integer, so that a statement is prepared once and not once per magnitude
    connection.adapters.register_dumper(int, Int8Dumper)
    return connection


def environment(url: str) -> dict[str, str]:
    """The url in the variables that PostgreSQL's own programs read."""
    options = psycopg.pq.Conninfo.parse(url.encode())
    return {
        option.envvar.decode(): option.val.decode()
        for option in options
        if option.envvar is not None and option.val is not None
    }
