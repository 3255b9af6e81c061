"""AWS Signature Version 4, by Amazon's published examples, by botocore, and by what it must refuse."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import example, given
from hypothesis import strategies as st

from cableferry.core import sigv4
from cableferry.core.errors import Forbidden, Invalid, Kind
from cableferry.core.sigv4 import Message, Proof, Scope

ACCESS_KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
STAMP = "20130524T000000Z"
SIGNED_AT = datetime(2013, 5, 24, tzinfo=UTC)
HOST = b"examplebucket.s3.amazonaws.com"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
KEY = sigv4.signing_key(SECRET, Scope("20130524", "us-east-1"))


def _authorization(headers: str, signature: str) -> str:
    credential = f"{ACCESS_KEY}/20130524/us-east-1/s3/aws4_request"
    return f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={headers},Signature={signature}"


def _common(payload: str) -> dict[bytes, bytes]:
    return {b"host": HOST, b"x-amz-content-sha256": payload.encode(), b"x-amz-date": STAMP.encode()}


PUT_HASH = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
PUBLISHED = [
    pytest.param(
        Message("GET", "/test.txt", "", _common(EMPTY) | {b"range": b"bytes=0-9"}, EMPTY),
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        id="a GET with a range",
    ),
    pytest.param(
        Message(
            "PUT", "/test%24file.text", "",
            _common(PUT_HASH)
            | {b"date": b"Fri, 24 May 2013 00:00:00 GMT", b"x-amz-storage-class": b"REDUCED_REDUNDANCY"},
            PUT_HASH,
        ),
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        id="a PUT with a sign in its key",
    ),
    pytest.param(
        Message("GET", "/", "lifecycle", _common(EMPTY), EMPTY),
        "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        id="a query without a value",
    ),
    pytest.param(
        Message("GET", "/", "max-keys=2&prefix=J", _common(EMPTY), EMPTY),
        "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        id="a list with a prefix",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("message", "headers", "signature"), PUBLISHED)
def test_the_published_examples_are_right(message: Message, headers: str, signature: str) -> None:
    proof = sigv4.read_header(_authorization(headers, signature), STAMP)

    assert (ACCESS_KEY, Scope("20130524", "us-east-1"), SIGNED_AT) == (proof.access_key, proof.scope, proof.signed_at)
    assert sigv4.is_right(proof, KEY, message)


@pytest.mark.parametrize(("message", "headers", "signature"), PUBLISHED)
@pytest.mark.parametrize(
    "change",
    [
        {"method": "DELETE"},
        {"path": "/other"},
        {"query": "prefix=x"},
        {"payload": "0" * 64},
        {"headers": {b"host": b"elsewhere"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_any_signed_part_makes_it_wrong(
    message: Message, headers: str, signature: str, change: dict[str, object]
) -> None:
    proof = sigv4.read_header(_authorization(headers, signature), STAMP)
    fields = {name: getattr(message, name) for name in ("method", "path", "query", "headers", "payload")}

    assert not sigv4.is_right(proof, KEY, Message(**fields | change))  # type: ignore[arg-type]  # a table of fields


PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
    "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
)


def _pairs(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def test_the_published_presigned_url_is_right() -> None:
    proof = sigv4.read_query(_pairs(PRESIGNED))

    assert timedelta(days=1) == proof.lasts
    assert sigv4.is_right(proof, KEY, Message("GET", "/test.txt", PRESIGNED, {b"host": HOST}, "UNSIGNED-PAYLOAD"))
    assert not sigv4.is_right(proof, KEY, Message("PUT", "/test.txt", PRESIGNED, {b"host": HOST}, "UNSIGNED-PAYLOAD"))


SEGMENT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1).filter(
    lambda segment: segment not in (".", "..")
)


@given(
    segments=st.lists(SEGMENT, min_size=1, max_size=4),
    query=st.dictionaries(SEGMENT, st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
)
@example(segments=["a"], query={"X-Amz-Signature": "an ordinary field of a request that is signed in its header"})
def test_whatever_botocore_signs_is_right(segments: list[str], query: dict[str, str]) -> None:
    target = "/bucket/" + quote("/".join(segments), safe="/~")
    asked = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query.items())
    request = AWSRequest("GET", f"http://ferry.example:8710{target}?{asked}", {"X-Amz-Meta-Word": " a  b "})
    S3SigV4Auth(Credentials(ACCESS_KEY, SECRET), "s3", "eu-north-1").add_auth(request)

    sent = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    proof = sigv4.read_header(request.headers["Authorization"], request.headers["X-Amz-Date"])
    message = Message("GET", target, asked, sent | {b"host": b"ferry.example:8710"}, EMPTY)
    assert sigv4.is_right(proof, sigv4.signing_key(SECRET, proof.scope), message)


@given(segments=st.lists(SEGMENT, min_size=1, max_size=4))
def test_whatever_botocore_presigns_is_right(segments: list[str]) -> None:
    target = "/bucket/" + quote("/".join(segments), safe="/~")
    request = AWSRequest("PUT", f"http://ferry.example:8710{target}")
    S3SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET), "s3", "eu-north-1", expires=60).add_auth(request)

    query = urlsplit(request.url).query
    proof = sigv4.read_query(_pairs(query))
    message = Message("PUT", target, query, {b"host": b"ferry.example:8710"}, "UNSIGNED-PAYLOAD")
    assert sigv4.is_right(proof, sigv4.signing_key(SECRET, proof.scope), message)


@pytest.mark.parametrize(
    ("sent", "signed"),
    [
        ("/b/a!(1)'*.csv", "/b/a%21%281%29%27%2A.csv"),
        ("/b/a%2Fb", "/b/a/b"),
        ("/b/%7Euser", "/b/~user"),
        ("/b//a/./b/../c", "/b//a/./b/../c"),
        ("/b/a%2bb", "/b/a%2Bb"),
    ],
)
def test_a_path_counts_however_it_is_encoded_and_is_never_normalised(sent: str, signed: str) -> None:
    message = Message("GET", sent, "", {b"host": HOST}, EMPTY)
    signature = sigv4.signing.sign(KEY, sigv4.text_to_sign(_proof(), sigv4.canonical(_proof(), message, signed)))

    assert sigv4.is_right(_proof(signature), KEY, message)


def test_an_empty_field_a_plus_and_two_values_of_a_name_are_signed_as_they_mean() -> None:
    message = Message("GET", "/", "&b=2&a=x+y&b=1&&c", {b"host": HOST}, EMPTY)

    assert b"\na=x%20y&b=1&b=2&c=\n" in sigv4.canonical(_proof(), message, "/")


def _proof(signature: str = "0" * 64, lasts: timedelta | None = None) -> Proof:
    return Proof(ACCESS_KEY, Scope("20130524", "us-east-1"), STAMP, ("host",), signature, lasts)


GOOD = _authorization("host", "0" * 64)


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "AWS4-HMAC-SHA256",
        "Bearer cf_1",
        GOOD.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"),
        GOOD.replace("AWS4-HMAC-SHA256", "AWS AKID:c2ln"),
        GOOD + ",More=1",
        GOOD.replace(",SignedHeaders=host", ""),
        GOOD.replace("SignedHeaders", "Signature"),
        GOOD.replace("=host", "="),
        GOOD.replace("=host", "=host;host"),
        GOOD.replace("=host", "=Host"),
        GOOD.replace("=host", "=host;"),
        GOOD.replace("0" * 64, "0" * 63),
        GOOD.replace("0" * 64, "G" * 64),
        GOOD.replace("/s3/", "/ec2/"),
        GOOD.replace("/aws4_request", "/aws5_request"),
        GOOD.replace("/us-east-1/s3/aws4_request", ""),
        GOOD.replace("us-east-1", ""),
        GOOD.replace(ACCESS_KEY, ""),
        GOOD.replace("20130524", "20130525"),
        GOOD.replace("20130524", "٢٠١٣٠٥٢٤"),
    ],
)
def test_a_header_that_says_something_else_is_refused(authorization: str) -> None:
    with pytest.raises(Invalid) as refused:
        sigv4.read_header(authorization, STAMP)

    assert Kind.BAD_AUTHORIZATION is refused.value.kind


@pytest.mark.parametrize("stamp", ["", "20130524", "20130524T000000", "20131324T000000Z", "00000524T000000Z", "٢" * 16])
def test_a_time_that_is_none_is_refused(stamp: str) -> None:
    with pytest.raises(Invalid):
        sigv4.read_header(GOOD.replace("20130524", stamp[:8] or "20130524"), stamp)


def test_a_header_without_a_time_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        sigv4.read_header(GOOD, None)

    assert Kind.MISSING_HEADER is refused.value.kind


@pytest.mark.parametrize(
    "query",
    [
        "",
        "X-Amz-Signature=" + "0" * 64,
        PRESIGNED + "&X-Amz-Expires=9",
        PRESIGNED.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA512"),
        PRESIGNED.replace("=86400", "=0"),
        PRESIGNED.replace("=86400", "=604801"),
        PRESIGNED.replace("=86400", "=-5"),
        PRESIGNED.replace("=86400", "=1e3"),
        PRESIGNED.replace("=86400", "=" + "9" * 5000),
    ],
)
def test_a_query_that_says_something_else_is_refused(query: str) -> None:
    with pytest.raises(Invalid) as refused:
        sigv4.read_query(_pairs(query))

    assert Kind.BAD_AUTHORIZATION is refused.value.kind


_MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("proof", "age"),
    [
        (_proof(), timedelta()),
        (_proof(), 15 * _MINUTE),
        (_proof(), -15 * _MINUTE),
        (_proof(lasts=_MINUTE), _MINUTE),
        (_proof(lasts=60 * _MINUTE), 59 * _MINUTE),
        (_proof(lasts=_MINUTE), -15 * _MINUTE),
    ],
)
def test_a_signature_counts_near_its_time_and_a_url_until_its_end(proof: Proof, age: timedelta) -> None:
    sigv4.check_time(proof, SIGNED_AT + age)


@pytest.mark.parametrize(
    ("proof", "age", "kind"),
    [
        (_proof(), 16 * _MINUTE, Kind.CLOCK_SKEW),
        (_proof(), -16 * _MINUTE, Kind.CLOCK_SKEW),
        (_proof(lasts=60 * _MINUTE), -16 * _MINUTE, Kind.CLOCK_SKEW),
        (_proof(lasts=_MINUTE), 2 * _MINUTE, Kind.EXPIRED),
    ],
)
def test_a_signature_of_another_time_is_refused(proof: Proof, age: timedelta, kind: Kind) -> None:
    with pytest.raises(Forbidden) as refused:
        sigv4.check_time(proof, SIGNED_AT + age)

    assert kind is refused.value.kind


def test_a_skewed_clock_is_told_by_how_much() -> None:
    with pytest.raises(Forbidden) as refused:
        sigv4.check_time(_proof(), SIGNED_AT + 20 * _MINUTE)

    assert -1200.0 == refused.value.facts["skew_seconds"]


@pytest.mark.parametrize(
    ("proof", "headers"),
    [
        (_proof(), [b"host", b"x-amz-date"]),
        (_proof(), [b"host", b"x-amz-content-sha256"]),
        (_proof(lasts=_MINUTE), [b"x-amz-acl"]),
        (Proof(ACCESS_KEY, Scope("20130524", "r"), STAMP, ("range",), "0" * 64), [b"range"]),
    ],
)
def test_what_must_be_signed_and_is_not_is_refused(proof: Proof, headers: list[bytes]) -> None:
    with pytest.raises(Forbidden) as refused:
        sigv4.check_covers(proof, headers)

    assert Kind.BAD_SIGNATURE is refused.value.kind


def test_other_headers_need_no_signature() -> None:
    sigv4.check_covers(_proof(), [b"host", b"user-agent", b"range", b"x-amzn-trace-id", b"content-type"])
    sigv4.check_covers(_proof(lasts=_MINUTE), [b"host", b"x-amz-content-sha256"])


def test_a_signing_key_is_not_shown() -> None:
    proof = Proof(ACCESS_KEY, Scope("20130524", "us-east-1"), STAMP, ("host",), "a" * 64)

    assert f"Signed({ACCESS_KEY!r})" == repr(sigv4.Signed(proof, KEY))
