"""What a folder promises besides: who may read it, what a full or a broken disk leaves, what a person can check."""

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.store.blobs.local import LocalBlobs
from cableferry.store.blobs.opening import open_blobs
from cableferry.store.failures import BlobMissing, BlobsFull, BlobsUnavailable
from tests import limits
from tests.store.blobs import refusing
from tests.store.blobs.bytes_of import filled, get, noise, places, put, sha256

LIMIT = 1_000_000


def _files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_file_begins_with_its_hash(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path / "artifacts")

    stored = asyncio.run(put(blobs, [b"content"]))

    path = blobs.path(stored.place)
    assert path is not None
    assert b"content" == path.read_bytes()
    assert path.name.startswith(f"{sha256(b'content')}-")


def test_a_file_of_later_bytes_has_no_hash_in_its_name(tmp_path: Path) -> None:
    async def story() -> str:
        sink = open_blobs(tmp_path / "artifacts").sink(refusing.NEW_HASHER())
        await sink.write(b"later")
        return (await sink.finish()).place

    assert sha256(b"later") not in asyncio.run(story())


def test_nobody_else_may_look_inside(tmp_path: Path) -> None:
    root = tmp_path / "artifacts"
    blobs = open_blobs(root)

    path = blobs.path(asyncio.run(put(blobs, [b"secret"])).place)

    assert path is not None
    assert [0o600, 0o700, 0o700] == [each.stat().st_mode & 0o777 for each in (path, path.parent, root)]


@pytest.mark.parametrize("size", [LIMIT + 1, 5 * LIMIT])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, size: int) -> None:
    root = tmp_path / "artifacts"
    blobs = open_blobs(root)

    async def story() -> None:
        kept = await put(blobs, [noise(LIMIT)])
        sink = blobs.sink()
        with limits.lowered(resource.RLIMIT_FSIZE, LIMIT), pytest.raises(BlobsFull):
            await filled(sink, noise(size))
        await sink.abandon()

        assert noise(LIMIT) == await get(blobs, kept.place, 0, LIMIT)
        assert [kept.place] == _files(root)

    asyncio.run(story())


def test_what_nobody_put_there_is_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "artifacts"
    blobs = open_blobs(root)
    stored = asyncio.run(put(blobs, [b"ours"]))
    (root / "notes.txt").write_text("theirs")
    (root / stored.place).with_name("notes.txt").write_text("theirs")
    (root / "incoming" / ("0" * 16)).symlink_to("/etc/passwd")

    assert [stored.place] == [found.place for found in asyncio.run(places(blobs))]


def test_a_stream_that_never_ended_is_listed(tmp_path: Path) -> None:
    async def story() -> None:
        await open_blobs(tmp_path).sink().write(noise(3_000_000))
        later = open_blobs(tmp_path)
        (left,) = await places(later)
        await later.delete([left.place])

        assert [] == _files(tmp_path)

    asyncio.run(story())


def test_opening_a_folder_removes_nothing(tmp_path: Path) -> None:
    asyncio.run(open_blobs(tmp_path).sink().write(noise(3_000_000)))
    before = _files(tmp_path)

    open_blobs(tmp_path)

    assert before == _files(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BlobsUnavailable, match="file"):
        open_blobs(tmp_path / "file")


def test_a_reader_keeps_what_is_deleted_meanwhile(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path)
    content = noise(5_000_000)

    async def story() -> bytes:
        place = (await put(blobs, [content])).place
        reading = blobs.chunks(place, 0, len(content))
        first = await anext(reading)
        await blobs.delete([place])
        return first + b"".join([piece async for piece in reading])

    assert content == asyncio.run(story())


def test_what_fits_is_known(tmp_path: Path) -> None:
    free = open_blobs(tmp_path).free_bytes()

    assert free is not None
    assert free > 0


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
@pytest.mark.parametrize("size", [3, 5_000_000])
def test_nothing_is_stored_that_the_disk_did_not_confirm(tmp_path: Path, call: str, size: int) -> None:
    """The child's system refuses the call by which a file, or its folder, is made durable."""
    child = subprocess.run(
        [sys.executable, "-m", refusing.__name__, call, str(tmp_path), str(size)], capture_output=True, text=True
    )

    assert ("refused\n", "") == (child.stdout, child.stderr)
    assert [] == _files(tmp_path)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> LocalBlobs:
    return LocalBlobs(tmp_path_factory.mktemp("store"))


@given(st.text(max_size=80) | st.from_regex(r"(incoming|[0-9a-f]{2}|\.\.)/[0-9a-f./-]{0,70}", fullmatch=True))
def test_no_name_leads_out_of_the_store(opened: LocalBlobs, name: str) -> None:
    root = opened.path("00/" + "0" * 32).parents[1]
    try:
        path = opened.path(name)
    except BlobMissing:
        return

    assert root == Path(os.path.normpath(path)).parents[1]


def test_what_is_in_memory_is_read_without_waiting(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path / "artifacts")
    stored = asyncio.run(put(blobs, [b"content"]))

    assert b"nten" == blobs.read_now(stored.place, 2, 6)
    # what ends early is for whoever can say so in time
    assert blobs.read_now(stored.place, 2, 60) is None
    with pytest.raises(BlobMissing):
        blobs.read_now(blobs.new_place(), 0, 1)
