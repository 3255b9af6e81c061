"""What every kind of store of bytes does alike."""

import asyncio
import hashlib
import urllib.request
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from cableferry.store.blobs import Blobs
from cableferry.store.failures import BlobMissing
from tests.store.blobs.bytes_of import get, noise, places, put, sha256

SIZES = (0, 1, 4096, 64 * 1024 + 1, 2 * 1024 * 1024, 5 * 1024 * 1024 + 3)


@pytest.mark.parametrize("size", SIZES)
def test_what_was_put_is_what_is_got(blobs: Blobs, size: int) -> None:
    content = noise(size)

    async def story() -> bytes:
        stored = await put(blobs, [content])
        assert (sha256(content), size) == (stored.sha256, stored.size_bytes)
        return await get(blobs, stored.place, 0, size)

    assert content == asyncio.run(story())


def test_a_stream_in_pieces_is_one_place_of_them_all(blobs: Blobs) -> None:
    pieces = [noise(size, size) for size in (0, 1, 300_000, 7, 2_500_000, 0, 64_000, 2_200_000, 1)]
    content = b"".join(pieces)

    async def story() -> bytes:
        stored = await put(blobs, pieces)
        assert sha256(content) == stored.sha256
        return await get(blobs, stored.place, 0, len(content))

    assert content == asyncio.run(story())


def test_a_client_that_sends_byte_by_byte_fills_no_memory(blobs: Blobs) -> None:
    content = noise(5000)

    async def story() -> str:
        return (await put(blobs, [content[at : at + 1] for at in range(len(content))])).sha256

    assert sha256(content) == asyncio.run(story())


@pytest.mark.parametrize("span", [(0, 0), (0, 1), (5, 4_200_000), (4_999_999, 5_000_000), (5_000_000, 5_000_000)])
def test_a_range_is_its_bytes(blobs: Blobs, span: tuple[int, int]) -> None:
    content = noise(5_000_000)

    async def story() -> tuple[bytes, bytes]:
        place = (await put(blobs, [content])).place
        in_one = await asyncio.to_thread(blobs.read, place, *span)
        return await get(blobs, place, *span), in_one

    assert (content[slice(*span)], content[slice(*span)]) == asyncio.run(story())


def test_the_same_bytes_twice_are_two_places(blobs: Blobs) -> None:
    async def story() -> tuple[str, str]:
        return (await put(blobs, [b"same"])).place, (await put(blobs, [b"same"])).place

    first, second = asyncio.run(story())
    assert first != second


def test_a_hasher_that_knows_earlier_bytes_hashes_both(blobs: Blobs) -> None:
    async def story() -> tuple[str, str, bytes]:
        sink = blobs.sink(hashlib.sha256(b"earlier "), with_md5=True)
        await sink.write(b"and later")
        stored = await sink.finish()
        return stored.sha256, str(stored.md5), await get(blobs, stored.place, 0, 9)

    md5 = hashlib.md5(b"and later", usedforsecurity=False).hexdigest()
    assert (sha256(b"earlier and later"), md5, b"and later") == asyncio.run(story())


def test_measuring_hashes_what_is_there(blobs: Blobs) -> None:
    content = noise(5_000_000)

    async def story() -> None:
        stored = await put(blobs, [content])
        assert stored == await blobs.measure(stored.place)

    asyncio.run(story())


def test_every_place_is_listed_and_nothing_else(blobs: Blobs) -> None:
    async def story() -> None:
        stored = [await put(blobs, [noise(size)]) for size in (0, 10, 3_000_000)]
        found = await places(blobs)

        expected = {each.place: each.size_bytes for each in stored}
        assert expected == {each.place: each.size_bytes for each in found}
        recent = datetime.now(UTC) - timedelta(minutes=5)
        assert all(each.modified_at > recent for each in found)

    asyncio.run(story())


def test_what_is_deleted_is_gone_and_deleting_it_again_is_fine(blobs: Blobs) -> None:
    async def story() -> None:
        gone, kept = await put(blobs, [b"gone"]), await put(blobs, [b"kept"])
        await blobs.delete([gone.place, blobs.new_place()])
        await blobs.delete([gone.place])

        assert [kept.place] == [each.place for each in await places(blobs)]

    asyncio.run(story())


@pytest.mark.parametrize("size", [3, 3_000_000])
def test_an_abandoned_stream_leaves_nothing(blobs: Blobs, size: int) -> None:
    async def story() -> None:
        sink = blobs.sink()
        await sink.write(noise(size))
        await sink.abandon()
        await sink.abandon()

        assert [] == await places(blobs)
        assert frozenset() == blobs.under_way()

    asyncio.run(story())


