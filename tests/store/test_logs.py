"""Logs on both databases: their rows, two appenders at once, and one that is fenced off meanwhile."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from cableferry.core.errors import Kind, Refusal
from cableferry.core.jobs import Draft, Payload, Report, State
from cableferry.core.logs import ROW_BYTES, Chunk
from cableferry.core.workers import Offer, Registration
from cableferry.engine import jobs, logs, workers
from cableferry.engine.logs import Said
from cableferry.store import logs as rows
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store
from tests.engine.world import RULES, a_speaker

MOST = 2**20


def a_running_job(store: Store) -> str:
    store.write(lambda tx: workers.register(tx, RULES, Registration("w1", "head-1", (Offer("embed"),), None)))
    job = store.write(lambda tx: jobs.create(tx, RULES, Draft("embed")))
    store.write(lambda tx: jobs.claim(tx, RULES, job.id, a_speaker()))
    return job.id


def append(store: Store, job: str, start: int, content: bytes, epoch: int | None = None) -> int | Kind:
    """How long the log is then, or why it is not."""
    try:
        said = Said(job, "w1", epoch, "stdout", Chunk(start, content))
        return store.write(lambda tx: logs.append(tx, RULES, said, MOST)).size_bytes
    except Refusal as refusal:
        return refusal.kind


def content(store: Store, job: str) -> bytes:
    window = store.read(lambda tx: logs.read(tx, RULES, job, "stdout"))
    return store.read(lambda tx: logs.bytes_of(tx, window, 0, MOST)).content


def at_once(works: list[Callable[[], object]]) -> list[object]:
    results: list[object] = []
    threads = [threading.Thread(target=lambda work=work: results.append(work())) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_bytes_of_every_kind_come_back(store: Store) -> None:
    job = a_running_job(store)
    everything = bytes(range(256)) * 600

    append(store, job, 0, everything[:7])
    append(store, job, 7, everything[7:])

    assert len(everything) > 2 * ROW_BYTES
    assert everything == content(store, job)


def test_of_two_appenders_at_one_place_one_is_refused(store: Store) -> None:
    job = a_running_job(store)

    for start in range(0, 60, 6):
        results = at_once([partial(append, store, job, start, chunk) for chunk in (b"first ", b"second")])

        assert {start + 6, Kind.LOG_DIFFERS} == set(results)
    assert {b"first ", b"second"} >= {content(store, job)[at : at + 6] for at in range(0, 60, 6)}


def test_the_same_chunk_twice_at_once_is_there_once(store: Store) -> None:
    job = a_running_job(store)

    for start in range(0, 60, 6):
        results = at_once([partial(append, store, job, start, b"same\n\n")] * 3)

        assert [start + 6] * 3 == results
    assert b"same\n\n" * 10 == content(store, job)


def give_back(store: Store, job: str) -> int:
    """The job goes back to the queue, and this is its next attempt."""
    back = Report(job, State.READY, Payload(worker="w1"), "worker:w1")
    return store.write(lambda tx: jobs.give_back(tx, RULES, back)).attempt


def test_an_appender_that_is_fenced_off_meanwhile_is_refused(store: Store) -> None:
    for _ in range(5):
        job = a_running_job(store)

        results = at_once([partial(append, store, job, 0, b"x", 1), partial(give_back, store, job)])

        assert set(results) in ({1, 2}, {2, Kind.STALE_LEASE})
        assert append(store, job, 1, b"y", 1) is Kind.STALE_LEASE


def test_followers_share_one_note_and_the_latest_time_counts(store: Store) -> None:
    job = a_running_job(store)

    at_once([lambda: store.write(lambda tx: logs.watch(tx, RULES, job))] * 3)

    assert [job] == store.read(lambda tx: rows.watched_of(tx, "w1"))
    assert [] == store.read(lambda tx: rows.watched_of(tx, "w2"))


def test_two_servers_that_put_a_log_away_at_once_make_one_artifact(store: Store) -> None:
    job = a_running_job(store)
    append(store, job, 0, b"out")
    report = Report(job, State.FAILED, Payload(worker="w1"), "worker:w1")
    store.write(lambda tx: jobs.report(tx, RULES, report))
    (settled,) = store.read(lambda tx: logs.settled(tx, RULES, timedelta(0)))

    def put_away(place: str) -> str | None:
        stored = [("stdout.log", Blob("ab" * 32, 3, (Piece(place, 3),)))]
        made = store.write(lambda tx: logs.put_away(tx, RULES, settled, stored))
        return None if made is None else made.id

    ids = at_once([partial(put_away, place) for place in ("p1", "p2", "p3")])

    (one,) = [each for each in ids if each is not None]
    assert one == store.read(lambda tx: jobs.get(tx, RULES, job)).log_artifact_id


def test_ended_jobs_with_open_logs_are_found_once(store: Store) -> None:
    job = a_running_job(store)
    append(store, job, 0, b"x")
    assert [] == store.read(lambda tx: rows.settled(tx, "emx2", tx.now, 10))

    report = Report(job, State.FAILED, Payload(worker="w1"), "worker:w1")
    ended = store.write(lambda tx: jobs.report(tx, RULES, report))

    assert [job] == store.read(lambda tx: rows.settled(tx, "emx2", tx.now, 10))
    store.write(lambda tx: rows.seal(tx, ended.key))
    assert [] == store.read(lambda tx: rows.settled(tx, "emx2", tx.now, 10))
    (log,) = store.read(lambda tx: rows.sealed(tx, tx.now, 10))
    assert 1 == store.write(lambda tx: rows.purge(tx, log, 10))
    assert [] == store.read(lambda tx: rows.chunks(tx, log.key, 0, 10))
