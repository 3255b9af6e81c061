"""What a worker must not forget when it dies: the jobs it holds and what it has not yet told."""

import contextlib
import errno
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from cableferry import failpoints


class Unwritable(OSError):
    """The disk did not take a change, and nothing of it is there; reading goes on."""


class Named(Protocol):
    """Whatever is held goes by an id."""

    @property
    def id(self) -> str: ...


H = TypeVar("H", bound=Named)
R = TypeVar("R")


class Entry(msgspec.Struct, Generic[R], frozen=True):
    """A report that has not been taken yet."""

    number: int
    job: str
    report: R


_UNWRITABLE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_TABLES = """
create table if not exists held (id text primary key, body blob not null) without rowid, strict;
create table if not exists outbox (
  number integer primary key autoincrement, job text not null, body blob not null) strict;
create table if not exists attempts (job text primary key, number integer not null) without rowid, strict;
create table if not exists made (name text not null, role text not null, artifact text not null,
  primary key (name, role)) without rowid, strict;
create table if not exists facts (name text primary key, value text not null) without rowid, strict;
"""


class Journal(Generic[H, R]):
    """A file on this machine's own disk; every change is on it before the method returns.

    What is held and what is reported is of one type each.
    """

    def __init__(self, path: Path, held: type[H], report: type[R]) -> None:
        self._held = msgspec.json.Decoder(held)
        self._report = msgspec.json.Decoder(report)
        # made by one thread and used by another, one at a time
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(_TABLES)

    def close(self) -> None:
        self._db.close()

    def held(self) -> list[H]:
        rows = self._db.execute("select body from held order by id")
        return [self._held.decode(body) for (body,) in rows]

    def note(self, held: H, reports: Iterable[R] = ()) -> None:
        """Remember where a job is, together with what is to be told about it."""
        self.note_all([(held, reports)])

    def note_all(self, changes: Iterable[tuple[H, Iterable[R]]]) -> None:
        """The same of many, all or nothing: one wait for the disk, whatever their number."""
        with self._writing("note"):
            for held, reports in changes:
                self._db.execute("insert or replace into held values (?, ?)", (held.id, msgspec.json.encode(held)))
                self._db.executemany(
                    "insert into outbox (job, body) values (?, ?)",
                    [(held.id, msgspec.json.encode(report)) for report in reports],
                )

    def outbox(self, most: int = 500) -> list[Entry[R]]:
        """What is to be told, in the order in which it happened."""
        rows = self._db.execute("select number, job, body from outbox order by number limit ?", (most,))
        return [Entry(number, job, self._report.decode(body)) for number, job, body in rows]

    def untold(self) -> frozenset[str]:
        """The jobs about which something is still to be told."""
        return frozenset(job for (job,) in self._db.execute("select distinct job from outbox"))

    def waiting(self) -> int:
        """How much is still to be told."""
        (count,) = self._db.execute("select count(*) from outbox").fetchone()
        return int(count)

    def told(self, numbers: Collection[int]) -> None:
        if not numbers:
            return
        with self._writing("told"):
            self._db.executemany("delete from outbox where number = ?", [(number,) for number in numbers])

    def forget(self, *ids: str) -> None:
        with self._writing("forget"):
            for id_ in ids:
                self._db.execute("delete from held where id = ?", (id_,))
                # zero comes behind the slash: all of this job's, and no other's
                self._db.execute("delete from made where name > ? and name < ?", (f"{id_}/", f"{id_}0"))
                self._db.execute("delete from outbox where job = ?", (id_,))

    def fact(self, name: str, first: str) -> str:
        """A value that is what it was when it was first asked for."""
        with self._writing("fact"):
            self._db.execute("insert or ignore into facts values (?, ?)", (name, first))
        (value,) = self._db.execute("select value from facts where name = ?", (name,)).fetchone()
        return str(value)

    def next_attempt(self, job: str) -> int:
        """The number of an attempt, for servers that do not number them."""
        with self._writing("attempt"):
            self._db.execute(
                "insert into attempts values (?, 1) on conflict (job) do update set number = number + 1", (job,)
            )
        return self.last_attempt(job)

    def last_attempt(self, job: str) -> int:
        row = self._db.execute("select number from attempts where job = ?", (job,)).fetchone()
        return 1 if row is None else int(row[0])

    @contextlib.contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """One change, on the disk when the block has ended."""
        with failpoints.crossing("journal", what), _told(), self._db:
            self._db.execute("begin immediate")
            yield


def waiting_in(path: Path) -> int | None:
    """How many reports wait in a journal that somebody else may have open; None if it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            (count,) = db.execute("select count(*) from outbox").fetchone()
    except sqlite3.Error:
        return None
    return int(count)


class Made:
    """Which artifacts were made for which job, noted by whoever makes them, in a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self, name: str, role: str) -> str | None:
        with contextlib.closing(self._opened()) as db:
            row = db.execute("select artifact from made where name = ? and role = ?", (name, role)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, role: str, artifact: str) -> None:
        with failpoints.crossing("journal", "made"), _told(), contextlib.closing(self._opened()) as db:
            db.execute("insert or replace into made values (?, ?, ?)", (name, role, artifact))

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=30)
        db.execute("pragma synchronous = full")
        return db


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the database says of a full or failing disk, as any other file would say it."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE:
            raise
        raise Unwritable(errno.ENOSPC, f"the journal cannot be written: {error}") from error
