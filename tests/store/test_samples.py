"""Samples of how many jobs there were are kept once a minute, on both databases."""

from datetime import UTC, datetime, timedelta

from cableferry.core.jobs import State
from cableferry.store import samples
from cableferry.store.samples import Sample
from cableferry.store.tx import Store, Tx
from tests.store import town

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class At:
    """A transaction of another moment."""

    def __init__(self, tx: Tx, now: datetime) -> None:
        self.now = now
        self.run, self.run_many, self.all, self.one = tx.run, tx.run_many, tx.all, tx.one


def _add(store: Store, seconds: int, jobs: int, pool: str = "emx2") -> None:
    now = START + timedelta(seconds=seconds)
    store.write(lambda tx: samples.add(At(tx, now), pool, {State.READY: jobs, State.FAILED: 1}))


def _since(store: Store, seconds: int, step: timedelta = samples.STEP) -> list[tuple[int, int]]:
    start = START + timedelta(seconds=seconds)
    found: list[Sample] = store.read(lambda tx: samples.since(tx, "emx2", start, step))
    return [(int((each.at - START).total_seconds()), each.jobs) for each in found if each.state is State.READY]


def test_the_first_sample_of_a_minute_counts(store: Store) -> None:
    for seconds, jobs in ((5, 1), (59, 2), (60, 3), (119, 4)):
        _add(store, seconds, jobs)
    _add(store, 0, 9, "other")

    assert [(0, 1), (60, 3)] == _since(store, 0)


def test_samples_are_told_from_a_moment_on_and_at_full_steps(store: Store) -> None:
    for minute in range(10):
        _add(store, minute * 60, minute)

    assert [(minute * 60, minute) for minute in range(3, 10)] == _since(store, 121)
    assert [(0, 0), (300, 5)] == _since(store, 0, timedelta(minutes=5))


def test_old_samples_are_forgotten(store: Store) -> None:
    for minute in range(4):
        _add(store, minute * 60, minute)

    assert 4 == store.write(lambda tx: samples.forget(tx, "emx2", START + timedelta(minutes=2)))
    assert [(120, 2), (180, 3)] == _since(store, 0)


def test_traffic_of_one_minute_is_one_sum_and_steps_are_summed(store: Store) -> None:
    for seconds, received, sent in ((5, 1, 10), (59, 2, 20), (60, 4, 40), (400, 8, 80)):
        now = START + timedelta(seconds=seconds)
        store.write(lambda tx, now=now, r=received, s=sent: samples.count_traffic(At(tx, now), r, s))

    def told(step: timedelta) -> list[tuple[int, int, int]]:
        found = store.read(lambda tx: samples.traffic(tx, START, step))
        return [(int((each.at - START).total_seconds()), each.received, each.sent) for each in found]

    assert [(0, 3, 30), (60, 4, 40), (360, 8, 80)] == told(samples.STEP)
    assert [(0, 7, 70), (300, 8, 80)] == told(timedelta(minutes=5))
    assert 1 == store.write(lambda tx: samples.forget_traffic(tx, START + timedelta(seconds=60)))


def test_what_is_kept_is_summed(store: Store) -> None:
    nothing = store.read(samples.kept)
    built = town.build(store)
    kept = store.read(samples.kept)

    assert (0, 0, 0, 0) == (nothing.artifacts, nothing.artifact_bytes, nothing.blobs, nothing.blob_bytes)
    assert (len(built.artifacts), sum(each.size_bytes or 0 for each in built.artifacts)) == (
        kept.artifacts,
        kept.artifact_bytes,
    )
    assert 0 < nothing.database_bytes <= kept.database_bytes
