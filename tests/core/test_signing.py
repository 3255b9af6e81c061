"""The signature of the EMX2 protocol, by its published vectors and by what it must refuse."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import signing
from cableferry.core.errors import Invalid

SECRET = b"contract-secret-0123456789abcdef0123456789"
UPLOAD = "/api/hpc/artifacts/550e8400-e29b-41d4-a716-446655440000/files/results/output.bin"
UPLOADED = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
JSON = signing.body_hash(b'{"processor":"embed","profile":"gpu-medium"}')
NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("method", "target", "body_hash", "timestamp", "nonce", "signature"),
    [
        pytest.param(
            "POST", "/api/hpc/jobs", JSON, "1735689600", "0123456789abcdef0123456789abcdef",
            "f5e577a37a695d5ac15bc4757bdc10dec7e52b3942e5be24e580ba95d7ad8842",
            id="a JSON body is hashed as it was sent",
        ),
        pytest.param(
            "PUT", UPLOAD, UPLOADED, "1735689605", "fedcba9876543210fedcba9876543210",
            "934dac787d56427cf7f6624a52248e90b7c96b81840790c4bcb0402377a7cdde",
            id="an upload signs the hash that its header declares",
        ),
        pytest.param(
            "PUT", UPLOAD, signing.EMPTY_HASH, "1735689605", "fedcba9876543210fedcba9876543210",
            "8154fb781e0effd6fe455e5f25fc289780e864bec2c786d52d037f3b58e1be58",
            id="an older upload signs the hash of nothing",
        ),
        pytest.param(
            "GET", "/api/hpc/jobs?status=PENDING&limit=10", signing.EMPTY_HASH, "1735689610",
            "00112233445566778899aabbccddeeff",
            "85462cb5b2c90e7a741aa8afff3d6cdd5ec482c75d4e841c333a2e442873ad23",
            id="the query is part of the target",
        ),
    ],
)  # fmt: skip
def test_the_published_vectors_verify(
    method: str, target: str, body_hash: str, timestamp: str, nonce: str, signature: str
) -> None:
    message = signing.canonical(method, target, body_hash, timestamp, nonce)

    assert signing.sign(SECRET, message) == signature
    assert signing.verify(SECRET, message, signature)


@given(signature=st.text())
def test_no_other_text_verifies(signature: str) -> None:
    assert not signing.verify(SECRET, b"message", signature)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("/a/b?c=d", ("/a/b?c=d",)),
        ("/a/my%20file.csv", ("/a/my%20file.csv", "/a/my file.csv")),
        ("/a/caf%C3%A9.csv", ("/a/caf%C3%A9.csv", "/a/café.csv")),
        ("/a/%FF", ("/a/%FF",)),
        ("/jobs?processor=a%20b", ("/jobs?processor=a%20b", "/jobs?processor=a b")),
    ],
)
def test_a_target_counts_as_sent_and_percent_decoded(raw: str, expected: tuple[str, ...]) -> None:
    assert signing.targets(raw) == expected


@pytest.mark.parametrize(
    "text", ["1735689600", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00", "2025-01-01T01:00:00+01:00"]
)
def test_a_timestamp_is_seconds_or_iso(text: str) -> None:
    assert signing.parse_timestamp(text) == NOW


@pytest.mark.parametrize("text", ["", "soon", "-5", "1e9", "9" * 30, "0001-01-01T00:00:00+23:00", "٣"])
def test_any_other_timestamp_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="X-Timestamp"):
        signing.parse_timestamp(text)


@pytest.mark.parametrize(("seconds", "is_fresh"), [(300, True), (-300, True), (301, False), (-301, False)])
def test_a_timestamp_is_fresh_for_five_minutes_both_ways(seconds: int, is_fresh: bool) -> None:
    sent = NOW + timedelta(seconds=seconds)

    assert signing.is_fresh(sent, NOW) is is_fresh
    assert signing.skew(sent, NOW) == seconds


@pytest.mark.parametrize(
    ("nonce", "is_nonce"),
    [("a", True), ("a" * 128, True), ("", False), ("a" * 129, False), ("a b", False), ("ä", False), ("\n", False)],
)
def test_a_nonce_is_short_and_visible(nonce: str, is_nonce: bool) -> None:
    assert signing.is_nonce(nonce) is is_nonce


def test_the_hash_of_no_body_is_that_of_the_empty_string() -> None:
    assert signing.body_hash(b"") == signing.EMPTY_HASH
    assert signing.body_hash(b"x") != signing.EMPTY_HASH


HASH = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
DIGEST = "sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"


@pytest.mark.parametrize(
    ("content_sha256", "content_digest", "expected"),
    [
        (HASH, None, HASH),
        (HASH.upper(), "sha-512=:x:", HASH),
        (None, DIGEST, HASH),
        (None, f"sha-512=:eA==:, {DIGEST}", HASH),
        (None, "sha-512=:eA==:", None),
        (None, "sha-256=x", None),
        (None, None, None),
    ],
)
def test_a_stream_declares_its_hash(
    content_sha256: str | None, content_digest: str | None, expected: str | None
) -> None:
    assert signing.declared_hash(content_sha256, content_digest) == expected


@pytest.mark.parametrize(("content_sha256", "content_digest"), [("abc123", None), ("", None), (None, "sha-256=:?:")])
def test_a_declared_hash_that_is_none_is_refused(content_sha256: str | None, content_digest: str | None) -> None:
    with pytest.raises(Invalid, match="SHA-256"):
        signing.declared_hash(content_sha256, content_digest)
