"""Rows of uploads and their parts on both databases, as the engine reads and writes them."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from cableferry.core.access import Anyone
from cableferry.core.artifacts import Artifact, Description, Role
from cableferry.core.artifacts import Draft as ArtifactDraft
from cableferry.core.uploads import Draft, Manner, Upload, Whole
from cableferry.engine import artifacts, direct, files, uploads
from cableferry.store import uploads as rows
from cableferry.store.blobs import Stored
from cableferry.store.files import Piece
from cableferry.store.tx import Store, Tx, statement

ME = Anyone()
HOUR = timedelta(hours=1)
SAID = Description("a/\u00fc x", Role.INDEX, "text/plain")
DEAD = statement("dead", "SELECT place FROM dead_places ORDER BY place")


@pytest.fixture
def artifact(store: Store) -> Artifact:
    return store.write(lambda tx: artifacts.create(tx, ArtifactDraft()))


@pytest.fixture
def begin(store: Store, artifact: Artifact) -> Callable[..., Upload]:
    def beginning(said: Description = SAID, lifetime: timedelta = HOUR, **more: object) -> Upload:
        return store.write(lambda tx: uploads.create(tx, artifact.id, Draft(said, **more), ME, lifetime))

    return beginning


def append(store: Store, upload: Upload, offset: int, size: int) -> Upload:
    stored = Stored(f"{upload.id}-{offset}", "aa", size)
    return store.write(lambda tx: uploads.append(tx, upload.id, offset, stored, ME))


def dead(store: Store) -> list[str]:
    return [row[0] for row in store.read(lambda tx: tx.all(DEAD))]


def test_an_upload_is_read_as_it_was_written(store: Store, begin: Callable[..., Upload]) -> None:
    begun = begin(length=2**53, sha256="bb", metadata="path eA==", manner=Manner.PARTS)

    read = store.read(lambda tx: uploads.get(tx, begun.id, ME))

    assert read == begun
    assert (read.said, read.length, read.sha256, read.metadata) == (SAID, 2**53, "bb", "path eA==")
    assert (read.manner, read.created_by, read.lifetime) == (Manner.PARTS, "anyone", HOUR)


def test_parts_become_the_pieces_of_a_file(store: Store, begin: Callable[..., Upload]) -> None:
    upload = begin()
    append(store, upload, 0, 3)
    grown = append(store, upload, 3, 4)
    listed = store.read(lambda tx: uploads.under_way(tx, upload.artifact_id, ME, "a"))
    parts = store.read(lambda tx: uploads.parts(tx, grown))

    file = store.write(lambda tx: uploads.complete(tx, upload.id, Whole(grown.revision, "aa", 7), ME))

    assert (listed, [part.size_bytes for part in parts]) == ([grown], [3, 4])
    found = store.read(lambda tx: files.get(tx, upload.artifact_id, SAID.path))
    assert (found.file, found.pieces) == (file, (Piece(f"{upload.id}-0", 3), Piece(f"{upload.id}-3", 4)))
    assert store.read(lambda tx: uploads.parts(tx, grown)) == []
    assert store.read(lambda tx: uploads.under_way(tx, upload.artifact_id, ME)) == []


def test_what_was_not_chosen_and_what_is_given_up_is_buried(store: Store, begin: Callable[..., Upload]) -> None:
    chosen, given_up = begin(manner=Manner.PARTS), begin(Description("y"))
    for number in (1, 2):
        stored = Stored(f"c{number}", "aa", 1)
        last = store.write(lambda tx, number=number, stored=stored: uploads.put_part(tx, chosen.id, number, stored, ME))
    append(store, given_up, 0, 1)

    store.write(lambda tx: uploads.complete(tx, chosen.id, Whole(last.revision, "aa", 1, [2]), ME))
    store.write(lambda tx: uploads.abort(tx, given_up.id, ME))

    assert sorted(dead(store)) == sorted(["c1", f"{given_up.id}-0"])


def test_only_those_whose_time_is_over_expire(store: Store, begin: Callable[..., Upload]) -> None:
    over, waiting = begin(lifetime=timedelta(microseconds=1)), begin(Description("y"))

    assert store.write(lambda tx: uploads.expire(tx, 10)) == 1
    assert store.read(lambda tx: rows.get(tx, over.id)) is None
    assert store.read(lambda tx: rows.get(tx, waiting.id)) == waiting


def test_uploads_that_are_under_way_go_when_their_artifact_is_over(
    store: Store, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    done, open_ = begin(length=0), begin(Description("y"))
    store.write(lambda tx: uploads.complete(tx, done.id, Whole(done.revision, "aa", 0), ME))
    append(store, open_, 0, 1)

    store.write(lambda tx: rows.bury_of_artifact(tx, artifact.key))

    assert store.read(lambda tx: rows.get(tx, open_.id)) is None
    assert store.read(lambda tx: rows.get(tx, done.id)).completed_at is not None
    assert dead(store) == [f"{open_.id}-0"]


def test_places_that_clients_fill_are_known_from_the_beginning(store: Store, artifact: Artifact) -> None:
    pieces = [Piece("p1", 2), Piece("p2", 1)]

    upload = store.write(lambda tx: direct.begin(tx, artifact.id, Draft(SAID, length=3), ME, (HOUR, pieces)))
    gathered = direct.Gathered(Whole(upload.revision, "aa", 3), (Stored("c1", "bb", 2), Stored("c2", "cc", 1)))
    file = store.write(lambda tx: direct.complete(tx, upload.id, gathered, ME))
    again = store.write(lambda tx: direct.complete(tx, upload.id, direct.Gathered(None), ME))

    assert (file, dead(store)) == (again, ["p1", "p2"])
    assert store.read(lambda tx: files.get(tx, artifact.id, SAID.path)).pieces == (Piece("c1", 2), Piece("c2", 1))


def test_a_change_is_written_only_on_what_was_read(store: Store, begin: Callable[..., Upload]) -> None:
    upload = begin()

    def twice(tx: Tx) -> tuple[int, int]:
        after = _later(upload, tx.now)
        return rows.save(tx, upload, after), rows.save(tx, upload, after)

    assert store.write(twice) == (1, 0)


def _later(upload: Upload, now: datetime) -> Upload:
    return msgspec.structs.replace(upload, revision=upload.revision + 1, touched_at=now)
