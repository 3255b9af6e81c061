"""Bytes that are not what they were are named, those that cannot be read are told apart, and both heal."""

import os
import socket
from pathlib import Path

import pytest

from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Residence, Stage
from cableferry.core.verification import Problem
from cableferry.engine import artifacts, commits, files, verifying
from cableferry.engine.outside import Looking
from cableferry.engine.reading import Depot
from cableferry.engine.verifying import Verified
from cableferry.store.blobs.objects import ObjectBlobs
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.posix import PosixFiles
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import statement
from tests.engine.bytes import bring, sha256
from tests.engine.world import MANAGER, World

FORGE = statement("forge", "UPDATE files SET sha256 = ?, blob_key = NULL WHERE path = ?")


def commit(world: World, depot: Depot, artifact: Artifact, declared: Declared = Declared()) -> Artifact:  # noqa: B008  # frozen
    examined = commits.examine(depot, artifact.id, MANAGER, declared)
    return world.write(artifacts.commit, artifact.id, MANAGER, declared, examined)


@pytest.fixture
def artifact(world: World, depot: Depot) -> Artifact:
    made = world.write(artifacts.create, Draft())
    bring(world, depot, made, "a", b"first", b"second")
    bring(world, depot, made, "b", b"other")
    bring(world, depot, made, "c", b"other")
    world.write(files.declare, made.id, Description("declared"), Declared("aa" * 32, 5), MANAGER)
    return commit(world, depot, made)


def place_of(depot: Depot, artifact: Artifact, path: str) -> Path:
    stored = depot.store.read(lambda tx: files.get(tx, artifact.id, path))
    found = depot.blobs.path(stored.pieces[0].place)
    assert found is not None
    return found


def told(seen: Verified) -> list[tuple[str | None, Problem]]:
    return [(finding.path, finding.problem) for finding in seen.findings]


def test_what_is_as_it_was_is_counted(depot: Depot, artifact: Artifact) -> None:
    seen = verifying.verify(depot, artifact.id)

    assert (3, 21, 1, [], None) == (seen.files, seen.bytes, seen.unseen, seen.findings, seen.after)


def test_a_flipped_byte_is_named_with_what_was_expected(depot: Depot, artifact: Artifact) -> None:
    place_of(depot, artifact, "a").write_bytes(b"fierst"[:5])

    (finding,) = verifying.verify(depot, artifact.id).findings

    assert ("a", Problem.DAMAGED) == (finding.path, finding.problem)
    assert f"11 bytes with SHA-256 {sha256(b'firstsecond')}" == finding.expected
    assert f"11 bytes with SHA-256 {sha256(b'fierssecond')}" == finding.found
    assert place_of(depot, artifact, "a").name in (finding.place or "")


def test_every_file_over_the_same_bytes_is_named(depot: Depot, artifact: Artifact) -> None:
    place_of(depot, artifact, "b").unlink()

    assert [("b", Problem.MISSING), ("c", Problem.MISSING)] == told(verifying.verify(depot, artifact.id))


def test_bytes_that_were_cut_off_are_missing(depot: Depot, artifact: Artifact) -> None:
    os.truncate(place_of(depot, artifact, "b"), 2)

    assert {Problem.MISSING} == {problem for _, problem in told(verifying.verify(depot, artifact.id))}


def test_a_store_that_does_not_answer_says_nothing_of_its_bytes(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
    config = {"endpoint": endpoint, "access_key_id": "key", "secret_access_key": "made-up"}
    away = Depot(world.store, ObjectBlobs("s3://bucket/prefix", config, patience={"max_retries": 0}))
    made = world.write(artifacts.create, Draft())
    blob = Blob("aa" * 32, 5, (Piece(away.blobs.new_place(), 5),))
    world.write(files.attach, made.id, Description("x"), blob, MANAGER)

    assert [("x", Problem.UNREACHABLE)] == told(verifying.verify(away, made.id))


def test_a_folder_that_is_not_mounted_says_nothing_of_its_bytes(
    depot: Depot, artifact: Artifact, tmp_path: Path
) -> None:
    (tmp_path / "blobs").rename(tmp_path / "elsewhere")
    (tmp_path / "blobs").mkdir()
    assert {Problem.UNREACHABLE} == {problem for _, problem in told(verifying.verify(depot, artifact.id))}
    (tmp_path / "blobs").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "blobs")

    assert [] == told(verifying.verify(depot, artifact.id))


