"""Rows of workers: what they said of themselves, when they were heard of, and whose session it is."""

from datetime import UTC, datetime

from msgspec import Raw
from msgspec.structs import replace

from cableferry.core.workers import Offer, Signs
from cableferry.store import workers
from cableferry.store.tx import Store
from tests.core.specimens import NOW, a_session, a_worker, seconds

OFFERS = (Offer("embed", "gpu", 4), Offer("align"), Offer("*", "any", 0))


def test_a_worker_comes_back_as_it_was_put(store: Store) -> None:
    plain = a_worker("w1", *OFFERS)
    kept = a_worker("wörker 2", hostname=None, session=a_session(host=None, pid=None), session_seen_at=NOW)

    store.write(lambda tx: (workers.put(tx, plain), workers.put(tx, kept)))

    found = store.write(lambda tx: [workers.get(tx, "w1"), workers.lock(tx, "wörker 2"), workers.get(tx, "w0")])
    assert [plain, kept, None] == found
    assert [plain, kept] == store.read(lambda tx: workers.of_pool(tx, "emx2"))


def test_a_worker_that_is_put_again_is_replaced_but_for_its_first_time(store: Store) -> None:
    first = a_worker("w1", *OFFERS)
    second = replace(first, offers=(), hostname="head-2", registered_at=NOW + seconds(9), session=a_session())
    second = replace(second, session_seen_at=NOW)

    store.write(lambda tx: (workers.put(tx, first), workers.put(tx, second)))

    assert replace(second, registered_at=NOW) == store.read(lambda tx: workers.get(tx, "w1"))


def test_a_word_of_a_worker_counts_for_the_session_that_said_it(store: Store) -> None:
    worker = a_worker("w1", session=a_session("boot-0001"), session_seen_at=NOW)
    store.write(lambda tx: workers.put(tx, worker))

    counted = [store.write(lambda tx, s=session: workers.seen(tx, "w1", s)) for session in ("boot-0001", "boot-0002")]

    known = store.read(lambda tx: workers.get(tx, "w1"))
    assert [1, 0] == counted
    assert known is not None
    assert NOW < known.seen_at == known.session_seen_at


def test_a_word_without_a_session_leaves_the_session_as_it_was(store: Store) -> None:
    store.write(lambda tx: workers.put(tx, a_worker("w1", session=a_session(), session_seen_at=NOW)))

    store.write(lambda tx: workers.seen(tx, "w1", None))

    known = store.read(lambda tx: workers.get(tx, "w1"))
    assert known is not None
    assert NOW == known.session_seen_at < known.seen_at < datetime(2100, 1, 1, tzinfo=UTC)


def test_what_a_request_told_of_a_worker_stays_but_for_its_trouble(store: Store) -> None:
    told = [
        Signs("field/1.2", seconds(-3), "no squeue"),
        Signs("field/1.3", None, "no sinfo"),
        Signs(None, seconds(2.5), None),
    ]
    store.write(lambda tx: workers.put(tx, a_worker("w1")))

    known = []
    for each in told:
        store.write(lambda tx, signs=each: workers.seen(tx, "w1", None, signs))
        known.append(store.read(lambda tx: workers.get(tx, "w1")))

    assert told[0] == known[0].signs
    assert Signs("field/1.3", seconds(-3), "no sinfo") == known[1].signs
    assert Signs("field/1.3", seconds(2.5), None) == known[2].signs


def test_a_worker_that_registers_again_stays_drained(store: Store) -> None:
    store.write(lambda tx: (workers.put(tx, a_worker("w1")), workers.drain(tx, "emx2", "w1", NOW, "user:mia")))

    store.write(lambda tx: workers.put(tx, a_worker("w1", hostname="head-2")))

    known = store.read(lambda tx: workers.get(tx, "w1"))
    assert ("head-2", NOW, "user:mia") == (known.hostname, known.drained_at, known.drained_by)
    assert [0, 1] == [
        store.write(lambda tx, pool=pool: workers.drain(tx, pool, "w1", None, None)) for pool in ("other", "emx2")
    ]
    assert None is store.read(lambda tx: workers.get(tx, "w1").drained_at)


def test_forgiveness_moves_on_sessions_and_nothing_else(store: Store) -> None:
    kept, plain = a_worker("w1", session=a_session(), session_seen_at=NOW), a_worker("w2")
    store.write(lambda tx: (workers.put(tx, kept), workers.put(tx, plain)))

    store.write(lambda tx: workers.forgive(tx, 7_000_000))

    moved = replace(kept, session_seen_at=NOW + seconds(7))
    assert [moved, plain] == store.read(lambda tx: workers.of_pool(tx, "emx2"))


def test_a_deleted_worker_is_gone(store: Store) -> None:
    store.write(lambda tx: workers.put(tx, a_worker("w1")))

    assert [1, 0] == [store.write(lambda tx: workers.delete(tx, "emx2", "w1")) for _ in range(2)]
    assert None is store.read(lambda tx: workers.get(tx, "w1"))


def test_a_worker_is_heard_of_in_its_own_pool(store: Store) -> None:
    store.write(lambda tx: workers.put(tx, a_worker("w1", info=Raw(b'{"load":1}'))))

    said = [("emx2", None), ("opeva", Raw(b"{}")), ("emx2", Raw(b'{"load":2}'))]
    counted = []
    infos = []
    for pool, info in said:
        counted.append(store.write(lambda tx, pool=pool, info=info: workers.heard(tx, pool, "w1", info, NOW)))
        infos.append(store.read(lambda tx: workers.of_pool(tx, "emx2"))[0].info)

    assert [1, 0, 1] == counted
    assert [Raw(b'{"load":1}'), Raw(b'{"load":1}'), Raw(b'{"load":2}')] == infos


def test_workers_are_overdue_until_nothing_is_expected_of_them(store: Store) -> None:
    for number, due in enumerate((NOW + seconds(2), NOW + seconds(1), datetime(2100, 1, 1, tzinfo=UTC), None)):
        store.write(lambda tx, id=f"w{number}": workers.put(tx, a_worker(id)))
        store.write(lambda tx, id=f"w{number}", due=due: workers.heard(tx, "emx2", id, None, due))

    assert ["w1", "w0"] == store.write(lambda tx: workers.overdue(tx, "emx2", 9))
    assert ["w1"] == store.write(lambda tx: workers.overdue(tx, "emx2", 1))
    assert [] == store.write(lambda tx: workers.overdue(tx, "opeva", 9))

    store.write(lambda tx: workers.expect_nothing(tx, "w1"))
    assert ["w0"] == store.write(lambda tx: workers.overdue(tx, "emx2", 9))


def test_forgiveness_moves_on_when_a_worker_is_expected(store: Store) -> None:
    store.write(lambda tx: workers.put(tx, a_worker("w1")))
    store.write(lambda tx: workers.heard(tx, "emx2", "w1", None, tx.now))
    assert ["w1"] == store.write(lambda tx: workers.overdue(tx, "emx2", 9))

    store.write(lambda tx: workers.forgive(tx, 3_600_000_000))

    assert [] == store.write(lambda tx: workers.overdue(tx, "emx2", 9))
