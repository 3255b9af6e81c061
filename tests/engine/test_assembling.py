"""What the bytes of parts add up to."""

import asyncio
from datetime import timedelta

import pytest

from cableferry.core.artifacts import Description
from cableferry.core.artifacts import Draft as ArtifactDraft
from cableferry.core.errors import Invalid, Kind
from cableferry.core.uploads import Draft, Manner, Upload
from cableferry.engine import artifacts, assembling, files, uploads
from cableferry.engine.reading import Depot, StoredFile
from cableferry.store.blobs import Stored
from cableferry.store.tx import Tx
from tests.engine import bytes as contents
from tests.engine.world import MANAGER, World


@pytest.mark.parametrize(("numbers", "expected"), [(None, b"one-two-three"), ([3, 1], b"one-three")])
def test_a_file_is_made_of_parts_in_their_order(
    world: World, depot: Depot, numbers: list[int] | None, expected: bytes
) -> None:
    upload = world.write(_begin)
    for number, content in ((3, b"three"), (1, b"one-"), (2, b"two-")):
        place = asyncio.run(contents.stored(depot, content))
        world.write(uploads.put_part, upload.id, number, Stored(place, "aa", len(content)), MANAGER)

    whole = assembling.whole(depot, upload.id, MANAGER, numbers)
    file = world.write(uploads.complete, upload.id, whole, MANAGER)

    assert (file.sha256, file.size_bytes) == (contents.sha256(expected), len(expected))
    assert b"".join(StoredFile(depot, file).chunks()) == expected
    assert world.read(files.get, upload.artifact_id, "x").file == file


def test_a_part_that_never_came_is_missed(world: World, depot: Depot) -> None:
    upload = world.write(_begin)

    with pytest.raises(Invalid) as refused:
        assembling.whole(depot, upload.id, MANAGER, [1])
    assert refused.value.kind is Kind.UNKNOWN_PART


def _begin(tx: Tx) -> Upload:
    artifact = artifacts.create(tx, ArtifactDraft())
    return uploads.create(tx, artifact.id, Draft(Description("x"), Manner.PARTS), MANAGER, timedelta(hours=1))
