"""The hash of a stream is known when its last byte comes, also by a process that saw none of the others."""

import asyncio
import hashlib
from datetime import timedelta

import pytest

from cableferry.core.artifacts import Description
from cableferry.core.artifacts import Draft as ArtifactDraft
from cableferry.core.uploads import Draft, Upload
from cableferry.engine import artifacts, uploads
from cableferry.engine.hashing import Hashes
from cableferry.engine.reading import Depot
from cableferry.store.blobs import Stored
from cableferry.store.failures import BlobMissing
from cableferry.store.tx import Tx
from tests.engine import bytes as contents
from tests.engine.world import MANAGER, World


@pytest.fixture
def upload(world: World) -> Upload:
    def begin(tx: Tx) -> Upload:
        artifact = artifacts.create(tx, ArtifactDraft())
        return uploads.create(tx, artifact.id, Draft(Description("x")), MANAGER, timedelta(hours=1))

    return world.write(begin)


def append(world: World, depot: Depot, upload: Upload, before: bytes, content: bytes) -> str:
    place = asyncio.run(contents.stored(depot, content))
    stored = Stored(place, contents.sha256(before + content), len(content))
    world.write(uploads.append, upload.id, len(before), stored, MANAGER)
    return place


def test_what_was_learnt_is_asked_for_again_and_again(world: World, depot: Depot, upload: Upload) -> None:
    hashes = Hashes(depot)
    hashes.learn(append(world, depot, upload, b"", b"one"), hashlib.sha256(b"one"))

    for _ in range(2):
        hasher = hashes.after(upload)
        hasher.update(b"two")
        assert hasher.hexdigest() == contents.sha256(b"onetwo")


def test_nothing_has_the_hash_of_nothing(depot: Depot, upload: Upload) -> None:
    assert Hashes(depot).after(upload).hexdigest() == contents.sha256(b"")


def test_another_process_reads_the_parts_once(world: World, depot: Depot, upload: Upload) -> None:
    hashes = Hashes(depot)
    append(world, depot, upload, b"", b"one")
    first = hashes.after(upload).hexdigest()
    place = append(world, depot, upload, b"one", b"two")
    second = hashes.after(upload).hexdigest()
    depot.blobs.path(place).unlink()

    assert (first, second) == (contents.sha256(b"one"), contents.sha256(b"onetwo"))
    assert hashes.after(upload).hexdigest() == second


def test_a_part_that_is_not_what_it_was_is_noticed(world: World, depot: Depot, upload: Upload) -> None:
    place = append(world, depot, upload, b"", b"one")
    depot.blobs.path(place).write_bytes(b"two")

    with pytest.raises(BlobMissing, match="not what it was"):
        Hashes(depot).after(upload)


def test_only_so_much_is_remembered(world: World, depot: Depot, upload: Upload) -> None:
    hashes = Hashes(depot, most=1)
    place = append(world, depot, upload, b"", b"one")
    hashes.learn(place, hashlib.sha256(b"something that nobody sent"))
    hashes.learn("elsewhere", hashlib.sha256())

    assert hashes.after(upload).hexdigest() == contents.sha256(b"one")
