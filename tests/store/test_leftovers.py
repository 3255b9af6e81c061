"""What nothing refers to is forgotten, and what somebody is about to refer to is not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from cableferry.core.artifacts import Artifact, Description
from cableferry.core.uploads import Draft, Whole
from cableferry.engine import files as bringing
from cableferry.engine import uploads as uploading
from cableferry.store import files, leftovers
from cableferry.store.blobs import Stored
from cableferry.store.failures import Unavailable
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store, Tx, statement
from tests.engine.world import MANAGER
from tests.store.holding import Holding, waits
from tests.store.test_artifacts import add

DEAD = statement("dead", "SELECT place FROM dead_places ORDER BY place")
LOST = statement(
    "files_without_bytes", "SELECT count(*) FROM files f LEFT JOIN blobs b ON b.key = f.blob_key WHERE b.key IS NULL"
)
OLD = Blob("aa", 3, (Piece("old", 3),))
NEW = Blob("aa", 3, (Piece("new", 3),))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def attach(tx: Tx, artifact: Artifact, blob: Blob, path: str = "x") -> None:
    bringing.attach(tx, artifact.id, Description(path), blob, MANAGER)


def loose(store: Store) -> list[int]:
    return list(store.read(lambda tx: leftovers.look_at_blobs(tx, 0, 100)).loose)


def dead(store: Store) -> list[str]:
    return [row[0] for row in store.read(lambda tx: tx.all(DEAD))]


def places(store: Store, blob_key: int) -> list[str]:
    return [piece.place for piece in store.read(lambda tx: files.pieces(tx, blob_key))]


@pytest.fixture
def artifact(store: Store) -> Artifact:
    """It once had the old bytes, and nothing refers to them any more."""
    made = add(store, "a1")
    store.write(lambda tx: attach(tx, made, OLD))
    store.write(lambda tx: bringing.remove(tx, made.id, "x", MANAGER))
    return made


def test_loose_blobs_are_found_page_by_page(store: Store, artifact: Artifact) -> None:
    store.write(lambda tx: attach(tx, artifact, Blob("bb", 5, (Piece("used", 5),))))
    first = store.read(lambda tx: leftovers.look_at_blobs(tx, 0, 1))
    second = store.read(lambda tx: leftovers.look_at_blobs(tx, first.last or 0, 1))

    assert [[3], []] == [list(page.loose.values()) for page in (first, second)]
    assert store.read(lambda tx: leftovers.look_at_blobs(tx, second.last or 0, 1)).last is None


def test_a_forgotten_blob_leaves_its_places_to_be_removed(store: Store, artifact: Artifact) -> None:
    keys = loose(store)

    assert keys == store.write(lambda tx: leftovers.bury_blobs(tx, keys))
    assert (["old"], []) == (dead(store), loose(store))
    store.write(lambda tx: attach(tx, artifact, NEW))
    assert ["old"] == dead(store)


def test_bytes_that_are_uploaded_again_in_time_are_kept(store: Store, artifact: Artifact) -> None:
    keys = loose(store)
    store.write(lambda tx: attach(tx, artifact, NEW))

    assert [] == store.write(lambda tx: leftovers.bury_blobs(tx, keys))
    assert ["new"] == dead(store)
    assert ["old"] == places(store, keys[0])


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["postgres"])
def test_a_collection_passes_by_bytes_that_are_being_taken_up(
    store: Store, artifact: Artifact, threads: ThreadPoolExecutor
) -> None:
    keys = loose(store)
    attaching = Holding(store, threads, lambda tx: attach(tx, artifact, NEW))

    assert [] == store.write(lambda tx: leftovers.bury_blobs(tx, keys))
    attaching.let_go()
    assert ["new"] == dead(store)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["postgres"])
def test_an_upload_waits_for_the_collection_of_the_same_bytes_and_brings_its_own(
    store: Store, artifact: Artifact, threads: ThreadPoolExecutor, url: str
) -> None:
    keys = loose(store)
    collecting = Holding(store, threads, lambda tx: leftovers.bury_blobs(tx, keys))
    attaching = threads.submit(store.write, lambda tx: attach(tx, artifact, NEW))

    assert waits(url, attaching)
    collecting.let_go()
    attaching.result(20)
    assert ["old"] == dead(store)
    assert 0 == store.read(lambda tx: tx.one(LOST))[0]
    assert [] == loose(store)


def test_a_place_that_a_row_knows_is_no_orphan(store: Store, artifact: Artifact) -> None:
    store.write(lambda tx: files.bury(tx, ["given-up"]))

    assert {"lost"} == store.read(lambda tx: leftovers.unknown(tx, ["old", "given-up", "lost"]))
    assert {"lost"} == store.write(lambda tx: leftovers.bury_orphans(tx, ["old", "lost"]))
    assert ["given-up", "lost"] == dead(store)


def test_bytes_that_were_given_up_as_an_orphan_are_refused(store: Store, artifact: Artifact) -> None:
    store.write(lambda tx: leftovers.bury_orphans(tx, ["late"]))

    with pytest.raises(Unavailable, match="late rested for so long"):
        store.write(lambda tx: attach(tx, artifact, Blob("bb", 1, (Piece("late", 1),))))

    assert ["late"] == dead(store)


def test_a_part_that_was_given_up_as_an_orphan_is_refused(store: Store, artifact: Artifact) -> None:
    store.write(lambda tx: leftovers.bury_orphans(tx, ["late"]))

    def work(tx: Tx) -> None:
        upload = uploading.create(tx, artifact.id, Draft(Description("x")), MANAGER, timedelta(hours=1))
        uploading.append(tx, upload.id, 0, Stored("late", "aa", 1), MANAGER)

    with pytest.raises(Unavailable, match="late rested for so long"):
        store.write(work)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["postgres"])
def test_an_orphan_that_is_just_taken_up_is_waited_for(
    store: Store, artifact: Artifact, threads: ThreadPoolExecutor, url: str
) -> None:
    late = Blob("bb", 1, (Piece("late", 1),))
    attaching = Holding(store, threads, lambda tx: attach(tx, artifact, late))
    burying = threads.submit(store.write, lambda tx: leftovers.bury_orphans(tx, ["late"]))

    assert waits(url, burying)
    attaching.let_go()
    assert set() == burying.result(20)
    assert [] == dead(store)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["postgres"])
def test_whoever_takes_up_an_orphan_that_is_just_given_up_is_refused(
    store: Store, artifact: Artifact, threads: ThreadPoolExecutor, url: str
) -> None:
    late = Blob("bb", 1, (Piece("late", 1),))
    burying = Holding(store, threads, lambda tx: leftovers.bury_orphans(tx, ["late"]))
    attaching = threads.submit(store.write, lambda tx: attach(tx, artifact, late))

    assert waits(url, attaching)
    burying.let_go()
    with pytest.raises(Unavailable):
        attaching.result(20)


def test_removed_places_are_forgotten_the_oldest_first(store: Store) -> None:
    store.write(lambda tx: files.bury(tx, ["young"]))
    store.write(lambda tx: leftovers.bury_orphans(tx, ["orphan"]))
    begin, end = (store.read(lambda tx: tx.now).replace(year=year) for year in (1990, 2190))

    assert ["orphan"] == store.read(lambda tx: leftovers.dead(tx, begin, 10))
    assert ["orphan", "young"] == store.read(lambda tx: leftovers.dead(tx, end, 10))
    assert 2 == store.read(leftovers.dead_count)
    store.write(lambda tx: leftovers.forget_places(tx, ["young", "never"], end))
    assert (1, ["orphan"]) == (store.read(leftovers.dead_count), dead(store))


def test_an_orphan_stays_dead_for_a_while_after_it_was_removed(store: Store, artifact: Artifact) -> None:
    """Or a server that was suspended between writing bytes and referring to them would refer to nothing."""
    store.write(lambda tx: leftovers.bury_orphans(tx, ["late"]))
    for _ in range(2):  # two collections at once have both seen it
        store.write(lambda tx: leftovers.forget_places(tx, ["late"], tx.now))
    now = store.read(lambda tx: tx.now)

    with pytest.raises(Unavailable):
        store.write(lambda tx: attach(tx, artifact, Blob("bb", 1, (Piece("late", 1),))))
    assert (0, []) == (store.read(leftovers.dead_count), store.read(lambda tx: leftovers.dead(tx, now, 10)))
    later = now + leftovers.REMEMBERED + timedelta(hours=1)
    assert ["late"] == store.read(lambda tx: leftovers.dead(tx, later, 10))
    store.write(lambda tx: leftovers.forget_places(tx, ["late"], later))
    assert [] == dead(store)


def test_damaged_bytes_are_replaced_by_the_next_upload_of_the_same(store: Store) -> None:
    made = add(store, "a1")
    store.write(lambda tx: attach(tx, made, OLD))
    key = store.write(lambda tx: files.keep_blob(tx, OLD))
    assert [] == dead(store)
    store.write(lambda tx: files.note_damage(tx, key, "another"))
    store.write(lambda tx: attach(tx, made, Blob("aa", 3, (Piece("spare", 3),)), "y"))
    assert ["old"] == places(store, key)

    store.write(lambda tx: files.note_damage(tx, key, "old"))
    store.write(lambda tx: attach(tx, made, NEW, "y"))
    store.write(lambda tx: attach(tx, made, Blob("aa", 3, (Piece("more", 3),)), "z"))

    assert ["new"] == places(store, key)
    assert ["more", "old", "spare"] == dead(store)


def test_who_takes_damaged_bytes_over_without_bringing_any_leaves_them_where_they_are(store: Store) -> None:
    """As a copy does, which knows them by their hash only."""
    key = store.write(lambda tx: files.keep_blob(tx, OLD))
    store.write(lambda tx: files.note_damage(tx, key, "old"))

    assert key == store.write(lambda tx: files.keep_blob(tx, Blob("aa", 3, ())))
    assert (["old"], []) == (places(store, key), dead(store))
    assert key == store.write(lambda tx: files.keep_blob(tx, NEW))
    assert (["new"], ["old"]) == (places(store, key), dead(store))


def test_an_upload_in_parts_mends_damaged_bytes(store: Store) -> None:
    made = add(store, "a1")
    key = store.write(lambda tx: files.keep_blob(tx, OLD))
    store.write(lambda tx: files.note_damage(tx, key, "old"))

    def work(tx: Tx) -> None:
        upload = uploading.create(tx, made.id, Draft(Description("x")), MANAGER, timedelta(hours=1))
        upload = uploading.append(tx, upload.id, 0, Stored("new", "aa", 3), MANAGER)
        uploading.complete(tx, upload.id, Whole(upload.revision, "aa", 3), MANAGER)

    store.write(work)

    assert (["new"], ["old"]) == (places(store, key), dead(store))


def test_bytes_that_are_whole_again_are_kept(store: Store) -> None:
    key = store.write(lambda tx: files.keep_blob(tx, OLD))
    store.write(lambda tx: files.note_damage(tx, key, "old"))
    store.write(lambda tx: files.note_health(tx, key))

    assert key == store.write(lambda tx: files.keep_blob(tx, NEW))
    assert ["old"] == places(store, key)
