"""What callers can do with a file on its way, by whatever protocol it comes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cableferry.core import uploads as rules
from cableferry.core.access import Caller, Claimant, Person, Role
from cableferry.core.artifacts import Artifact, Declared, Description, Examined, Outcome, Residence, Stage
from cableferry.core.artifacts import Draft as ArtifactDraft
from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind, NotFound, Refusal
from cableferry.core.paging import Page
from cableferry.core.uploads import Draft, Manner, Upload, Whole
from cableferry.engine import artifacts, files, sweeps, uploads
from cableferry.store.blobs import Stored
from cableferry.store.files import Piece
from cableferry.store.tx import statement
from tests.engine.world import MANAGER, World

OWNER = Claimant("w1", "credential")
STRANGER = Claimant("w2", "credential")
HOUR = timedelta(hours=1)
DEAD = statement("dead", "SELECT place FROM dead_places ORDER BY place")
PIECES = statement("pieces_left", "SELECT place FROM upload_pieces ORDER BY place")


@pytest.fixture
def artifact(world: World) -> Artifact:
    return world.write(artifacts.create, ArtifactDraft(created_by=OWNER.actor))


@pytest.fixture
def begin(world: World, artifact: Artifact) -> Callable[..., Upload]:
    def beginning(path: str = "x", by: Caller = OWNER, into: str = artifact.id, **said: object) -> Upload:
        return world.write(uploads.create, into, Draft(Description(path), **said), by, HOUR)

    return beginning


def append(world: World, upload: Upload, offset: int, size: int, by: Caller = OWNER) -> Upload:
    stored = Stored(f"p{offset}", f"hash-up-to-{offset + size}", size)
    return world.write(uploads.append, upload.id, offset, stored, by)


def put(world: World, upload: Upload, number: int, size: int, place: str = "") -> Upload:
    return world.write(uploads.put_part, upload.id, number, Stored(place or f"p{number}", "aa", size), OWNER)


def complete(world: World, upload: Upload, size: int, numbers: list[int] | None = None, sha256: str = "aa") -> object:
    revision = world.read(uploads.get, upload.id, OWNER).revision
    return world.write(uploads.complete, upload.id, Whole(revision, sha256, size, numbers), OWNER)


def commit(world: World, artifact: Artifact) -> Artifact:
    revision = world.read(artifacts.get, artifact.id).revision
    return world.write(artifacts.commit, artifact.id, OWNER, Declared(), Examined(revision, Outcome()))


def places(world: World, what: object) -> list[str]:
    return [row[0] for row in world.read(lambda tx: tx.all(what))]


def refused(work: Callable[[], object]) -> Kind:
    with pytest.raises(Refusal) as refusal:
        work()
    return refusal.value.kind


def test_a_file_comes_bit_by_bit_and_is_there_all_at_once(
    world: World, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    upload = begin("logs/x", length=5)
    append(world, upload, 0, 3)
    grown = append(world, upload, 3, 2)
    before = world.read(files.find, artifact.id, "", Page()).total

    file = complete(world, upload, 5)

    assert (before, grown.received, grown.is_full) == (0, 5, True)
    assert world.read(files.get, artifact.id, "logs/x").file == file
    assert world.read(files.get, artifact.id, "logs/x").pieces == (Piece("p0", 3), Piece("p3", 2))
    assert world.read(artifacts.get, artifact.id).stage is Stage.UPLOADING
    assert places(world, PIECES) == []


def test_a_part_that_comes_twice_counts_once(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin()
    append(world, upload, 0, 3)

    assert Kind.MISMATCHING_OFFSET is refused(lambda: append(world, upload, 0, 3))
    assert world.read(uploads.get, upload.id, OWNER).received == 3


def test_more_than_was_said_does_not_fit(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin(length=2)

    assert Kind.INCONSISTENT_LENGTH is refused(lambda: append(world, upload, 0, 3))


def test_a_length_may_be_said_later_and_once(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin()
    append(world, upload, 0, 3)

    settled = world.write(uploads.settle_length, upload.id, 3, OWNER)
    again = world.write(uploads.settle_length, upload.id, 3, OWNER)

    assert settled.is_full
    assert again == settled
    assert Kind.INCONSISTENT_LENGTH is refused(lambda: world.write(uploads.settle_length, upload.id, 4, OWNER))


def test_numbered_parts_come_in_any_order_and_some_are_chosen(
    world: World, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    upload = begin(manner=Manner.PARTS)
    for number in (3, 1, 2):
        grown = put(world, upload, number, number)
    put(world, upload, 1, 4, "p1-again")

    complete(world, upload, 7, [1, 3])

    assert grown.received == 6
    assert world.read(files.get, artifact.id, "x").pieces == (Piece("p1-again", 4), Piece("p3", 3))
    assert places(world, DEAD) == ["p1", "p2"]


def test_what_went_on_meanwhile_is_not_called_whole(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin()
    seen = append(world, upload, 0, 3)
    append(world, upload, 3, 2)

    whole = Whole(seen.revision, "aa", 3)
    assert Kind.CHANGED_MEANWHILE is refused(lambda: world.write(uploads.complete, upload.id, whole, OWNER))


def test_bytes_that_are_known_already_are_kept_once(
    world: World, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    for path in ("x", "y"):
        upload = begin(path)
        world.write(uploads.append, upload.id, 0, Stored(f"p-{path}", "aa", 3), OWNER)
        complete(world, upload, 3)

    assert world.read(files.get, artifact.id, "y").pieces == (Piece("p-x", 3),)
    assert places(world, DEAD) == ["p-y"]


def test_an_empty_file_needs_no_part(world: World, artifact: Artifact, begin: Callable[..., Upload]) -> None:
    complete(world, begin(length=0), 0)

    assert world.read(files.get, artifact.id, "x").file.size_bytes == 0


def test_whoever_missed_the_answer_finds_the_upload_complete(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin(length=3)
    append(world, upload, 0, 3)
    complete(world, upload, 3)

    found = world.read(uploads.get, upload.id, OWNER)

    assert (found.is_full, found.completed_at) == (True, world.clock.now)
    assert Kind.COMPLETED_UPLOAD is refused(lambda: append(world, upload, 3, 1))
    assert Kind.COMPLETED_UPLOAD is refused(lambda: complete(world, upload, 3))


def test_a_complete_upload_is_forgotten_without_its_file(
    world: World, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    upload = begin(length=3)
    append(world, upload, 0, 3)
    complete(world, upload, 3)
    commit(world, artifact)

    world.write(uploads.abort, upload.id, OWNER)

    assert world.read(files.get, artifact.id, "x").pieces == (Piece("p0", 3),)
    assert places(world, DEAD) == []
    assert Kind.UNKNOWN_UPLOAD is refused(lambda: world.read(uploads.get, upload.id, OWNER))


def test_what_is_given_up_leaves_nothing(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin()
    append(world, upload, 0, 3)

    world.write(uploads.abort, upload.id, OWNER)

    assert (places(world, DEAD), places(world, PIECES)) == (["p0"], [])
    assert Kind.UNKNOWN_UPLOAD is refused(lambda: append(world, upload, 3, 1))


def test_an_upload_waits_so_long_and_each_part_makes_it_wait_anew(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin()
    world.clock.now += HOUR / 2
    append(world, upload, 0, 3)

    world.clock.now += HOUR * 0.9
    assert world.write(sweeps.expire_uploads) == 0
    assert world.read(uploads.get, upload.id, OWNER).received == 3

    world.clock.now += HOUR / 10
    assert Kind.UNKNOWN_UPLOAD is refused(lambda: world.read(uploads.get, upload.id, OWNER))
    assert world.write(sweeps.expire_uploads) == 1
    assert places(world, DEAD) == ["p0"]


@pytest.mark.parametrize("by", [STRANGER, Person("ed", Role.EDITOR)], ids=["worker", "editor"])
def test_nobody_goes_on_with_what_is_anothers(world: World, begin: Callable[..., Upload], by: Caller) -> None:
    upload = begin()
    append(world, upload, 0, 3)

    for work in (
        lambda: append(world, upload, 3, 1, by),
        lambda: world.read(uploads.get, upload.id, by),
        lambda: world.write(uploads.abort, upload.id, by),
        lambda: world.read(uploads.under_way, upload.artifact_id, by),
        lambda: begin("y", by),
    ):
        with pytest.raises(Forbidden):
            work()
    assert append(world, upload, 3, 1, MANAGER).received == 4


def test_a_commit_wins_over_what_is_still_on_its_way(
    world: World, artifact: Artifact, begin: Callable[..., Upload]
) -> None:
    done, open_ = begin("x"), begin("y")
    append(world, done, 0, 3)
    complete(world, done, 3)
    world.write(uploads.append, open_.id, 0, Stored("half", "bb", 1), OWNER)

    commit(world, artifact)

    assert Kind.UNKNOWN_UPLOAD is refused(lambda: append(world, open_, 1, 1))
    assert Kind.UNKNOWN_UPLOAD is refused(lambda: complete(world, open_, 1))
    assert Kind.COMMITTED is refused(lambda: begin("z"))
    assert places(world, DEAD) == ["half"]
    assert world.read(uploads.get, done.id, OWNER).completed_at is not None


def test_uploads_go_with_their_artifact(world: World, artifact: Artifact, begin: Callable[..., Upload]) -> None:
    upload = begin()
    append(world, upload, 0, 3)

    world.write(artifacts.delete, artifact.id, OWNER)

    assert places(world, DEAD) == ["p0"]
    assert Kind.UNKNOWN_UPLOAD is refused(lambda: world.read(uploads.get, upload.id, OWNER))


def test_no_upload_begins_where_none_can_end(world: World, begin: Callable[..., Upload]) -> None:
    elsewhere = world.write(artifacts.create, ArtifactDraft(residence=Residence.REFERENCE, created_by=OWNER.actor))

    with pytest.raises(Conflict):
        begin(into=elsewhere.id)
    with pytest.raises(NotFound):
        begin(into="unheard-of")
    with pytest.raises(Invalid):
        begin("../x")
    with pytest.raises(Invalid):
        begin(length=-1)


def test_what_is_under_way_is_listed_by_path(world: World, artifact: Artifact, begin: Callable[..., Upload]) -> None:
    for path in ("b", "a", "c"):
        begin(path)
    complete(world, begin("d", length=0), 0)

    def listed(*asked: object) -> list[str]:
        return [upload.path for upload in world.read(uploads.under_way, artifact.id, OWNER, *asked)]

    assert listed() == ["a", "b", "c"]
    assert listed("b") == ["b", "c"]
    assert listed("", 1) == ["a"]
    world.clock.now += HOUR
    assert listed() == []


def test_an_upload_comes_in_so_many_parts_at_most(world: World, begin: Callable[..., Upload]) -> None:
    upload = begin(manner=Manner.PARTS)
    put(world, upload, rules.MOST_PARTS, 1)

    assert Kind.TOO_MANY_PARTS is refused(lambda: put(world, upload, rules.MOST_PARTS + 1, 1))
    assert [part.number for part in world.read(uploads.parts, upload)] == [rules.MOST_PARTS]
