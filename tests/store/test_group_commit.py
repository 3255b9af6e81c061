"""One writer, one commit for all that have arrived, on disk before anybody is answered."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cableferry.store import connect, sqlite
from cableferry.store.checkpoints import Checkpoints
from cableferry.store.failures import Unavailable
from cableferry.store.sqlite import SqliteStore
from cableferry.store.tx import News, Store, Tx, statement
from cableferry.testing import stores
from tests.store import rows

_LIMIT_PAGES = statement("pages_limited", sqlite="PRAGMA max_page_count = 1", postgres="SELECT 1")
_FREE_PAGES = statement("pages_freed", sqlite="PRAGMA max_page_count = 1000000", postgres="SELECT 1")
_HAVE_NO_PATIENCE = statement("busy_timeout", sqlite="PRAGMA busy_timeout = 0", postgres="SELECT 1")
_FILL = statement("filled", "INSERT INTO throttles VALUES (?, 0, 0, 0)")

WRITE_UNTIL_KILLED = """
import sys, threading
from cableferry.store import connect
from tests.store import rows

store = connect.open_store(sys.argv[1])
lock = threading.Lock()

def write(name):
    for n in range(10**9):
        subject = f"{name}-{n}"
        store.write(lambda tx: rows.add(tx, subject), guard=lambda tx: rows.add(tx, subject + "-guard"))
        with lock:
            print(subject, flush=True)

for name in "abcdefgh":
    threading.Thread(target=write, args=(name,)).start()
"""


@pytest.fixture
def kind() -> str:
    return "sqlite"


def _blocked(tx: Tx, arrived: threading.Event, may_go_on: threading.Event) -> None:
    arrived.set()
    may_go_on.wait(20)


def test_units_that_have_arrived_share_one_commit(store: SqliteStore) -> None:
    commits: list[int] = []
    has_started, may_go_on = threading.Event(), threading.Event()
    store.on_commit(lambda size, seconds: commits.append(size))

    async def arrive_together() -> None:
        first = asyncio.ensure_future(store.awrite(lambda tx: _blocked(tx, has_started, may_go_on)))
        others = [asyncio.ensure_future(store.awrite(_adding(str(n)))) for n in range(100)]
        await asyncio.sleep(0)
        has_started.wait(20)
        assert store.waiting() == 100
        may_go_on.set()
        await asyncio.gather(first, *others)

    asyncio.run(arrive_together())
    store.write(lambda tx: None)

    assert sum(commits) >= 101
    assert len(commits) <= 4
    assert len(rows.subjects(store)) == 100


def _adding(subject: str) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        rows.add(tx, subject)
        tx.announce(News("job", subject))

    return work


def _fill_the_disk(tx: Tx) -> None:
    for n in range(10_000):
        tx.run(_FILL, (f"{n:0200}",))


def test_a_disk_that_fills_up_fails_the_whole_batch_and_announces_nothing(store: SqliteStore) -> None:
    told: list[News] = []
    store.on_news(told.extend)
    has_started, may_go_on = threading.Event(), threading.Event()

    async def arrive_together() -> list[BaseException | None]:
        units = [
            store.awrite(lambda tx: _blocked(tx, has_started, may_go_on)),
            store.awrite(_adding("before")),
            store.awrite(_fill_the_disk),
            store.awrite(_adding("after")),
        ]
        waiting = [asyncio.ensure_future(unit) for unit in units]
        await asyncio.sleep(0)
        may_go_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    store.write(lambda tx: tx.all(_LIMIT_PAGES))
    _, before, filled, after = asyncio.run(arrive_together())
    store.write(lambda tx: tx.all(_FREE_PAGES))

    # whoever was told of a failure has changed nothing, whoever was not is on disk
    acknowledged = [name for name, outcome in (("after", after), ("before", before)) if outcome is None]
    assert isinstance(filled, Unavailable)
    assert isinstance(before, Unavailable)
    assert rows.subjects(store) == acknowledged
    assert [item.subject for item in told] == acknowledged


def test_a_full_disk_fails_a_unit_and_not_the_writer(store: Store) -> None:
    store.write(lambda tx: tx.all(_LIMIT_PAGES))
    with pytest.raises(Unavailable, match="nothing was changed"):
        store.write(_fill_the_disk)
    store.write(lambda tx: tx.all(_FREE_PAGES))

    store.write(lambda tx: rows.add(tx, "later"))

    assert rows.subjects(store) == ["later"]


def test_another_process_that_holds_the_lock_is_an_answer_and_not_a_hang(sqlite_url: str, store: SqliteStore) -> None:
    store.write(lambda tx: tx.all(_HAVE_NO_PATIENCE))
    other = sqlite.connect(connect.path_of(sqlite_url))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(Unavailable, match=r"locked|busy"):
        store.write(lambda tx: rows.add(tx, "a"))

    other.execute("ROLLBACK")
    other.close()
    store.write(lambda tx: rows.add(tx, "b"))
    assert rows.subjects(store) == ["b"]


def test_a_write_inside_a_write_is_refused_at_once(store: Store) -> None:
    with pytest.raises(RuntimeError, match="inside"):
        store.write(lambda tx: store.write(lambda inner: None))


@pytest.mark.crash
def test_what_was_acknowledged_is_there_after_a_kill(sqlite_url: str) -> None:
    connect.upgrade_database(sqlite_url)
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, sqlite_url], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        acknowledged = {next(writer.stdout).strip() for _ in range(500)}
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged |= {line.strip() for line in writer.stdout if line.endswith("\n")}

    with stores.opened(sqlite_url) as store:
        there = set(rows.subjects(store))

    assert acknowledged - there == set()
    assert {name.removesuffix("-guard") for name in there} == {n for n in there if "guard" not in n}


def test_a_commit_waits_for_the_disk(sqlite_url: str, store: Store) -> None:
    writing = sqlite.connect(connect.path_of(sqlite_url))

    settings = [writing.execute(f"PRAGMA {name}").get for name in ("synchronous", "journal_mode", "foreign_keys")]

    writing.close()
    assert settings == [2, "wal", 1]


def test_nobody_else_on_the_machine_can_read_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/data/cableferry.db"
    before = os.umask(0)
    try:
        with stores.opened(url) as store:
            store.write(lambda tx: rows.add(tx, "a"))
            modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    finally:
        os.umask(before)

    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert modes == dict.fromkeys(("cableferry.db", "cableferry.db-wal", "cableferry.db-shm"), 0o600)


def test_the_log_does_not_grow_for_ever_under_an_endless_load(sqlite_url: str) -> None:
    connect.upgrade_database(sqlite_url)
    path = connect.path_of(sqlite_url)
    checkpoints = Checkpoints(sqlite.connect(path), longest_pages=1_000)
    writing = sqlite.connect(path)
    writing.set_wal_hook(checkpoints.after_commit)

    for n in range(300):
        writing.execute("INSERT INTO throttles VALUES (?, 0, 0, 0)", (f"{n:0>40000}",))
    longest = Path(f"{path}-wal").stat().st_size

    checkpoints.close()
    writing.close()
    assert longest < 1_100 * 4_120 < 300 * 40_000
