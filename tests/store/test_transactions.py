"""What holds for every transaction on either database."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest

from cableferry.core.errors import Conflict
from cableferry.store.failures import Unavailable
from cableferry.store.tx import News, Store, Tx
from cableferry.testing import stores
from tests.store import rows


class Broken(Exception):
    """Something that no refusal foresees."""


def _refuse(tx: Tx) -> None:
    rows.add(tx, "work")
    raise Conflict("no")


def _break(tx: Tx) -> None:
    rows.add(tx, "broken")
    tx.announce(News("job", "broken"))
    raise Broken


def test_a_refusal_undoes_the_work_and_keeps_what_the_guard_wrote(store: Store) -> None:
    with pytest.raises(Conflict):
        store.write(_refuse, guard=lambda tx: rows.add(tx, "guard"))

    assert rows.subjects(store) == ["guard"]


def test_a_bug_undoes_the_work_and_keeps_what_the_guard_wrote(store: Store) -> None:
    with pytest.raises(Broken):
        store.write(_break, guard=lambda tx: rows.add(tx, "guard"))

    assert rows.subjects(store) == ["guard"]


def test_a_guard_that_refuses_is_undone_and_keeps_the_work_from_running(store: Store) -> None:
    has_run = []

    with pytest.raises(Conflict):
        store.write(lambda tx: has_run.append(tx), guard=_refuse)

    assert (rows.subjects(store), has_run) == ([], [])


def test_a_statement_that_fails_undoes_its_own_unit(store: Store) -> None:
    store.write(lambda tx: rows.add(tx, "a"))

    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        store.write(lambda tx: rows.add(tx, "b", "a"), guard=lambda tx: rows.add(tx, "guard"))

    assert rows.subjects(store) == ["a", "guard"]


def test_a_failure_harms_nobody_who_arrived_with_it(store: Store) -> None:
    async def together() -> list[BaseException | None]:
        writes = (store.awrite(_break if n % 3 == 0 else _adding(f"{n:02}")) for n in range(30))
        return await asyncio.gather(*writes, return_exceptions=True)

    outcomes = asyncio.run(together())

    assert [type(outcome) for outcome in outcomes] == [Broken if n % 3 == 0 else type(None) for n in range(30)]
    assert rows.subjects(store) == [f"{n:02}" for n in range(30) if n % 3]


def _adding(subject: str) -> Callable[[Tx], None]:
    return lambda tx: rows.add(tx, subject)


def test_what_a_write_returns_is_in_every_later_read(store: Store) -> None:
    async def write_and_read() -> list[str]:
        await store.awrite(lambda tx: rows.add(tx, "a"))
        return [subject for subject, _ in await store.aread(lambda tx: tx.all(rows.ALL))]

    assert asyncio.run(write_and_read()) == ["a"]


def test_a_brief_read_sees_what_was_written_and_writes_nothing(store: Store) -> None:
    async def write_and_read() -> list[str]:
        await store.awrite(lambda tx: rows.add(tx, "a"))
        with pytest.raises(Exception, match=r"write|read-only|read only"):
            await store.aread_briefly(lambda tx: rows.add(tx, "b"))
        return [subject for subject, _ in await store.aread_briefly(lambda tx: tx.all(rows.ALL))]

    assert asyncio.run(write_and_read()) == ["a"]


def test_a_closed_store_answers_no_brief_read(store: Store) -> None:
    store.close()

    with pytest.raises(Unavailable):
        asyncio.run(store.aread_briefly(lambda tx: tx.all(rows.ALL)))


def test_concurrent_writers_lose_nothing(store: Store) -> None:
    store.write(lambda tx: rows.add(tx, "a"))

    with ThreadPoolExecutor(8) as pool:
        for _ in range(200):
            pool.submit(store.write, lambda tx: tx.run(rows.BUMP, ("a",)))

    assert store.read(lambda tx: tx.one(rows.ONE, ("a",))) == ("a", 200)


def test_a_read_does_not_wait_for_a_long_write(store: Store) -> None:
    has_read = threading.Event()

    def slow(tx: Tx) -> bool:
        rows.add(tx, "slow")
        return has_read.wait(20)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store.write, slow)
        seen = rows.subjects(store)
        has_read.set()

    assert (seen, writing.result()) == ([], True)


def test_a_read_sees_one_snapshot(store: Store) -> None:
    def look_twice(tx: Tx) -> tuple[int, int]:
        before = len(tx.all(rows.ALL))
        store.write(lambda other: rows.add(other, "meanwhile"))
        return before, len(tx.all(rows.ALL))

    assert store.read(look_twice) == (0, 0)
    assert rows.subjects(store) == ["meanwhile"]


def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises((TypeError, psycopg.errors.ReadOnlySqlTransaction)):
        store.read(lambda tx: rows.add(tx, "a"))


def test_news_is_told_when_it_is_durable_and_never_when_it_is_undone(store: Store) -> None:
    told: list[tuple[list[News], list[str]]] = []
    is_told = threading.Event()

    def listen(news: object) -> None:
        told.append((list(news), rows.subjects(store)))  # type: ignore[call-overload]  # any iterable
        is_told.set()

    def work(tx: Tx) -> None:
        rows.add(tx, "a")
        tx.announce(News("job", "a"))

    store.on_news(listen)
    with pytest.raises(Broken):
        store.write(_break)
    store.write(work)

    assert is_told.wait(20)
    assert told == [([News("job", "a")], ["a"])]


def test_a_listener_that_fails_takes_nobody_with_it(store: Store) -> None:
    is_told = threading.Event()

    def fail(news: object) -> None:
        raise Broken

    store.on_news(fail)
    store.on_news(lambda news: is_told.set())
    store.write(lambda tx: tx.announce(News("job", "a")))

    assert is_told.wait(20)
    assert store.write(lambda tx: 7) == 7


def test_run_says_how_many_rows_it_touched(store: Store) -> None:
    def work(tx: Tx) -> tuple[int, ...]:
        many = tx.run_many(rows.ADD_MANY, [("a", 1), ("b", 2), ("c", 3)])
        return many, tx.run_many(rows.ADD_MANY, []), tx.run(rows.BUMP, ("a",)), tx.run(rows.BUMP, ("x",))

    assert store.write(work) == (3, 0, 1, 0)
    assert store.read(lambda tx: tx.all(rows.ALL)) == [("a", 2), ("b", 2), ("c", 3)]


def test_everything_in_a_transaction_happens_at_one_instant(url: str) -> None:
    instant = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    seen = []

    with stores.opened(url, lambda: instant) as store:
        store.write(lambda tx: seen.append(tx.now), guard=lambda tx: seen.append(tx.now))
        store.read(lambda tx: seen.append(tx.now))

    assert seen == [instant] * 3


def test_a_caller_who_goes_away_breaks_nothing(store: Store) -> None:
    may_go_on = threading.Event()

    def slow(tx: Tx) -> None:
        may_go_on.wait(20)
        rows.add(tx, "a")

    async def go_away() -> None:
        leaving = asyncio.ensure_future(store.awrite(slow))
        await asyncio.sleep(0)
        leaving.cancel()
        may_go_on.set()
        await store.awrite(lambda tx: rows.add(tx, "b"))

    asyncio.run(go_away())

    assert rows.subjects(store)[-1] == "b"


def test_a_closed_store_says_so(url: str) -> None:
    with stores.opened(url) as store:
        pass

    with pytest.raises(Unavailable, match="closed"):
        store.write(lambda tx: None)


def test_closing_finishes_what_was_handed_in(url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        with stores.opened(url) as store:
            has_arrived = threading.Barrier(9)

            def write(subject: str) -> None:
                has_arrived.wait(20)
                try:
                    store.write(_adding(subject))
                except Unavailable:
                    return
                done.append(subject)

            done: list[str] = []
            pending = [pool.submit(write, str(n)) for n in range(8)]
            has_arrived.wait(20)
        for each in pending:
            each.result(20)

    with stores.opened(url) as again:
        assert rows.subjects(again) == sorted(done)