def test_an_upload_of_the_same_bytes_heals_them_everywhere(world: World, depot: Depot, artifact: Artifact) -> None:
    place_of(depot, artifact, "b").write_bytes(b"otter")
    other = world.write(artifacts.create, Draft())
    bring(world, depot, other, "x", b"other")
    assert ["b", "c"] == [path for path, _ in told(verifying.verify(depot, artifact.id))]

    bring(world, depot, other, "y", b"other")

    assert [] == verifying.verify(depot, artifact.id).findings
    assert [] == verifying.verify(depot, other.id).findings


def test_bytes_that_came_back_are_not_replaced(world: World, depot: Depot, artifact: Artifact) -> None:
    place = place_of(depot, artifact, "b")
    place.rename(place.with_suffix(".away"))
    verifying.verify(depot, artifact.id)
    place.with_suffix(".away").rename(place)

    assert [] == verifying.verify(depot, artifact.id).findings
    bring(world, depot, world.write(artifacts.create, Draft()), "y", b"other")
    assert place == place_of(depot, artifact, "b")


def test_an_artifact_whose_rows_were_changed_does_not_have_its_hash(
    world: World, depot: Depot, artifact: Artifact
) -> None:
    world.store.write(lambda tx: tx.run(FORGE, ("bb" * 32, "a")))

    assert (None, Problem.DAMAGED) in told(verifying.verify(depot, artifact.id))


def test_many_files_are_seen_in_portions(depot: Depot, artifact: Artifact) -> None:
    seen, after = [], ""
    while True:
        portion = verifying.verify(depot, artifact.id, after, most=2)
        seen.append(portion.files)
        if portion.after is None:
            break
        after = portion.after

    assert [2, 1, 0] == seen


def test_what_lies_on_a_disk_that_the_server_sees_is_read_too(world: World, depot: Depot, tmp_path: Path) -> None:
    root = tmp_path / "nfs"
    root.mkdir()
    (root / "x").write_bytes(b"content")
    (root / "y").write_bytes(b"more")
    seeing = Depot(world.store, depot.blobs, looking=Looking(Elsewhere({"file": PosixFiles([root])}), 10**6))
    made = world.write(artifacts.create, Draft(residence=Residence.POSIX, content_url=f"file://{root}"))
    for path in ("x", "y"):
        content = (root / path).read_bytes()
        world.write(files.declare, made.id, Description(path), Declared(sha256(content), len(content)), MANAGER)
    assert Stage.COMMITTED is commit(world, seeing, made).stage
    assert (2, []) == (verifying.verify(seeing, made.id).files, verifying.verify(seeing, made.id).findings)

    (root / "x").write_bytes(b"changed")
    (root / "y").unlink()

    seen = verifying.verify(seeing, made.id)
    assert [("x", Problem.DAMAGED), ("y", Problem.MISSING)] == told(seen)
    assert (0, 2) == (verifying.verify(depot, made.id).files, verifying.verify(depot, made.id).unseen)


def test_one_external_file_without_a_list_is_read_where_it_is(world: World, depot: Depot, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    seeing = Depot(world.store, depot.blobs, looking=Looking(Elsewhere({"file": PosixFiles([tmp_path])}), 10**6))
    url = f"file://{tmp_path}/model.bin"
    made = world.write(artifacts.create, Draft(residence=Residence.POSIX, content_url=url))
    commit(world, seeing, made)
    assert [] == verifying.verify(seeing, made.id).findings

    (tmp_path / "model.bin").write_bytes(b"weighty")

    assert [(None, Problem.DAMAGED)] == told(verifying.verify(seeing, made.id))


def test_an_empty_file_is_whole(world: World, depot: Depot) -> None:
    made = world.write(artifacts.create, Draft())
    bring(world, depot, made, "empty")

    assert verifying.check_file(depot, made.id, "empty") is None
    assert (1, 0, []) == (lambda seen: (seen.files, seen.bytes, seen.findings))(verifying.verify(depot, made.id))


def test_one_file_can_be_checked_before_it_is_sent(depot: Depot, artifact: Artifact) -> None:
    assert verifying.check_file(depot, artifact.id, "a") is None
    assert verifying.check_file(depot, artifact.id, "declared") is None
    place_of(depot, artifact, "a").write_bytes(b"fiirs")

    finding = verifying.check_file(depot, artifact.id, "a")

    assert finding is not None
    assert finding.problem is Problem.DAMAGED
