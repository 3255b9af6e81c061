"""One collection over a database and a folder: what goes, what stays, and what a crash half-way leaves."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest

from cableferry.core.artifacts import Artifact, Draft
from cableferry.core.retention import Failures, Retention
from cableferry.engine import artifacts, collecting, files
from cableferry.engine.collecting import Collected, Keeping
from cableferry.engine.reading import Depot
from cableferry.store import leftovers
from tests.engine.bytes import bring, stored
from tests.engine.world import MANAGER, World

KEEPING = Keeping(Retention((Failures(timedelta(days=7)),)))
AT_ONCE = Keeping(KEEPING.retention, grace=timedelta(0), orphans=timedelta(0))


def collect(depot: Depot, keeping: Keeping = KEEPING) -> Collected:
    return asyncio.run(collecting.collect(depot, keeping))


def foretell(depot: Depot, keeping: Keeping = KEEPING) -> Collected:
    return asyncio.run(collecting.foretell(depot, keeping))


def kept(depot: Depot) -> set[str]:
    async def listed() -> set[str]:
        return {found.place async for found in depot.blobs.places()}

    return asyncio.run(listed())


def age(tmp_path: Path, place: str, **span: float) -> None:
    path = tmp_path / "blobs" / place
    then = path.stat().st_mtime - timedelta(**span).total_seconds()
    os.utime(path, (then, then))


@pytest.fixture
def artifact(world: World, depot: Depot) -> Artifact:
    made = world.write(artifacts.create, Draft())
    bring(world, depot, made, "kept", b"kept")
    bring(world, depot, made, "gone", b"go", b"ne")
    return made


def test_bytes_go_when_no_file_refers_to_them_and_those_who_read_have_had_their_time(
    world: World, depot: Depot, artifact: Artifact
) -> None:
    other = world.write(artifacts.create, Draft())
    bring(world, depot, other, "the same", b"kept")
    world.write(artifacts.delete, other.id, MANAGER)
    world.write(files.remove, artifact.id, "gone", MANAGER)

    first = collect(depot)
    assert (1, 4, 0, 3) == (first.blobs, first.blob_bytes, first.places_removed, first.places_waiting)
    world.clock.passes(hours=2)
    told = foretell(depot)
    assert (3, 0) == (told.places_removed, told.places_waiting)
    second = collect(depot)

    assert (0, 3, 0) == (second.blobs, second.places_removed, second.places_waiting)
    assert 1 == len(kept(depot))
    assert b"kept" == depot.blobs.read(*kept(depot), 0, 4)


def test_a_stalled_upload_fails_and_is_collected_in_its_time(world: World, depot: Depot, artifact: Artifact) -> None:
    world.clock.passes(days=1)
    first = collect(depot)
    assert [(artifact.id, "failed")] == [(due.artifact.id, due.becomes) for due in first.due]
    assert 3 == len(kept(depot))

    world.clock.passes(days=7)
    second = collect(depot, AT_ONCE)

    assert [(artifact.id, "deleted")] == [(due.artifact.id, due.becomes) for due in second.due]
    assert set() == kept(depot)
    assert 0 == second.places_waiting


def test_a_prophecy_changes_nothing_and_comes_true(world: World, depot: Depot, artifact: Artifact) -> None:
    world.write(files.remove, artifact.id, "gone", MANAGER)
    orphan = asyncio.run(stored(depot, b"lost"))
    world.clock.passes(days=1)
    before = kept(depot)

    told = foretell(depot, AT_ONCE)
    assert (before, told) == (kept(depot), foretell(depot, AT_ONCE))
    done = collect(depot, AT_ONCE)

    assert [(due.artifact.id, due.reason) for due in told.due] == [(d.artifact.id, d.reason) for d in done.due]
    assert (told.blobs, told.blob_bytes, told.orphaned) == (done.blobs, done.blob_bytes, done.orphaned)
    assert [orphan] == [each.place for each in told.orphaned]


def test_bytes_that_no_row_knows_go_when_they_are_old(depot: Depot, artifact: Artifact, tmp_path: Path) -> None:
    old, young = asyncio.run(stored(depot, b"old")), asyncio.run(stored(depot, b"young"))
    age(tmp_path, old, hours=25)
    half = tmp_path / "blobs" / "incoming" / "0123456789abcdef"
    half.write_bytes(b"half")
    age(tmp_path, "incoming/0123456789abcdef", hours=25)

    done = collect(depot)

    assert {old, "incoming/0123456789abcdef"} == {each.place for each in done.orphaned}
    assert (2, 7) == (done.orphans, done.orphan_bytes)
    assert young in kept(depot)
    assert 4 == len(kept(depot))


def test_a_stream_of_this_process_is_no_orphan_however_old(depot: Depot, tmp_path: Path) -> None:
    async def story() -> tuple[Collected, str]:
        sink = depot.blobs.sink()
        await sink.write(b"slow")
        place = (await sink.finish()).place
        return await collecting.collect(depot, AT_ONCE), place

    done, place = asyncio.run(story())

    assert 0 == done.orphans
    assert {place} == kept(depot)


def test_a_collection_that_died_between_two_steps_is_finished_by_the_next(
    world: World, depot: Depot, artifact: Artifact
) -> None:
    world.write(files.remove, artifact.id, "gone", MANAGER)
    loose = world.read(leftovers.look_at_blobs, 0, 10).loose
    world.write(leftovers.bury_blobs, list(loose))
    dead = world.read(leftovers.dead, world.clock.now, 10)
    asyncio.run(depot.blobs.delete(dead[:1]))

    done = collect(depot, AT_ONCE)

    assert (2, 0) == (done.places_removed, done.places_waiting)
    assert 1 == len(kept(depot))


def test_everything_is_counted_and_the_first_ones_are_named(depot: Depot, tmp_path: Path) -> None:
    for number in range(collecting.MOST_NAMED + 3):
        (tmp_path / "blobs" / "incoming" / f"{number:016x}").write_bytes(b"x")

    done = collect(depot, AT_ONCE)

    assert (collecting.MOST_NAMED + 3, collecting.MOST_NAMED) == (done.orphans, len(done.orphaned))
    assert set() == kept(depot)
