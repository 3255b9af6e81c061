"""Remembers the hashes of files that have not changed since they were read."""

import contextlib
import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

# within so many seconds a clock may not tell a change from the write before it
FRESH_SECONDS = 10
KEPT_SECONDS = 90 * 24 * 3600
_PIECE_BYTES = 1024 * 1024
_TABLE = """
create table if not exists verified (path blob primary key, size integer not null, mtime_ns integer not null,
  ctime_ns integer not null, inode integer not null, sha256 text not null, seen_at integer not null)
  without rowid, strict;
"""

Tick = Callable[[int], object]


class NoFile(OSError):
    """What should be a file is a folder, a pipe or something else."""


class Verified:
    """A table on this machine's own disk; losing it costs only time."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._db = _opened(path)
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
            self._db = _opened(path)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def sha256(self, path: Path, tick: Tick) -> str:
        """The hash of a file, read only if it is not known to be as it was; `tick` is told of the bytes read."""
        # a pipe in a file's place must not hold us up
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return self.of_open(os.fsencode(path), descriptor, tick)
        finally:
            os.close(descriptor)

    def of_open(self, name: bytes, descriptor: int, tick: Tick) -> str:
        """The same of an open file, under the name by which it is remembered."""
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise NoFile(f"{os.fsdecode(name)} is no file")
        known = self._known(name, before)
        if known is not None:
            tick(0)
            return known
        found = hashlib.sha256()
        offset = 0
        while piece := os.pread(descriptor, _PIECE_BYTES, offset):
            found.update(piece)
            offset += len(piece)
            tick(len(piece))
        after = os.fstat(descriptor)
        if _likeness(before) == _likeness(after) and time.time_ns() - after.st_mtime_ns > FRESH_SECONDS * 10**9:
            self._remember(name, after, found.hexdigest())
        return found.hexdigest()

    def _known(self, name: bytes, seen: os.stat_result) -> str | None:
        with self._lock, contextlib.suppress(sqlite3.Error):
            row = self._db.execute(
                "select sha256 from verified"
                " where path = ? and size = ? and mtime_ns = ? and ctime_ns = ? and inode = ?",
                (name, *_likeness(seen)),
            ).fetchone()
            return None if row is None else str(row[0])
        return None

    def _remember(self, name: bytes, seen: os.stat_result, sha256: str) -> None:
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._db.execute(
                "insert or replace into verified values (?, ?, ?, ?, ?, ?, ?)",
                (name, *_likeness(seen), sha256, int(time.time())),
            )


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.executescript(_TABLE)
        db.execute("delete from verified where seen_at < ?", (int(time.time()) - KEPT_SECONDS,))
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _likeness(seen: os.stat_result) -> tuple[int, int, int, int]:
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino
