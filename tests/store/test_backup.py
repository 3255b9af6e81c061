"""A backup is whole, private and never in the way."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cableferry.store import check
from cableferry.store.backup import backup
from cableferry.store.failures import BackupFailed
from cableferry.store.tx import Store
from cableferry.testing import postgres, stores
from cableferry.testing.postgres import Cluster
from tests.store import rows


def test_a_backup_opens_and_holds_what_was_there(sqlite_url: str, tmp_path: Path) -> None:
    with stores.opened(sqlite_url) as store:
        store.write(lambda tx: rows.add(tx, "a", "b"))
        backup(sqlite_url, tmp_path / "copy.db")

    with stores.opened(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert rows.subjects(copy) == ["a", "b"]
        assert check.check(copy).problems == []


def test_a_backup_is_one_instant_while_others_write(sqlite_url: str, tmp_path: Path) -> None:
    is_over = threading.Event()

    def write_pairs(store: Store) -> None:
        n = 0
        while not is_over.is_set():
            store.write(lambda tx, n=n: rows.add(tx, f"{n}-left", f"{n}-right"))  # type: ignore[misc]  # n is bound
            n += 1

    with stores.opened(sqlite_url) as store, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_pairs, store)
        for n in range(5):
            backup(sqlite_url, tmp_path / f"copy-{n}.db")
        is_over.set()
        writing.result(20)

    for n in range(5):
        with stores.opened(f"sqlite:///{tmp_path}/copy-{n}.db") as copy:
            sides = [subject.partition("-")[2] for subject in rows.subjects(copy)]
            assert sides.count("left") == sides.count("right")


def test_nobody_else_can_read_a_backup(sqlite_url: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with stores.opened(sqlite_url):
            backup(sqlite_url, tmp_path / "copy.db")
    finally:
        os.umask(before)

    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_a_backup_replaces_nothing(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")

    with stores.opened(sqlite_url), pytest.raises(BackupFailed, match="there already"):
        backup(sqlite_url, tmp_path / "copy.db")

    assert (tmp_path / "copy.db").read_text() == "precious"


def test_a_backup_replaces_no_file_that_came_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "copy.dump"
    dump = tmp_path / "pg_dump"
    dump.write_text(f"#!/bin/sh\necho precious >{target}\n")
    dump.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    with pytest.raises(BackupFailed, match="no backup was made"):
        backup("postgresql:///x", target)

    assert target.read_text() == "precious\n"


def test_a_backup_that_fails_leaves_nothing_behind(sqlite_url: str, tmp_path: Path) -> None:
    with stores.opened(sqlite_url), pytest.raises(BackupFailed, match="no backup was made"):
        backup(sqlite_url, tmp_path / "nowhere" / "copy.db")

    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


@pytest.mark.postgres
def test_a_dump_of_postgres_restores(
    postgres_cluster: Cluster, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = postgres.programs()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with stores.opened(postgres_url) as store:
        store.write(lambda tx: rows.add(tx, "a"))
        backup(postgres_url, tmp_path / "copy.dump")

    with stores.database(postgres_cluster, "template0") as restored:
        subprocess.run([f"{programs}/pg_restore", "-d", restored, tmp_path / "copy.dump"], check=True)
        with stores.opened(restored) as copy:
            assert rows.subjects(copy) == ["a"]
    assert (tmp_path / "copy.dump").stat().st_mode & 0o777 == 0o600


def test_without_pg_dump_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BackupFailed, match="pg_dump is not on this machine"):
        backup("postgresql:///x", tmp_path / "copy.dump")

    assert shutil.which("pg_dump") is None
    assert list(tmp_path.iterdir()) == []
