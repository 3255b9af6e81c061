"""Brief work keeps the word of every write, and the event loop that runs it keeps running."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import apsw
import pytest

from cableferry.core.errors import Conflict
from cableferry.store import connect, sqlite
from cableferry.store.failures import Unavailable
from cableferry.store.sqlite import SqliteStore
from cableferry.store.tx import News, Store, Tx, statement
from cableferry.testing import stores
from tests.store import rows

_LIMIT_PAGES = statement("pages_limited", sqlite="PRAGMA max_page_count = 1", postgres="SELECT 1")
_BIG = "x" * 100_000


def _briefly(store: Store, work: Callable[[Tx], Any], guard: Callable[[Tx], None] | None = None) -> Any:
    return asyncio.run(store.awrite_briefly(work, guard))


def _adding(subject: str) -> Callable[[Tx], None]:
    return lambda tx: rows.add(tx, subject)


def _refuse(tx: Tx) -> None:
    rows.add(tx, "undone")
    tx.announce(News("undone"))
    raise Conflict("no")


def _commits(store: SqliteStore) -> list[int]:
    sizes: list[int] = []
    store.on_commit(lambda size, seconds: sizes.append(size))
    return sizes


def test_a_refusal_undoes_the_work_and_keeps_what_the_guard_wrote(store: Store) -> None:
    with pytest.raises(Conflict):
        _briefly(store, _refuse, guard=_adding("guard"))

    assert rows.subjects(store) == ["guard"]


def test_a_guard_that_refuses_is_undone_and_keeps_the_work_from_running(store: Store) -> None:
    with pytest.raises(Conflict):
        _briefly(store, _adding("work"), guard=_refuse)

    assert rows.subjects(store) == []


def test_a_failure_harms_nobody_who_arrived_with_it(store: Store) -> None:
    async def story() -> list[object]:
        works = [_adding("a"), _refuse, _adding("b"), lambda tx: rows.add(tx, "c", "c")]
        return await asyncio.gather(*map(store.awrite_briefly, works), return_exceptions=True)

    outcomes = asyncio.run(story())

    assert rows.subjects(store) == ["a", "b"]
    assert [True, False, True, False] == [outcome is None for outcome in outcomes]


def test_news_is_told_when_it_is_durable_and_never_when_it_is_undone(store: Store) -> None:
    told: list[str] = []
    is_told = threading.Event()

    def listen(news: Iterable[News]) -> None:
        told.extend(each.topic for each in news)
        is_told.set()

    store.on_news(listen)

    def work(tx: Tx) -> None:
        rows.add(tx, "a")
        tx.announce(News("done"))

    async def story() -> None:
        await asyncio.gather(store.awrite_briefly(work), store.awrite_briefly(_refuse), return_exceptions=True)

    asyncio.run(story())

    assert is_told.wait(20)
    assert told == ["done"]


def test_a_closed_store_says_so(url: str) -> None:
    with stores.opened(url) as store:
        pass

    with pytest.raises(Unavailable):
        _briefly(store, _adding("late"))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_arrives_together_shares_a_commit(store: SqliteStore) -> None:
    sizes = _commits(store)

    async def story() -> None:
        await asyncio.gather(*(store.awrite_briefly(_adding(f"{n:03}")) for n in range(100)))

    asyncio.run(story())

    assert (sum(sizes), len(rows.subjects(store))) == (100, 100)
    assert len(sizes) < 10


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_loop_goes_on_while_another_process_holds_the_database(sqlite_url: str, store: SqliteStore) -> None:
    other = apsw.Connection(str(connect.path_of(sqlite_url)))
    other.execute("BEGIN IMMEDIATE")
    stuck: list[str] = []
    alarm = threading.Timer(sqlite.BUSY_MILLISECONDS / 2000, stuck.append, ["the loop"])

    async def story() -> bool:
        alarm.start()
        writing = asyncio.ensure_future(store.awrite_briefly(_adding("a")))
        for _ in range(20):
            await asyncio.sleep(0)
        alarm.cancel()
        has_waited = not writing.done()
        await asyncio.to_thread(other.execute, "ROLLBACK")
        await writing
        return has_waited

    assert asyncio.run(story())
    assert (stuck, rows.subjects(store)) == ([], ["a"])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_brief_work_waits_beside_long_work_and_not_before_it(store: SqliteStore) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def long(tx: Tx) -> None:
        rows.add(tx, "long")
        has_begun.set()
        may_end.wait(20)

    async def story() -> bool:
        slow = asyncio.ensure_future(store.awrite(long))
        await asyncio.to_thread(has_begun.wait, 20)
        quick = asyncio.ensure_future(store.awrite_briefly(_adding("quick")))
        for _ in range(20):
            await asyncio.sleep(0)
        has_waited = not quick.done()
        may_end.set()
        await asyncio.gather(slow, quick)
        return has_waited

    assert asyncio.run(story())
    assert rows.subjects(store) == ["long", "quick"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_endless_stream_of_brief_work_does_not_keep_the_thread_out(store: SqliteStore) -> None:
    async def stream(name: str, is_over: asyncio.Event) -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            subject = f"{name}-{number}"
            await store.awrite_briefly(_adding(subject))

    async def story() -> None:
        is_over = asyncio.Event()
        streams = [asyncio.ensure_future(stream(name, is_over)) for name in "abcd"]
        for number in range(20):
            subject = f"thread-{number}"
            await asyncio.wait_for(store.awrite(_adding(subject)), 20)
        is_over.set()
        await asyncio.gather(*streams)

    asyncio.run(story())

    assert len([subject for subject in rows.subjects(store) if subject.startswith("thread")]) == 20


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_second_loop_beside_the_first_writes_too(store: SqliteStore) -> None:
    async def beside() -> None:
        await store.awrite_briefly(_adding("first"))
        await asyncio.to_thread(_briefly, store, _adding("second"))

    asyncio.run(beside())

    assert rows.subjects(store) == ["first", "second"]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_full_disk_fails_the_whole_batch_and_frees_the_turn(store: SqliteStore) -> None:
    async def story() -> list[object]:
        works = [_adding("a"), _adding(_BIG), _adding("b")]
        return await asyncio.gather(*map(store.awrite_briefly, works), return_exceptions=True)

    store.commits.connection.execute(_LIMIT_PAGES.sqlite)
    outcomes = asyncio.run(story())
    store.commits.connection.execute("PRAGMA max_page_count = 1000000")
    _briefly(store, _adding("after"))

    assert any(isinstance(outcome, Exception) for outcome in outcomes)
    kept = [name for name, outcome in zip("a?b", outcomes, strict=True) if outcome is None]
    assert sorted([*kept, "after"]) == rows.subjects(store)


def test_closing_answers_everybody_who_waits(sqlite_url: str) -> None:
    connect.upgrade_database(sqlite_url)
    store = connect.open_store(sqlite_url)

    async def story() -> list[object]:
        writes: list[Coroutine[Any, Any, None]] = [store.awrite_briefly(_adding(str(n))) for n in range(3)]
        waiting = [asyncio.ensure_future(write) for write in writes]
        await asyncio.sleep(0)
        store.close()
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes = asyncio.run(story())

    reader = sqlite.connect_to_read(connect.path_of(sqlite_url))
    there = [subject for subject, _ in reader.execute(rows.ALL.sqlite)]
    assert [outcome is None or isinstance(outcome, Unavailable) for outcome in outcomes] == [True] * 3
    assert there == [str(n) for n, outcome in enumerate(outcomes) if outcome is None]
