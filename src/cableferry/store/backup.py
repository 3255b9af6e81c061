"""Copies a database that is in use to one file that nobody else can read."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw

from cableferry.store import connect, sqlite
from cableferry.store.failures import BackupFailed


def backup(url: str, path: Path) -> None:
    """Write a new file: the whole database at one instant, and on disk when this returns."""
    if path.exists():
        raise BackupFailed(f"{path} is there already: name a new file")
    with _arriving(path) as unfinished:
        if connect.kind_of(url) == "sqlite":
            _copy_sqlite(connect.path_of(url), unfinished)
        else:
            _dump_postgres(url, unfinished)


@contextlib.contextmanager
def _arriving(path: Path) -> Iterator[Path]:
    """A file beside the final one, which gets its name when it is whole."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        unfinished.chmod(0o600)
        yield unfinished
        _sync(unfinished)
        os.link(unfinished, path)  # unlike a rename it never replaces a file
        sqlite.sync_folder(path.parent)
    except OSError as error:
        raise BackupFailed(f"no backup was made: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _copy_sqlite(source: Path, target: Path) -> None:
    try:
        reading = sqlite.connect_to_read(source)
        writing = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with writing.backup("main", reading, "main") as copy:
                copy.step(-1)  # all pages at once: a smaller step would begin again at each commit of the writer
            # the copy is one file, also when it is opened from a read-only place
            writing.execute("PRAGMA journal_mode = DELETE")
        finally:
            writing.close()
            reading.close()
    except apsw.Error as error:
        raise BackupFailed(f"no backup was made: {error}") from error


def _dump_postgres(url: str, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise BackupFailed("pg_dump is not on this machine: install PostgreSQL's client programs")
    with target.open("wb") as output:
        finished = subprocess.run(
            [program, "--format=custom"],
            stdout=output,
            stderr=subprocess.PIPE,
            env={**os.environ, **_environment(url)},
        )
    if finished.returncode:
        raise BackupFailed(f"pg_dump failed: {finished.stderr.decode(errors='replace').strip()}")


def _environment(url: str) -> dict[str, str]:
    """The url in the words of libpq: on a command line every user of the machine could read the password."""
    environment: dict[str, str] = connect.driver("postgres").environment(url)
    return environment


def _sync(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())
