"""The documents of S3, as botocore reads and writes them, and those that are no documents of S3."""

from datetime import UTC, datetime
from typing import Any

import botocore.session
import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind, NotFound, Refusal
from cableferry.wire.s3 import answers, codes, inputs, xml
from cableferry.wire.s3.answers import Asked, Contents, Item, Part, Parts, Removal, Upload

S3 = botocore.session.get_session().get_service_model("s3")
NOW = datetime(2026, 1, 31, 12, 0, 0, 987654, UTC)
SHOWN = datetime(2026, 1, 31, 12, 0, 0, 987000, UTC)
# every character that XML and a path know
KEY = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)
NASTY = "a&b <c> \"d\" 'e' %20+#? é e\u0301 \u2028 \U0001f600.csv"


def _read(operation: str, body: bytes) -> dict[str, Any]:
    shape = S3.operation_model(operation).output_shape
    answer = {"body": body, "headers": {}, "status_code": 200}
    parsed: dict[str, Any] = create_parser("rest-xml").parse(answer, shape)
    return {name: value for name, value in parsed.items() if name != "ResponseMetadata"}


def _write(operation: str, **wanted: Any) -> bytes:
    made = create_serializer("rest-xml").serialize_to_request(wanted, S3.operation_model(operation))
    body: bytes = made["body"]
    return body


@given(key=KEY, prefix=KEY)
def test_a_list_is_read_as_it_was_meant(key: str, prefix: str) -> None:
    asked = Asked("artifacts", prefix="p", delimiter="/", most=2, start="s", token="t", shows_owner=True)
    found = Contents([Item(key, 5, '"e-1"', NOW)], [prefix], "n")

    assert {
        "IsTruncated": True,
        "Contents": [
            {
                "Key": key,
                "LastModified": SHOWN,
                "ETag": '"e-1"',
                "Size": 5,
                "StorageClass": "STANDARD",
                "Owner": {"ID": "cableferry", "DisplayName": "cableferry"},
            }
        ],
        "Name": "artifacts",
        "Prefix": "p",
        "Delimiter": "/",
        "MaxKeys": 2,
        "CommonPrefixes": [{"Prefix": prefix}],
        "KeyCount": 2,
        "ContinuationToken": "t",
        "NextContinuationToken": "n",
        "StartAfter": "s",
    } == _read("ListObjectsV2", answers.contents(asked, found))


def test_the_last_page_of_a_list_has_no_next() -> None:
    read = _read("ListObjectsV2", answers.contents(Asked("artifacts"), Contents()))

    assert {"Name": "artifacts", "Prefix": "", "MaxKeys": 1000, "KeyCount": 0, "IsTruncated": False} == read


def test_an_encoded_list_is_plain_ascii() -> None:
    asked = Asked("artifacts", prefix=NASTY, delimiter="&", start=NASTY, is_encoded=True)
    body = answers.contents(asked, Contents([Item(NASTY, 0, '"e"', NOW)], [NASTY]))

    encoded = "a%26b%20%3Cc%3E%20%22d%22%20%27e%27%20%2520%2B%23%3F%20%C3%A9%20e%CC%81%20%E2%80%A8%20%F0%9F%98%80.csv"
    read = _read("ListObjectsV2", body)
    assert body.isascii()
    assert ("url", encoded, encoded, "%26", encoded, encoded) == (
        read["EncodingType"],
        read["Prefix"],
        read["StartAfter"],
        read["Delimiter"],
        read["Contents"][0]["Key"],
        read["CommonPrefixes"][0]["Prefix"],
    )


def test_the_old_list_goes_on_behind_a_key() -> None:
    asked, found = Asked("names", start="a", delimiter="/"), Contents([Item("k", 1, '"e"', NOW)], next="k")
    read = _read("ListObjects", answers.contents_v1(asked, found))

    assert ("a", "k", True) == (read["Marker"], read["NextMarker"], read["IsTruncated"])


def test_what_xml_does_not_know_goes_out_as_a_reference() -> None:
    assert b"<Key>&#65534;&#13;</Key>" in answers.removed([Removal("\ufffe\r")])


def test_buckets_are_listed() -> None:
    assert [{"Name": "artifacts", "CreationDate": SHOWN}, {"Name": "names", "CreationDate": SHOWN}] == _read(
        "ListBuckets", answers.buckets([("artifacts", NOW), ("names", NOW)])
    )["Buckets"]


