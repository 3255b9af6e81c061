"""What is asked of rows before an artifact goes, on both databases."""

from datetime import timedelta

from cableferry.core.artifacts import Description, Draft, Residence, Use
from cableferry.core.retention import Uses
from cableferry.core.uploads import Draft as Beginning
from cableferry.engine import uploads
from cableferry.store import artifacts, files, retention
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store, Tx, statement
from tests.engine.world import MANAGER
from tests.store import rows
from tests.store.test_artifacts import add

JOB_KEY = statement("job_key", "SELECT key FROM jobs WHERE id = ?")
HOUR = timedelta(hours=1)


def use(tx: Tx, job: str, state: str, used_as: Use, artifact: str) -> int:
    rows.add_job(tx, job, state)
    key = int((tx.one(JOB_KEY, (job,)) or (0,))[0])
    artifacts.use(tx, key, used_as, [artifact])
    return key


def test_pages_go_by_age(store: Store) -> None:
    made = [add(store, f"a{number}") for number in range(3)]

    first = store.read(lambda tx: retention.page(tx, 0, 2))
    rest = store.read(lambda tx: retention.page(tx, first[-1].key, 2))

    assert made == [*first, *rest]


def test_jobs_are_counted_by_what_they_make_of_an_artifact(store: Store) -> None:
    made, other = add(store, "a1"), add(store, "a2")

    def work(tx: Tx) -> None:
        use(tx, "j1", "running", Use.INPUT, "a1")
        use(tx, "j2", "failed", Use.INPUT, "a1")
        use(tx, "j3", "succeeded", Use.OUTPUT, "a1")
        use(tx, "j4", "running", Use.LOG, "a1")

    store.write(work)

    uses = store.read(lambda tx: retention.uses(tx, [made.key, other.key]))
    assert {made.key: Uses(takers=1, makers=2, jobs=4), other.key: Uses()} == uses


def test_what_a_deleted_job_used_was_used_until_then(store: Store) -> None:
    made, other = add(store, "a1"), add(store, "a2")

    def work(tx: Tx) -> None:
        retention.release(tx, use(tx, "j1", "failed", Use.INPUT, "a1"))
        tx.run(rows.DELETE_JOB, ("j1",))

    store.write(work)

    uses = store.read(lambda tx: retention.uses(tx, [made.key, other.key]))
    assert (0, 0) == (uses[made.key].jobs, uses[other.key].jobs)
    assert uses[made.key].last_used_at is not None
    assert uses[other.key].last_used_at is None


def test_open_artifacts_that_nothing_comes_to_are_stalled(store: Store) -> None:
    first = add(store, "a1")
    registered = add(store, "a2", residence=Residence.REFERENCE)
    busy = store.write(lambda tx: artifacts.add(tx, "a3", Draft()))
    now = store.read(lambda tx: tx.now)
    later = now + HOUR

    assert [first, busy, registered] == store.read(lambda tx: retention.stalled(tx, later, 10))
    assert [first, registered] == store.read(lambda tx: retention.stalled(tx, later, 1))
    assert [] == store.read(lambda tx: retention.stalled(tx, first.created_at - HOUR, 10))
    store.write(lambda tx: uploads.create(tx, "a3", Beginning(Description("x")), MANAGER, HOUR))
    assert [first, registered] == store.read(lambda tx: retention.stalled(tx, now, 10))


def test_pieces_of_many_blobs_come_at_once(store: Store) -> None:
    def work(tx: Tx) -> tuple[int, int]:
        one = files.keep_blob(tx, Blob("aa", 3, (Piece("p1", 2), Piece("p2", 1))))
        other = files.keep_blob(tx, Blob("bb", 1, (Piece("p3", 1),)))
        files.note_damage(tx, other, "p3")
        return one, other

    one, other = store.write(work)

    found = store.read(lambda tx: files.pieces_of_many(tx, [one, other, 99]))
    assert {one: (Piece("p1", 2), Piece("p2", 1)), other: (Piece("p3", 1),)} == found
    assert {other} == store.read(lambda tx: files.damaged_among(tx, [one, other, 99]))
