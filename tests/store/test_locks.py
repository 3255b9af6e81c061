"""Two transactions at once on PostgreSQL: which one waits, which one passes by, and what it sees then."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from msgspec.structs import replace

from cableferry.core.access import Anyone
from cableferry.core.artifacts import Artifact, Description
from cableferry.core.artifacts import Draft as ArtifactDraft
from cableferry.core.buckets import Bucket, Key
from cableferry.core.errors import Kind, Refusal
from cableferry.core.jobs import Draft, Job, State
from cableferry.core.logs import Chunk
from cableferry.core.uploads import Draft as UploadDraft
from cableferry.core.uploads import Part, Upload
from cableferry.core.workers import Registration, Worker
from cableferry.engine import artifacts, files, logs, objects, sweeps, uploads
from cableferry.engine import workers as registering
from cableferry.engine.logs import Said
from cableferry.store import jobs, lanes, nonces, pulse, workers
from cableferry.store import uploads as upload_rows
from cableferry.store.blobs import Stored
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store, Tx, statement
from tests.core.specimens import a_session, a_worker, seconds
from tests.engine.world import RULES
from tests.store.holding import Holding, waits

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def added(store: Store, id: str = "j1", **changed: object) -> Job:
    def work(tx: Tx) -> Job:
        job = jobs.add(tx, id, "emx2", Draft("embed", "gpu"))
        after = replace(job, revision=2, **changed)
        jobs.save(tx, [(job, after)])
        return after

    return store.write(work)


def moved(tx: Tx, job: Job) -> Job:
    after = replace(job, state=State.CLAIMED, revision=job.revision + 1)
    assert 1 == jobs.save(tx, [(job, after)])
    return after


LOCKS = [
    ("one", lambda tx: jobs.lock(tx, "j1")),
    ("many", lambda tx: jobs.lock_many(tx, ["j1"])["j1"]),
]


@pytest.mark.parametrize("lock", [lock for _, lock in LOCKS], ids=[name for name, _ in LOCKS])
def test_a_locked_job_is_waited_for_and_seen_as_it_became(
    store: Store, url: str, threads: ThreadPoolExecutor, lock: Callable[[Tx], Job]
) -> None:
    added(store)
    first = Holding(store, threads, lambda tx: moved(tx, lock(tx)))
    second = threads.submit(store.write, lock)

    assert waits(url, second)
    after = first.let_go()
    assert after == second.result(20)


def test_a_locked_worker_is_waited_for_so_that_its_free_slots_are_counted_once(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    store.write(lambda tx: workers.put(tx, a_worker("w1")))
    first = Holding(store, threads, lambda tx: workers.lock(tx, "w1"))
    second = threads.submit(store.write, lambda tx: workers.lock(tx, "w1"))

    assert waits(url, second)
    first.let_go()
    assert a_worker("w1") == second.result(20)


def test_of_two_daemons_that_make_one_worker_known_the_second_sees_the_first(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    def register(boot: str) -> Callable[[Tx], Worker]:
        said = Registration("w1", session=a_session(boot))
        return lambda tx: registering.register(tx, RULES, said)

    first = Holding(store, threads, register("boot-0001"))
    second = threads.submit(store.write, register("boot-0002"))

    assert waits(url, second)
    first.let_go()
    assert Kind.SESSION_CONFLICT is second.exception(20).kind


@pytest.mark.parametrize("profile", ["gpu", None])
def test_a_claim_passes_by_the_jobs_that_another_claim_has_in_hand(
    store: Store, threads: ThreadPoolExecutor, profile: str | None
) -> None:
    keys = [store.write(lambda tx, n=n: jobs.add(tx, n, "emx2", Draft("embed", profile))).key for n in ("j1", "j2")]

    def head(tx: Tx) -> list[int]:
        return [row[0] for row in lanes.lane_head_locked(tx, "emx2", ("embed", profile), 1)]

    first = Holding(store, threads, head)
    second = threads.submit(store.write, head)

    assert [keys[1]] == second.result(20)
    assert [keys[0]] == first.let_go()


def test_a_sweep_passes_by_the_jobs_that_another_sweep_has_in_hand(store: Store, threads: ThreadPoolExecutor) -> None:
    now = store.read(lambda tx: tx.now)
    for name, ago in (("j1", 20), ("j2", 10)):
        added(store, name, state=State.RUNNING, due_at=now - seconds(ago))

    def look(tx: Tx) -> list[str]:
        return [job.id for job in jobs.overdue(tx, "emx2", 1)]

    first = Holding(store, threads, look)
    second = threads.submit(store.write, look)

    assert ["j2"] == second.result(20)
    assert ["j1"] == first.let_go()


def test_a_batch_of_logs_locks_its_jobs_in_the_order_of_everybody(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    for name in ("j1", "j2"):
        added(store, name, state=State.RUNNING, worker="w1", epoch=1)
    backwards = [Said(name, "w1", None, "stdout", Chunk(0, b"x")) for name in ("j2", "j1")]
    first = Holding(store, threads, lambda tx: jobs.lock(tx, "j1"))
    second = threads.submit(store.write, lambda tx: logs.append_many(tx, RULES, backwards, 100))

    assert waits(url, second)
    # it waits for the first of the two, and holds the other not yet
    assert "j2" == threads.submit(store.write, lambda tx: jobs.lock(tx, "j2")).result(20).id
    first.let_go()
    assert 2 == len(second.result(20))


def test_two_servers_that_start_at_once_forgive_the_same_silence_once(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    store.write(lambda tx: _beat_at(tx, timedelta(hours=-1)))
    first = Holding(store, threads, lambda tx: sweeps.beat(tx, seconds(60)))
    second = threads.submit(store.write, lambda tx: sweeps.beat(tx, seconds(60)))

    assert waits(url, second)
    assert timedelta(hours=1) <= first.let_go()
    assert timedelta(0) == second.result(20)


def _beat_at(tx: Tx, ago: timedelta) -> None:
    tx.now += ago
    pulse.beat(tx)


def test_two_sweeps_that_fold_at_once_count_each_change_once(store: Store, threads: ThreadPoolExecutor) -> None:
    for number in range(3):
        added(store, f"j{number}")
    first = Holding(store, threads, pulse.fold_tallies)
    added(store, "j9")
    second = threads.submit(store.write, pulse.fold_tallies)
    first.let_go()
    second.result(20)

    assert [4] == [tally.jobs for tally in store.read(lambda tx: lanes.tallies(tx, "emx2"))]


def test_one_of_two_requests_with_one_nonce_is_let_through(store: Store, url: str, threads: ThreadPoolExecutor) -> None:
    def spend(tx: Tx) -> bool:
        return nonces.spend(tx, "c1", "n1", tx.now)

    first = Holding(store, threads, spend)
    second = threads.submit(store.write, spend)

    assert waits(url, second)
    assert [True, False] == [first.let_go(), second.result(20)]


def begun(store: Store) -> tuple[Artifact, Upload]:
    artifact = store.write(lambda tx: artifacts.create(tx, ArtifactDraft()))
    draft = UploadDraft(Description("x"))
    return artifact, store.write(lambda tx: uploads.create(tx, artifact.id, draft, Anyone(), seconds(60)))


def append(tx: Tx, upload: Upload, place: str) -> int:
    return uploads.append(tx, upload.id, 0, Stored(place, "aa", 1), Anyone()).received


def test_of_two_writers_at_one_offset_the_second_is_refused(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    _, upload = begun(store)
    first = Holding(store, threads, lambda tx: append(tx, upload, "p1"))
    second = threads.submit(store.write, lambda tx: append(tx, upload, "p2"))

    assert waits(url, second)
    assert 1 == first.let_go()
    with pytest.raises(Refusal) as refused:
        second.result(20)
    assert refused.value.kind is Kind.MISMATCHING_OFFSET


def test_a_commit_overlooks_no_part_that_comes_meanwhile(store: Store, url: str, threads: ThreadPoolExecutor) -> None:
    artifact, upload = begun(store)

    def put(tx: Tx) -> None:
        upload_rows.lock(tx, upload.id)
        upload_rows.put_part(tx, upload, Part(1, "p1", 1, "aa", tx.now))

    first = Holding(store, threads, put)
    second = threads.submit(store.write, lambda tx: upload_rows.bury_of_artifact(tx, artifact.key))

    assert waits(url, second)
    first.let_go()
    second.result(20)
    assert [("p1",)] == store.read(lambda tx: tx.all(statement("dead", "SELECT place FROM dead_places")))


def test_bytes_that_are_collected_while_they_are_copied_are_not_copied(
    store: Store, url: str, threads: ThreadPoolExecutor
) -> None:
    source, target = (store.write(lambda tx: artifacts.create(tx, ArtifactDraft())).id for _ in range(2))
    blob = Blob("aa", 1, (Piece("p1", 1),))
    store.write(lambda tx: files.attach(tx, source, Description("x"), blob, Anyone()))

    def copy(tx: Tx) -> object:
        return objects.copy(tx, (Bucket.ARTIFACTS, Key(source, "x")), Key(target, "y"), None, Anyone())

    first = Holding(store, threads, lambda tx: artifacts.lock(tx, target))
    second = threads.submit(store.write, copy)
    assert waits(url, second)
    store.write(lambda tx: files.remove(tx, source, "x", Anyone()))
    store.write(lambda tx: tx.run(statement("collected", "DELETE FROM blobs")))
    first.let_go()

    with pytest.raises(Refusal) as refused:
        second.result(20)
    assert refused.value.kind is Kind.CHANGED_MEANWHILE