@pytest.mark.parametrize(("region", "shown"), [("us-east-1", b""), ("eu-north-1", b"eu-north-1")])
def test_a_location_is_a_region_unless_it_is_the_first(region: str, shown: bytes) -> None:
    body = answers.location(region)

    assert b">" + shown + b"</LocationConstraint>" in body
    assert xml.read(body, "LocationConstraint").text == shown.decode()


def test_an_upload_in_parts_begins_and_ends() -> None:
    begun = _read("CreateMultipartUpload", answers.initiated("artifacts", NASTY, "u1"))
    ended = _read("CompleteMultipartUpload", answers.completed("artifacts", NASTY, '"e"', "http://h/artifacts/k"))

    assert {"Bucket": "artifacts", "Key": NASTY, "UploadId": "u1"} == begun
    assert {"Bucket": "artifacts", "Key": NASTY, "ETag": '"e"', "Location": "http://h/artifacts/k"} == ended


def test_the_parts_of_an_upload_are_listed() -> None:
    page = Parts("artifacts", "k", "u1", 1, 2, [Part(2, 5, '"e"', NOW), Part(4, 6, '"f"', NOW)], is_truncated=True)
    read = _read("ListParts", answers.parts(page))

    assert [(2, 5, '"e"', SHOWN), (4, 6, '"f"', SHOWN)] == [
        (part["PartNumber"], part["Size"], part["ETag"], part["LastModified"]) for part in read["Parts"]
    ]
    assert (1, 4, 2, True) == (
        read["PartNumberMarker"],
        read["NextPartNumberMarker"],
        read["MaxParts"],
        read["IsTruncated"],
    )


def test_an_upload_without_parts_goes_on_where_it_was_asked() -> None:
    read = _read("ListParts", answers.parts(Parts("artifacts", "k", "u1", 7, 2, [], is_truncated=False)))

    assert (7, False) == (read["NextPartNumberMarker"], read["IsTruncated"])


def test_uploads_are_listed() -> None:
    asked = Asked("artifacts", prefix="p", most=1, start="a", token="u0")
    read = _read("ListMultipartUploads", answers.uploads(asked, [Upload("k", "u1", NOW)], Upload("k", "u1", NOW)))

    assert [("k", "u1", SHOWN)] == [(each["Key"], each["UploadId"], each["Initiated"]) for each in read["Uploads"]]
    assert ("a", "u0", "k", "u1", True) == tuple(
        read[name] for name in ("KeyMarker", "UploadIdMarker", "NextKeyMarker", "NextUploadIdMarker", "IsTruncated")
    )


def test_the_last_page_of_uploads_has_no_next() -> None:
    read = _read("ListMultipartUploads", answers.uploads(Asked("artifacts", is_encoded=True), [], None))

    assert (False, "url", False) == (read["IsTruncated"], read["EncodingType"], "NextKeyMarker" in read)


def test_a_copy_and_a_deletion_tell_what_became_of_them() -> None:
    copied = _read("CopyObject", answers.copied('"e"', NOW))
    removed = _read("DeleteObjects", answers.removed([Removal("a"), Removal("b", "AccessDenied", "no")]))

    assert {"CopyObjectResult": {"ETag": '"e"', "LastModified": SHOWN}} == copied
    assert {
        "Deleted": [{"Key": "a"}],
        "Errors": [{"Key": "b", "Code": "AccessDenied", "Message": "no"}],
    } == removed


def test_the_parts_of_a_completion_are_read() -> None:
    parts = [{"PartNumber": 1, "ETag": '"e"'}, {"PartNumber": 10000, "ETag": "f", "ChecksumCRC32": "AAAAAA=="}]
    body = _write("CompleteMultipartUpload", Bucket="b", Key="k", UploadId="u", MultipartUpload={"Parts": parts})

    assert (inputs.Claimed(1, "e"), inputs.Claimed(10000, "f")) == inputs.completion(body)


@given(keys=st.lists(KEY, min_size=1, max_size=5), is_quiet=st.booleans())
def test_the_keys_of_a_deletion_are_read(keys: list[str], is_quiet: bool) -> None:
    wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": is_quiet}

    assert inputs.Deletion(tuple(keys), is_quiet) == inputs.deletion(_write("DeleteObjects", Bucket="b", Delete=wanted))


def test_a_document_needs_no_namespace_and_may_have_space_and_comments() -> None:
    body = b"\xef\xbb\xbf<Delete> <!-- a --> <Object>\n<Key>a<![CDATA[<b>]]></Key></Object></Delete>"

    assert inputs.Deletion(("a<b>",), is_quiet=False) == inputs.deletion(body)


