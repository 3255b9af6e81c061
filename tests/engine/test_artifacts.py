"""What callers can do with artifacts and their files, and what jobs may take of them."""

from collections.abc import Callable

import msgspec
import pytest

from cableferry.core.access import Caller, Claimant, Person, Role
from cableferry.core.artifacts import (
    Artifact,
    Declared,
    Description,
    Draft,
    Examined,
    File,
    Filter,
    Outcome,
    Residence,
    Stage,
)
from cableferry.core.errors import Conflict, Forbidden, Kind, NotFound
from cableferry.core.jobs import State
from cableferry.core.paging import Page
from cableferry.engine import artifacts, files
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import News, statement
from tests.engine.world import MANAGER, World

EDITOR = Person("ed", Role.EDITOR)
WORKER = Claimant("w1", "credential")
STRANGER = Claimant("w2", "credential")
DEAD = statement("dead", "SELECT place FROM dead_places ORDER BY place")
UPLOAD = statement(
    "upload",
    """INSERT INTO uploads (id, artifact_key, path, kind, received, revision, created_at, touched_at)
    VALUES ('u1', ?, 'y', 'tus', 1, 1, 1, 1)""",
)
UPLOADED = statement(
    "uploaded",
    """INSERT INTO upload_pieces (upload_key, number, place, size_bytes, sha256, at)
    SELECT key, 0, 'half', 1, 'aa', 1 FROM uploads""",
)
COUNT_UPLOADS = statement("count_uploads", "SELECT count(*) FROM uploads")


@pytest.fixture
def create(world: World) -> Callable[..., Artifact]:
    def creating(by: Caller = WORKER, **said: object) -> Artifact:
        return world.write(artifacts.create, Draft(created_by=by.actor, **said))

    return creating


def attach(world: World, id: str, path: str = "x", sha256: str = "aa", by: Caller = WORKER, **said: object) -> File:
    blob = Blob(sha256, 3, (Piece(f"{sha256}/{path}", 3),))
    return world.write(files.attach, id, Description(path, **said), blob, by)


def commit(world: World, id: str, by: Caller = WORKER, declared: Declared = Declared(), **said: object) -> Artifact:  # noqa: B008  # frozen
    revision = world.read(artifacts.get, id).revision
    return world.write(artifacts.commit, id, by, declared, Examined(revision, Outcome(**said)))


