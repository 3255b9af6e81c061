"""What is found in the buckets that the settings name."""

import hashlib
import secrets

import obstore
import pytest
from obstore.store import S3Store

from cableferry.store.elsewhere import Found, Unreachable
from cableferry.store.elsewhere.buckets import CHUNK_BYTES, Buckets
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.failures import BlobFailure
from cableferry.testing import s3

pytestmark = pytest.mark.xdist_group("s3")

CONTENT = b"object" * 1_500_000


@pytest.fixture
def bucket(s3_server: s3.Server) -> S3Store:
    return S3Store(s3.BUCKET, config=s3_server.config, client_options={"allow_http": True})


@pytest.fixture
def elsewhere(s3_server: s3.Server) -> Elsewhere:
    return Elsewhere({"s3": Buckets({s3.BUCKET: s3_server.config})})


@pytest.fixture
def key(bucket: S3Store) -> str:
    key = f"out/{secrets.token_hex(4)}/part 1#%é.bin"
    obstore.put(bucket, key, CONTENT)
    return key


def _reason(answer: Found | Unreachable) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.reason


def test_an_object_is_measured_and_hashed_when_that_is_asked(elsewhere: Elsewhere, bucket: S3Store, key: str) -> None:
    found = Found(len(CONTENT), obstore.head(bucket, key)["e_tag"])
    hashed = Found(len(CONTENT), found.etag, hashlib.sha256(CONTENT).hexdigest())

    assert found == elsewhere.measure(f"s3://{s3.BUCKET}/{key}")
    assert hashed == elsewhere.measure(f"s3://{s3.BUCKET}/{key}", hash_up_to=len(CONTENT))


def test_a_range_is_read(elsewhere: Elsewhere, key: str) -> None:
    location = f"s3://{s3.BUCKET}/{key}"

    assert CONTENT[CHUNK_BYTES - 3 : CHUNK_BYTES + 3] == elsewhere.read(location, CHUNK_BYTES - 3, CHUNK_BYTES + 3)
    assert b"" == elsewhere.read(location, 5, 5)
    with pytest.raises(BlobFailure, match="ends at byte"):
        elsewhere.read(location, 0, len(CONTENT) + 1)


def test_another_object_under_the_same_key_is_not_taken_for_the_first(
    s3_server: s3.Server, bucket: S3Store, key: str
) -> None:
    with Buckets({s3.BUCKET: s3_server.config}).opened(f"s3://{s3.BUCKET}/{key}") as opened:
        obstore.put(bucket, key, CONTENT.upper())

        with pytest.raises(BlobFailure):
            opened.read(0, 10)


def test_what_is_not_there_is_told(elsewhere: Elsewhere) -> None:
    location = f"s3://{s3.BUCKET}/none"

    assert f"{location} is not in the store of bytes" == _reason(elsewhere.measure(location))


@pytest.mark.parametrize("location", ["s3://another/key", "s3:///key", "s3://", f"s3://{s3.BUCKET}.evil/key"])
def test_another_bucket_is_not_allowed(elsewhere: Elsewhere, location: str) -> None:
    assert not elsewhere.allows(location)
    assert "is not where this server may look" in _reason(elsewhere.measure(location))


@pytest.mark.parametrize("key", ["", "folder/", "a//b", "../x"])
def test_a_key_that_names_no_object_is_told(elsewhere: Elsewhere, key: str) -> None:
    assert _reason(elsewhere.measure(f"s3://{s3.BUCKET}/{key}"))


def test_a_bucket_that_does_not_answer_is_told() -> None:
    config = {"endpoint": "http://127.0.0.1:1", "access_key_id": "key", "secret_access_key": "made-up"}
    elsewhere = Elsewhere({"s3": Buckets({"gone": config}, patience={"max_retries": 0})})

    assert "does not answer" in _reason(elsewhere.measure("s3://gone/key"))