@pytest.mark.parametrize("size", [3, 3_000_000])
def test_what_is_refused_after_its_last_byte_leaves_nothing(blobs: Blobs, size: int) -> None:
    async def story() -> None:
        sink = blobs.sink()
        await sink.write(noise(size))
        await sink.finish()
        await sink.abandon()

        assert [] == await places(blobs)
        assert frozenset() == blobs.under_way()

    asyncio.run(story())


def test_what_is_released_stays(blobs: Blobs) -> None:
    async def story() -> None:
        sink = blobs.sink()
        await sink.write(b"kept")
        stored = await sink.finish()
        sink.release()
        await sink.abandon()

        assert [stored.place] == [each.place for each in await places(blobs)]

    asyncio.run(story())


@pytest.mark.parametrize("size", [3, 3_000_000])
def test_a_place_is_under_way_until_it_is_released(blobs: Blobs, size: int) -> None:
    async def story() -> None:
        sink = blobs.sink()
        await sink.write(noise(size))
        assert {each.place for each in await places(blobs)} <= blobs.under_way()
        stored = await sink.finish()
        assert stored.place in blobs.under_way()
        sink.release()
        assert frozenset() == blobs.under_way()

    asyncio.run(story())


def test_streams_side_by_side_do_not_mix(blobs: Blobs) -> None:
    contents = [noise(2_100_000 + number, number) for number in range(8)]

    async def story() -> list[str]:
        stored = await asyncio.gather(*(put(blobs, [content[:1000], content[1000:]]) for content in contents))
        return [(await blobs.measure(each.place)).sha256 for each in stored]

    assert [sha256(content) for content in contents] == asyncio.run(story())


def test_a_reader_that_is_cancelled_keeps_nothing_from_closing(blobs: Blobs) -> None:
    async def story() -> None:
        content = noise(9_000_000)
        place = (await put(blobs, [content])).place
        reading = blobs.chunks(place, 0, len(content))
        assert await anext(reading)
        await _closed(reading)

        assert content == await get(blobs, place, 0, len(content))

    asyncio.run(story())


async def _closed(reading: AsyncIterator[bytes]) -> None:
    await reading.aclose()  # type: ignore[attr-defined]  # an iterator that is made by a generator


def test_a_writer_that_is_cancelled_leaves_nothing(blobs: Blobs) -> None:
    async def send(has_begun: asyncio.Event) -> None:
        sink = blobs.sink()
        try:
            while True:
                await sink.write(noise(500_000))
                has_begun.set()
        finally:
            await sink.abandon()

    async def story() -> None:
        has_begun = asyncio.Event()
        sending = asyncio.create_task(send(has_begun))
        await has_begun.wait()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

        assert [] == await places(blobs)
        assert frozenset() == blobs.under_way()

    asyncio.run(story())


def test_a_place_that_is_not_there_is_missing(blobs: Blobs) -> None:
    async def story() -> None:
        place = blobs.new_place()
        with pytest.raises(BlobMissing, match=place):
            await get(blobs, place, 0, 1)
        with pytest.raises(BlobMissing, match=place):
            await blobs.measure(place)
        with pytest.raises(BlobMissing, match=place):
            blobs.read(place, 0, 1)

    asyncio.run(story())


@pytest.mark.parametrize("start", [2, 3])
def test_a_place_that_is_shorter_than_it_was_is_missing(blobs: Blobs, start: int) -> None:
    async def story() -> None:
        place = (await put(blobs, [b"abc"])).place
        with pytest.raises(BlobMissing, match=place):
            await get(blobs, place, start, 5)
        with pytest.raises(BlobMissing, match=place):
            blobs.read(place, start, 5)

    asyncio.run(story())


@pytest.mark.parametrize("place", ["", "..", "../x", "ab/../../etc/passwd", "/etc/passwd", "ab/\0", "AB/" + "0" * 32])
def test_a_name_that_is_no_place_is_never_looked_for(blobs: Blobs, place: str) -> None:
    async def story() -> None:
        with pytest.raises(BlobMissing, match="no place of this store"):
            await get(blobs, place, 0, 1)
        with pytest.raises(BlobMissing, match="no place of this store"):
            await blobs.delete([place])

    asyncio.run(story())


def test_a_new_place_was_never_used(blobs: Blobs) -> None:
    names = {blobs.new_place() for _ in range(100)}

    assert 100 == len(names)


def test_an_address_for_the_client_works_without_a_key(blobs: Blobs) -> None:
    place = asyncio.run(put(blobs, [b"directly"])).place
    address = blobs.signed_url(place, 60)

    if address is not None:
        with urllib.request.urlopen(address) as answer:  # noqa: S310  # of the server that the test started
            assert b"directly" == answer.read()
