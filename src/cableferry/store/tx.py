"""One transaction at one instant, and the statements it runs on either database."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

import msgspec

T = TypeVar("T")
Row = tuple[Any, ...]
Params = Sequence[Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Statement(msgspec.Struct, frozen=True, eq=False):
    """One SQL statement under the name of the question it asks, written for both databases."""

    name: str
    sqlite: str
    postgres: str


def statement(name: str, text: str | None = None, *, sqlite: str = "", postgres: str = "") -> Statement:
    """`text` serves both databases; placeholders are `?` and become psycopg's `%s`."""
    return Statement(name, _one_line(text or sqlite), _one_line(text or postgres).replace("%", "%%").replace("?", "%s"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


class News(msgspec.Struct, frozen=True, gc=False):
    """What is announced after a commit: a topic and what it is about."""

    topic: str
    subject: str = ""
    detail: str = ""


class Tx(Protocol):
    """A transaction as the engine sees it; `now` is the one instant everything in it happens at."""

    now: datetime

    def all(self, what: Statement, params: Params = ()) -> list[Row]: ...

    def one(self, what: Statement, params: Params = ()) -> Row | None: ...

    def run(self, what: Statement, params: Params = ()) -> int:
        """Run a write and return how many rows it touched."""
        ...

    def run_many(self, what: Statement, rows: Sequence[Params]) -> int:
        """Run a write for each row and return how many rows were touched in all.

        On Postgres this is one statement: the rows are turned into one array per column.
        """
        ...

    def announce(self, news: News) -> None:
        """Tell waiters once this transaction is durable."""
        ...


class Store(Protocol):
    """A database: durable writes, reads beside them, and news of what was committed."""

    def write(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        """Run `work` in a transaction of its own and return when it is on disk.

        A refusal undoes `work` alone and is raised again; what `guard` wrote before it stays.
        """
        ...

    async def awrite(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T: ...

    async def awrite_briefly(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        """The same for work of some tens of microseconds, which SQLite then runs on the calling event loop."""
        ...

    def read(self, work: Callable[[Tx], T]) -> T:
        """Run `work` on one snapshot, beside writes and never behind them."""
        ...

    async def aread(self, work: Callable[[Tx], T]) -> T: ...

    async def aread_briefly(self, work: Callable[[Tx], T]) -> T:
        """The same for work of some tens of microseconds, which SQLite then runs on the calling event loop."""
        ...

    def on_news(self, listener: Callable[[Iterable[News]], None]) -> None:
        """Call `listener` after each commit (from any thread) with what it announced."""
        ...

    def on_commit(self, listener: Callable[[int, float], None]) -> None:
        """Call `listener` after each commit with how many transactions shared it and its seconds."""
        ...

    def close(self) -> None: ...


def micros(moment: datetime | None) -> int | None:
    """Microseconds since 1970, as both databases keep every time."""
    return None if moment is None else (moment - EPOCH) // _MICROSECOND


def moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)
