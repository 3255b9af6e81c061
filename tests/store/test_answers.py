"""An answer is kept with what it tells about, and given again to the same key."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from cableferry.store import answers
from cableferry.store.answers import Kept, Stored
from cableferry.store.tx import Store, Tx
from tests.store import rows

NOW = datetime(2031, 5, 6, tzinfo=UTC)


def _answer(tx: Tx, body: bytes = b"{}", caller: str = "a", at: datetime = NOW) -> Stored | None:
    stored = answers.begin(tx, caller, "key", b"digest", at)
    if stored is None:
        answers.finish(tx, caller, "key", Kept(201, "application/json", '{"etag":"1"}', body))
    return stored


def test_the_first_request_under_a_key_is_new(store: Store) -> None:
    assert store.write(_answer) is None


def test_the_next_one_finds_the_answer_byte_for_byte(store: Store) -> None:
    body = bytes(range(256))
    store.write(lambda tx: _answer(tx, body))

    assert store.write(_answer) == Stored(b"digest", 201, "application/json", '{"etag":"1"}', body)


def test_two_callers_may_choose_the_same_key(store: Store) -> None:
    store.write(_answer)

    assert store.write(lambda tx: _answer(tx, caller="b")) is None


def test_an_answer_is_undone_with_what_it_tells_about(store: Store) -> None:
    def fail(tx: Tx) -> None:
        _answer(tx)
        raise LookupError

    with pytest.raises(LookupError):
        store.write(fail)

    assert store.write(_answer) is None


def test_twins_at_once_do_the_work_once_and_get_one_answer(store: Store) -> None:
    together = threading.Barrier(8)

    def do_once(tx: Tx) -> bytes | None:
        stored = answers.begin(tx, "a", "key", b"digest", NOW)
        if stored is not None:
            return stored.body
        rows.add(tx, "done")
        answers.finish(tx, "a", "key", Kept(200, None, "{}", b"the answer"))
        return b"the answer"

    def ask() -> bytes | None:
        together.wait(20)
        return store.write(do_once)

    with ThreadPoolExecutor(8) as pool:
        given = [asked.result(20) for asked in [pool.submit(ask) for _ in range(8)]]

    assert given == [b"the answer"] * 8
    assert rows.subjects(store) == ["done"]


def test_old_answers_are_forgotten(store: Store) -> None:
    for days, caller in ((9, "a"), (8, "b"), (1, "c")):
        store.write(
            lambda tx, days=days, caller=caller: _answer(tx, caller=caller, at=NOW - timedelta(days))  # type: ignore[misc]  # both are bound
        )

    forgotten = store.write(lambda tx: [answers.purge(tx, NOW - timedelta(days=7), most) for most in (1, 5, 5)])

    assert forgotten == [1, 1, 0]
    assert store.write(lambda tx: _answer(tx, caller="c")) is not None