def test_an_artifact_is_created_filled_and_committed(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create(type="model", name="m")
    file = attach(world, artifact.id, "weights.bin")

    committed = commit(world, artifact.id, sha256="aa", size_bytes=3)

    assert (committed.stage, committed.sha256, committed.size_bytes) == (Stage.COMMITTED, "aa", 3)
    assert world.read(files.get, artifact.id, "weights.bin").file == file
    assert world.read(files.get, artifact.id, "weights.bin").pieces == (Piece("aa/weights.bin", 3),)
    told = [(news.subject, news.detail) for news in world.settle() if news.topic == "artifact"]
    assert told == [(artifact.id, "created"), (artifact.id, "uploading"), (artifact.id, "committed")]


def test_lists_are_paged_and_counted(world: World, create: Callable[..., Artifact]) -> None:
    made = [create(name=f"n{number}") for number in range(3)]

    listing = world.read(artifacts.find, Filter(), Page(limit=2))

    assert [artifact.id for artifact in listing.artifacts] == [artifact.id for artifact in made[:2]]
    assert listing.total == 3


def test_what_is_committed_never_changes(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create()
    attach(world, artifact.id)
    commit(world, artifact.id, sha256="aa")

    for change in (
        lambda: attach(world, artifact.id, "y"),
        lambda: world.write(files.declare, artifact.id, Description("y"), Declared("bb", 1), WORKER),
        lambda: world.write(files.remove, artifact.id, "x", WORKER),
        lambda: world.read(files.check_takes, artifact.id, "y", WORKER),
        lambda: commit(world, artifact.id, declared=Declared("bb")),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.kind is Kind.COMMITTED
    assert commit(world, artifact.id, declared=Declared("aa")).stage is Stage.COMMITTED


def test_a_commit_of_other_files_than_were_examined_is_refused(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create()
    attach(world, artifact.id)
    seen = world.read(artifacts.get, artifact.id).revision
    attach(world, artifact.id, "y")

    with pytest.raises(Conflict) as refused:
        world.write(artifacts.commit, artifact.id, WORKER, Declared(), Examined(seen, Outcome("aa")))

    assert refused.value.kind is Kind.CHANGED_MEANWHILE


def test_only_its_creator_and_managers_change_an_artifact(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create()
    attach(world, artifact.id)

    for caller in (STRANGER, EDITOR):
        for change in (
            lambda caller=caller: attach(world, artifact.id, by=caller),
            lambda caller=caller: world.write(files.declare, artifact.id, Description("y"), Declared(), caller),
            lambda caller=caller: world.write(files.remove, artifact.id, "x", caller),
            lambda caller=caller: commit(world, artifact.id, by=caller),
            lambda caller=caller: world.write(artifacts.delete, artifact.id, caller),
            lambda caller=caller: world.read(files.check_takes, artifact.id, "y", caller),
        ):
            with pytest.raises(Forbidden, match="belongs to worker:w1"):
                change()
    attach(world, artifact.id, by=MANAGER)


def test_bytes_that_are_there_already_are_not_kept_twice(world: World, create: Callable[..., Artifact]) -> None:
    first, second = create(), create()
    attach(world, first.id, "x")

    attach(world, second.id, "y")

    assert world.read(files.get, second.id, "y").pieces == (Piece("aa/x", 3),)
    assert world.read(lambda tx: tx.all(DEAD)) == [("aa/y",)]


def test_a_declared_file_has_no_content(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create(residence=Residence.POSIX, content_url="file:///nfs/out")

    world.write(files.declare, artifact.id, Description("x"), Declared("abc123", 5), WORKER)

    stored = world.read(files.get, artifact.id, "x")
    assert (stored.file.sha256, stored.file.is_stored, stored.pieces) == ("abc123", False, ())
    assert files.no_content(stored.file, artifact.id).kind is Kind.NO_CONTENT
    with pytest.raises(Conflict) as refused:
        attach(world, artifact.id)
    assert refused.value.kind is Kind.NOT_MANAGED


def test_a_file_that_is_removed_is_gone(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create()
    attach(world, artifact.id, "x")
    attach(world, artifact.id, "y", "bb")

    world.write(files.remove, artifact.id, "x", WORKER)

    assert [file.path for file in world.read(files.all_of, artifact.id)] == ["y"]
    assert world.read(files.find, artifact.id, "", Page()).total == 1
    for gone in ("x", "z"):
        with pytest.raises(NotFound, match=f"has no file {gone}"):
            world.write(files.remove, artifact.id, gone, WORKER)
        with pytest.raises(NotFound, match=f"has no file {gone}"):
            world.read(files.get, artifact.id, gone)


def test_what_fails_or_goes_gives_up_its_uploads(world: World, create: Callable[..., Artifact]) -> None:
    failing, going = create(), create()
    for artifact, end in (
        (failing, lambda tx: artifacts.give_up(tx, artifacts.lock(tx, failing.id), "silent")),
        (going, lambda tx: artifacts.delete(tx, going.id, WORKER)),
    ):
        world.write(lambda tx, key=artifact.key: (tx.run(UPLOAD, (key,)), tx.run(UPLOADED)))

        world.write(end)

        assert world.write(_forget_dead) == [("half",)]
        assert world.read(lambda tx: tx.one(COUNT_UPLOADS)) == (0,)
    assert world.read(artifacts.get, failing.id).detail == "silent"


def _forget_dead(tx: object) -> object:
    places = tx.all(DEAD)
    tx.run(statement("forget", "DELETE FROM dead_places"))
    return places


def test_a_job_takes_committed_inputs_and_keeps_them(world: World, create: Callable[..., Artifact]) -> None:
    ready, half = create(), create()
    attach(world, ready.id)
    commit(world, ready.id)

    job = world.create(uses=(ready.id,))

    for uses in ((half.id,), ("550e8400-e29b-41d4-a716-446655440000",)):
        with pytest.raises(Conflict) as refused:
            world.create(uses=uses)
        assert refused.value.kind is Kind.BAD_INPUT
    with pytest.raises(Conflict, match=f"unfinished job {job.id}"):
        world.write(artifacts.delete, ready.id, WORKER)
    world.cancel(job.id)
    world.write(artifacts.delete, ready.id, WORKER)
    with pytest.raises(NotFound):
        world.read(artifacts.get, ready.id)
    assert News("artifact", ready.id, "deleted") in world.settle()


def test_a_report_names_artifacts_that_exist(world: World, create: Callable[..., Artifact]) -> None:
    output, log = create(), create()
    world.register()
    job = world.a_job(State.RUNNING)

    with pytest.raises(Conflict, match="there is no artifact nowhere"):
        world.report(job.id, State.SUCCEEDED, output_artifact_id="nowhere")
    done = world.report(job.id, State.SUCCEEDED, output_artifact_id=output.id, log_artifact_id=log.id)

    assert world.read(artifacts.named, [done]) == {output.id: output, log.id: log}
    assert world.read(artifacts.named, []) == {}


def test_metadata_is_kept_as_it_came(world: World, create: Callable[..., Artifact]) -> None:
    artifact = create(metadata=msgspec.Raw(b'{"a": [1, 2.50]}'))

    assert bytes(world.read(artifacts.get, artifact.id).metadata) == b'{"a": [1, 2.50]}'
