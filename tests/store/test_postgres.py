"""What only PostgreSQL can do to a transaction: deadlocks, broken connections, commits without an answer."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from cableferry.core.errors import Conflict
from cableferry.store import postgres
from cableferry.store.failures import Unavailable, Unknown
from cableferry.store.tx import Store, Tx, statement
from cableferry.store.units import Unit
from cableferry.testing import stores
from tests.store import rows

pytestmark = pytest.mark.postgres

_PROCESS = statement("backend", "SELECT pg_backend_pid()")
_BREAK = statement("connection_broken", "SELECT pg_terminate_backend(pg_backend_pid())")
_COUNT = statement("count", "SELECT count(*) FROM throttles")
_WRONG = statement("no_such_table", "SELECT 1 FROM nowhere")
_IS_READY = statement(
    "prepared", "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'UPDATE throttles%'"
)
BREAK_AT_COMMIT = """
CREATE FUNCTION break_connection() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER break_at_commit AFTER INSERT ON throttles DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION break_connection()
"""


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def admin(url: str, store: Store) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def test_a_deadlock_is_tried_again_until_both_have_won(store: Store) -> None:
    store.write(lambda tx: rows.add(tx, "a", "b"))
    both_hold_one = threading.Barrier(2)
    attempts: list[str] = []

    def bump(first: str, second: str) -> None:
        def work(tx: Tx) -> None:
            attempts.append(first)
            tx.run(rows.BUMP, (first,))
            if attempts.count(first) == 1:
                both_hold_one.wait(20)
            tx.run(rows.BUMP, (second,))

        store.write(work, guard=lambda tx: rows.add(tx, f"guard of {first}"))

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(bump, "a", "b"), pool.submit(bump, "b", "a")]:
            future.result(30)

    assert len(attempts) > 2
    assert store.read(lambda tx: tx.all(rows.ALL)) == [
        ("a", 2),
        ("b", 2),
        ("guard of a", 0),
        ("guard of b", 0),
    ]


def test_a_connection_that_broke_before_the_commit_is_replaced(store: Store) -> None:
    attempts: list[int] = []

    def work(tx: Tx) -> None:
        rows.add(tx, "a")
        attempts.append(1)
        if len(attempts) == 1:
            tx.all(_BREAK)

    store.write(work)

    assert (rows.subjects(store), len(attempts)) == (["a"], 2)


def test_a_connection_that_broke_while_nobody_used_it_is_replaced(store: Store, admin: psycopg.Connection) -> None:
    used = {store.write(lambda tx: tx.one(_PROCESS)) for _ in range(20)}
    for row in used:
        assert row is not None
        admin.execute("SELECT pg_terminate_backend(%s)", row)

    for n in range(8):
        store.write(lambda tx, n=n: rows.add(tx, str(n)))  # type: ignore[misc]  # n is bound

    assert len(rows.subjects(store)) == 8


def test_a_commit_without_an_answer_is_not_repeated(store: Store, admin: psycopg.Connection) -> None:
    attempts: list[int] = []
    admin.execute(BREAK_AT_COMMIT)

    def work(tx: Tx) -> None:
        attempts.append(1)
        rows.add(tx, "a")

    with pytest.raises(Unknown, match="may or may not"):
        store.write(work)

    assert len(attempts) == 1


def test_a_failed_statement_that_was_swallowed_is_no_commit(store: Store) -> None:
    def swallow(tx: Tx) -> None:
        rows.add(tx, "a")
        try:
            tx.all(_WRONG)
        except psycopg.Error:
            return

    with pytest.raises(psycopg.InternalError, match="went on"):
        store.write(swallow)

    assert rows.subjects(store) == []


def test_a_session_leaves_no_transaction_open_behind_a_failure(store: Store, admin: psycopg.Connection) -> None:
    def refuse(tx: Tx) -> None:
        rows.add(tx, "a")
        raise Conflict("no")

    with pytest.raises(Conflict):
        store.write(refuse)

    still_open = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'").fetchone()
    assert still_open == (0,)


def test_closing_ends_the_attempts_at_a_transaction_that_never_succeeds(url: str) -> None:
    with stores.opened(url) as store:
        store.write(lambda tx: None)
        with ThreadPoolExecutor(1) as pool:
            has_begun = threading.Event()

            def break_again(tx: Tx) -> None:
                has_begun.set()
                tx.all(_BREAK)

            endless = pool.submit(store.write, break_again)
            has_begun.wait(20)
            started = time.monotonic()
            store.close()
            seconds = time.monotonic() - started

            assert isinstance(endless.exception(20), Unavailable)
            assert seconds < postgres.GIVE_UP_SECONDS / 2


def test_who_has_waited_long_for_a_thread_is_not_kept_waiting_for_the_database_too(store: Store) -> None:
    attempts: list[int] = []

    def break_again(tx: Tx) -> None:
        attempts.append(1)
        tx.all(_BREAK)

    unit = Unit(break_again, None, Future(), None, time.monotonic() - postgres.GIVE_UP_SECONDS)
    store._writes._put(unit)

    with pytest.raises(Unavailable):
        unit.waiter.result(20)
    assert len(attempts) == 1


def test_a_repeated_statement_is_prepared_once_for_integers_of_any_size(store: Store) -> None:
    def work(tx: Tx) -> object:
        for number in (1, 70_000, 5_000_000_000):
            tx.run(rows.BUMP_BY, (number, "a"))
            tx.run(rows.BUMP_BY, (number, "a"))
        return tx.one(_IS_READY)

    assert store.write(work) == (1,)