def _part(number: object, etag: str = "e") -> str:
    return f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"


def _completion(parts: str) -> bytes:
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="no XML"),
        pytest.param(b"<Delete>", id="no end"),
        pytest.param(b"<Delete/><Delete/>", id="two roots"),
        pytest.param(b"<Other/>", id="another document"),
        pytest.param(b"<Delete/>", id="no keys"),
        pytest.param(b"<Delete><Object/></Delete>", id="an empty key"),
        pytest.param(b"<Delete>" + b"<Object><Key>k</Key></Object>" * 1001 + b"</Delete>", id="too many keys"),
        pytest.param(LAUGHS, id="entities"),
        pytest.param(b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><Delete/>', id="a document type"),
        pytest.param(b"<Delete><Object><Key>&other;</Key></Object></Delete>", id="an unknown entity"),
        pytest.param(b"<Delete>" + b"<a>" * 10 + b"</a>" * 10 + b"</Delete>", id="too deep"),
        pytest.param(b"<Delete>" + b"<a/>" * 100_001 + b"</Delete>", id="too many elements"),
        pytest.param(b"<Delete><Object><Key>\xff</Key></Object></Delete>", id="no UTF-8"),
        pytest.param(b"<Delete><Object><Key>\x00</Key></Object></Delete>", id="a NUL"),
    ],
)
def test_a_body_that_is_no_deletion_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        inputs.deletion(body)

    assert "MalformedXML" == codes.of(refused.value, 400)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ("", "MalformedXML"),
        ("<Part/>", "MalformedXML"),
        (_part(1, etag=""), "MalformedXML"),
        (_part(-1), "MalformedXML"),
        (_part("9" * 30), "MalformedXML"),
        (_part("\u0661"), "MalformedXML"),
        ("".join(map(_part, range(10_001))), "MalformedXML"),
        (_part(2) + _part(1), "InvalidPartOrder"),
        (_part(1) + _part(1), "InvalidPartOrder"),
    ],
)
def test_a_body_that_is_no_completion_is_refused(parts: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        inputs.completion(_completion(parts))

    assert code == codes.of(refused.value, 400)


@given(place=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_token_leads_back_to_its_place(place: str) -> None:
    assert place == inputs.place(inputs.token(place))


@pytest.mark.parametrize("token", ["?", "a", "====", "/w==", "_w==", "é"])
def test_a_token_of_somebody_else_is_refused(token: str) -> None:
    with pytest.raises(Invalid):
        inputs.place(token)


REFUSALS = [
    (Invalid("no", code="InvalidPart"), 400, "InvalidPart"),
    (Forbidden("no", Kind.BAD_SIGNATURE), 403, "SignatureDoesNotMatch"),
    (Forbidden("no"), 403, "AccessDenied"),
    (NotFound("no"), 404, "NoSuchKey"),
    (Conflict("no"), 409, "OperationAborted"),
    (Invalid("no", Kind.BAD_HEADER), 400, "InvalidRequest"),
]


@pytest.mark.parametrize(("refusal", "status", "code"), REFUSALS)
def test_a_refusal_has_the_code_that_says_most(refusal: Refusal, status: int, code: str) -> None:
    assert code == codes.of(refusal, status)


def test_every_code_has_its_status() -> None:
    assert set() == {*codes.CODES.values(), "InvalidRequest"} - codes.STATUSES.keys()


def test_botocore_reads_a_refusal() -> None:
    body = codes.document("NoSuchKey", NotFound("there is no <file>"), "/artifacts/a&b", "r1")
    answer = {"body": body, "headers": {}, "status_code": 404}
    read = create_parser("rest-xml").parse(answer, S3.operation_model("GetObject").output_shape)

    assert ("NoSuchKey", "there is no <file>", "/artifacts/a&b") == (
        read["Error"]["Code"],
        read["Error"]["Message"],
        read["Error"]["Resource"],
    )
    assert b"<RequestId>r1</RequestId>" in body


def test_a_skewed_clock_is_told_the_time() -> None:
    refusal = Forbidden("set the clock", Kind.CLOCK_SKEW, server_time="2026-01-31T12:00:00+00:00")

    assert b"<ServerTime>2026-01-31T12:00:00+00:00</ServerTime>" in codes.document("c", refusal, "/", "r")
