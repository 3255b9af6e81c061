"""A store in one SQLite file: one writer with group commit, a few readers beside it."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import apsw

from cableferry.store.brief import Brief
from cableferry.store.checkpoints import Checkpoints
from cableferry.store.failures import Unavailable
from cableferry.store.group_commit import GroupCommit
from cableferry.store.readers import Glance, Readers
from cableferry.store.tx import News, Tx

T = TypeVar("T")

BUSY_MILLISECONDS = 10_000


class SqliteStore:
    """The file's connections and threads, from open to close."""

    def __init__(self, path: Path, clock: Callable[[], datetime], readers: int) -> None:
        writing = connect(path)
        self._checkpoints = Checkpoints(connect(path))
        writing.set_wal_hook(self._checkpoints.after_commit)
        self.commits = GroupCommit(writing, clock)
        self._brief = Brief(self.commits, BUSY_MILLISECONDS)
        self._glance = Glance(connect_to_read(path), clock)
        self._readers = Readers([connect_to_read(path) for _ in range(readers)], clock)

    def write(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        if self.commits.is_this_thread():
            raise RuntimeError("a write inside a write would wait for itself")
        return self.commits.desk.hand_in_and_block(work, guard)

    async def awrite(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        return await self.commits.desk.hand_in(work, guard)

    async def awrite_briefly(self, work: Callable[[Tx], T], guard: Callable[[Tx], None] | None = None) -> T:
        return await self._brief.hand_in(work, guard)

    def read(self, work: Callable[[Tx], T]) -> T:
        return self._readers.desk.hand_in_and_block(work)

    async def aread(self, work: Callable[[Tx], T]) -> T:
        return await self._readers.desk.hand_in(work)

    async def aread_briefly(self, work: Callable[[Tx], T]) -> T:
        try:
            return self._glance.look(work)
        except apsw.BusyError:
            return await self.aread(work)

    def on_news(self, listener: Callable[[Iterable[News]], None]) -> None:
        self.commits.listeners.append(listener)

    def on_commit(self, listener: Callable[[int, float], None]) -> None:
        """Call `listener` after each commit with how many units shared it and its seconds."""
        self.commits.on_commit = listener

    def waiting(self) -> int:
        """How many writes wait for the writer."""
        return len(self.commits.desk)

    def close(self) -> None:
        self.commits.desk.is_closed = True
        self._brief.close()
        self.commits.close()
        self._readers.close()
        self._glance.close()
        self._checkpoints.close()


def connect(path: Path) -> apsw.Connection:
    """A connection on which a commit is on disk before it returns."""
    connection = _open(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.wal_autocheckpoint(0)
    return connection


def connect_to_read(path: Path) -> apsw.Connection:
    connection = _open(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _open(path: Path) -> apsw.Connection:
    if not path.exists():
        raise Unavailable(f"there is no database at {path}: `cableferry db upgrade` makes one")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=256)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("PRAGMA cache_size = -32768")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA mmap_size = 268435456")
    except apsw.Error as error:
        raise Unavailable(f"the database {path} does not open: {error}") from error
    return connection


def create(path: Path) -> None:
    """Make the file and its folder so that nobody else on the machine can read them."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A new name in a folder is on disk only when the folder is."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
