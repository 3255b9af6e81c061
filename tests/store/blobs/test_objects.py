"""What object storage adds: keys, parts, and answers that are not what one hoped for."""

import asyncio
import socket

import pytest

from cableferry.store.blobs.objects import ObjectBlobs
from cableferry.store.blobs.opening import open_blobs
from cableferry.store.failures import BadUrl, BlobsUnavailable
from cableferry.testing import s3
from tests.store.blobs.bytes_of import filled, noise, places, put, sha256

on_s3 = pytest.mark.xdist_group("s3")
MIB = 1024 * 1024


@on_s3
def test_a_stream_goes_out_in_parts_of_the_size_that_was_set(s3_server: s3.Server) -> None:
    blobs = ObjectBlobs(s3_server.url("parts"), s3_server.config, part_bytes=5 * MIB)
    content = noise(12 * MIB)

    async def story() -> None:
        stored = await put(blobs, [content[start : start + MIB] for start in range(0, len(content), MIB)])
        assert sha256(content) == stored.sha256 == (await blobs.measure(stored.place)).sha256

    asyncio.run(story())


@on_s3
def test_prefixes_of_one_bucket_do_not_see_each_other(s3_server: s3.Server) -> None:
    one, other = (ObjectBlobs(s3_server.url(name), s3_server.config) for name in ("one", "other"))

    async def story() -> None:
        await put(one, [b"mine"])
        assert [] == await places(other)

    asyncio.run(story())


@on_s3
@pytest.mark.parametrize("size", [3, 40 * MIB])
def test_a_wrong_key_is_told_without_repeating_it(s3_server: s3.Server, size: int) -> None:
    wrong = {**s3_server.config, "secret_access_key": "wrong-wrong-wrong"}
    blobs = ObjectBlobs(s3_server.url("wrong"), wrong)

    async def story() -> None:
        sink = blobs.sink()
        with pytest.raises(BlobsUnavailable) as told:
            await filled(sink, noise(size))
        await sink.abandon()

        assert str(told.value).endswith("the store of bytes answered 403 Forbidden (SignatureDoesNotMatch)")

    asyncio.run(story())


def test_a_store_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = {"endpoint": f"http://127.0.0.1:{port}", "access_key_id": "key", "secret_access_key": "made-up"}
    blobs = ObjectBlobs("s3://bucket/prefix", config, patience={"max_retries": 0})

    async def story() -> None:
        with pytest.raises(BlobsUnavailable, match="does not answer"):
            await put(blobs, [b"x"])
        with pytest.raises(BlobsUnavailable, match="does not answer"):
            await places(blobs)

    asyncio.run(story())


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc",
        "http://host/bucket",
        "s3://key:secret@bucket",
        "s3://bucket/prefix?secret_access_key=made-up",
        "s3://bucket/#secret",
        "ftp://bucket",
    ],
)
def test_an_address_that_names_no_bucket_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadUrl) as told:
        open_blobs(url)

    assert "secret" not in str(told.value)


def test_a_setting_that_the_kind_does_not_know_is_told_without_its_value() -> None:
    with pytest.raises(BlobsUnavailable) as told:
        open_blobs("s3://bucket", {"nonsense": "made-up"})

    assert "made-up" not in str(told.value)
