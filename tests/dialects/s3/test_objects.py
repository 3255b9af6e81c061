"""Objects through the AWS SDK: what goes in comes out, and what is committed stays."""

import hashlib
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.dialects.s3.gateway import BUCKET, Desk

CONTENT = bytes(range(256)) * 4096
KEYS = [
    "plain.txt",
    "a/deep/er/path",
    "with space and + plus",
    "#hash?question&amp%20%2F%25",
    "quotes '\" and \\ back",
    "e\u0301 is not \u00e9",
    "\u00e9 is not e\u0301",
    "\U0001f600/\u2028",
    "Twin",
    "twin",
    ".hidden/..three...",
    "~tilde*(star)!",
    "x" * 1024,
    "é" * 512,
]


def refusal(error: ClientError) -> tuple[int, str]:
    return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]


def test_every_key_is_stored_and_given_back_byte_for_byte(desk: Desk) -> None:
    for path in KEYS:
        desk.put(path, path.encode())
    pages = desk.boto.get_paginator("list_objects_v2").paginate(
        Bucket=BUCKET, Prefix=desk.key(""), PaginationConfig={"PageSize": 3}
    )
    listed = [item["Key"] for page in pages for item in page["Contents"]]

    assert sorted((desk.key(path) for path in KEYS), key=str.encode) == listed
    assert [path.encode() for path in KEYS] == [desk.get(path) for path in KEYS]


@pytest.mark.parametrize(
    "path", ["a//b", "/a", "a/", "./a", "a/../b", "..", "nul\0", "line\nbreak", "x" * 1025, "é" * 513, "\U0010ffff"]
)
def test_a_key_that_could_mean_two_things_is_refused(desk: Desk, path: str) -> None:
    with pytest.raises(ClientError) as refused:
        desk.put(path, b"x")

    assert (400, "InvalidArgument") == refusal(refused.value)


def test_an_object_is_the_same_in_a_list_a_head_and_a_get(desk: Desk) -> None:
    put = desk.put("data.bin", CONTENT)
    [item] = desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key("data"))["Contents"]
    head = desk.boto.head_object(Bucket=BUCKET, Key=desk.key("data.bin"))
    got = desk.boto.get_object(Bucket=BUCKET, Key=desk.key("data.bin"))

    etag = f'"{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"'
    assert [etag] * 4 == [put["ETag"], item["ETag"], head["ETag"], got["ETag"]]
    assert [len(CONTENT)] * 3 == [item["Size"], head["ContentLength"], got["ContentLength"]]
    assert item["LastModified"].replace(microsecond=0) == head["LastModified"]
    assert CONTENT == got["Body"].read()


def test_headers_and_metadata_come_back(desk: Desk) -> None:
    told = {
        "ContentType": "text/x-own; charset=utf-8",
        "CacheControl": "no-cache",
        "ContentDisposition": 'attachment; filename="x"',
        "ContentEncoding": "gzip",
        "ContentLanguage": "de",
        "Metadata": {"mtime": "1.5", "who": "ada"},
    }
    desk.put("told.txt", b"x", **told)
    desk.boto.copy_object(Bucket=BUCKET, Key=desk.key("copy.txt"), CopySource=f"{BUCKET}/{desk.key('told.txt')}")

    for path in ("told.txt", "copy.txt"):
        head = desk.boto.head_object(Bucket=BUCKET, Key=desk.key(path))
        assert told == {name: head[name] for name in told}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("bytes=0-0", b"\0"), ("bytes=-3", b"\xfd\xfe\xff"), ("bytes=1048570-", CONTENT[1048570:]), ("bytes=7-7", b"\7")],
)
def test_a_range_is_a_part_of_the_object(desk: Desk, asked: str, expected: bytes) -> None:
    desk.put("x", CONTENT)
    got = desk.boto.get_object(Bucket=BUCKET, Key=desk.key("x"), Range=asked)

    assert (expected, 206) == (got["Body"].read(), got["ResponseMetadata"]["HTTPStatusCode"])
    assert str(len(CONTENT)) == got["ContentRange"].rpartition("/")[2]


def test_a_range_behind_the_end_is_refused(desk: Desk) -> None:
    desk.put("x", b"abc")

    with pytest.raises(ClientError) as refused:
        desk.get("x", Range="bytes=3-")

    assert (416, "InvalidRange") == refusal(refused.value)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ({"IfMatch": '"other"'}, 412),
        ({"IfNoneMatch": "*"}, 304),
        ({"IfUnmodifiedSince": "2001-01-01"}, 412),
        ({"IfModifiedSince": "2038-01-01"}, 304),
    ],
)
def test_a_read_may_depend_on_what_is_there(desk: Desk, condition: dict[str, Any], status: int) -> None:
    desk.put("x", b"abc")

    with pytest.raises(ClientError) as refused:
        desk.get("x", **condition)

    assert status == refusal(refused.value)[0]


def test_a_write_may_depend_on_what_is_there(desk: Desk) -> None:
    etag = desk.put("x", b"first", IfNoneMatch="*")["ETag"]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"other"'}):
        with pytest.raises(ClientError) as refused:
            desk.put("x", b"second", **condition)
        assert (412, "PreconditionFailed") == refusal(refused.value)
    desk.put("x", b"third", IfMatch=etag)

    assert b"third" == desk.get("x")


@pytest.mark.parametrize("name", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_a_checksum_of_any_kind_is_checked(desk: Desk, name: str) -> None:
    put = desk.put("x", CONTENT, ChecksumAlgorithm=name)
    wrong = {f"Checksum{name}": put[f"Checksum{name}"]}

    with pytest.raises(ClientError) as refused:
        desk.put("x", b"other", **wrong)

    assert (400, "BadDigest") == refusal(refused.value)
    assert CONTENT == desk.get("x")


def test_a_wrong_md5_and_one_that_is_none_are_refused(desk: Desk) -> None:
    codes = []
    for md5 in ("1B2M2Y8AsgTpgAmY7PhCfg==", "no"):
        with pytest.raises(ClientError) as refused:
            desk.put("x", b"abc", ContentMD5=md5)
        codes.append(refusal(refused.value))

    assert [(400, "BadDigest"), (400, "InvalidDigest")] == codes


def test_what_is_committed_is_read_by_its_name_and_changed_by_nobody(desk: Desk) -> None:
    artifact = desk.gateway.artifact(desk.person, name=f"run of {desk.person.name}")
    key, named = f"{artifact}/x", f"run of {desk.person.name}/x"
    desk.boto.put_object(Bucket=BUCKET, Key=key, Body=b"abc")
    desk.gateway.commit(artifact)
    changes = [
        lambda: desk.boto.put_object(Bucket=BUCKET, Key=key, Body=b"other"),
        lambda: desk.boto.delete_object(Bucket=BUCKET, Key=key),
        lambda: desk.boto.copy_object(Bucket=BUCKET, Key=key, CopySource=f"{BUCKET}/{key}"),
    ]

    assert b"abc" == desk.boto.get_object(Bucket="names", Key=named)["Body"].read()
    for change in changes:
        with pytest.raises(ClientError) as refused:
            change()
        assert (403, "InvalidObjectState") == refusal(refused.value)
        assert "create a new artifact" in refused.value.response["Error"]["Message"]
    for bucket, expected in ((BUCKET, "InvalidObjectState"), ("names", "AccessDenied")):
        gone = desk.boto.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": key if bucket == BUCKET else named}]}
        )
        assert [expected] == [error["Code"] for error in gone["Errors"]]


def test_many_keys_go_at_once_and_what_is_not_there_is_gone(desk: Desk) -> None:
    desk.put("a", b"1")
    desk.put("b", b"2")
    keys = [{"Key": desk.key(path)} for path in ("a", "b", "never there")]
    gone = desk.boto.delete_objects(Bucket=BUCKET, Delete={"Objects": [*keys, {"Key": "no slash"}]})
    desk.boto.delete_object(Bucket=BUCKET, Key=desk.key("never there"))

    assert [*(key["Key"] for key in keys), "no slash"] == [each["Key"] for each in gone["Deleted"]]
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


def test_a_copy_has_the_same_bytes_and_outlives_its_source(desk: Desk) -> None:
    desk.put("from", CONTENT)
    desk.boto.copy_object(
        Bucket=BUCKET,
        Key=desk.key("to"),
        CopySource={"Bucket": BUCKET, "Key": desk.key("from")},
        MetadataDirective="REPLACE",
        Metadata={"new": "yes"},
    )
    desk.boto.delete_object(Bucket=BUCKET, Key=desk.key("from"))

    got = desk.boto.get_object(Bucket=BUCKET, Key=desk.key("to"))
    assert (CONTENT, {"new": "yes"}) == (got["Body"].read(), got["Metadata"])


@pytest.mark.parametrize("source", ["artifacts/nobody/x", "nowhere/a/x", "artifacts", "artifacts/%FF/x"])
def test_a_copy_of_nothing_is_refused(desk: Desk, source: str) -> None:
    with pytest.raises(ClientError) as refused:
        desk.boto.copy_object(Bucket=BUCKET, Key=desk.key("to"), CopySource=source)

    assert refusal(refused.value)[0] in (400, 404)


def test_the_buckets_are_what_they_are(desk: Desk) -> None:
    boto = desk.boto

    assert [BUCKET, "names"] == [bucket["Name"] for bucket in boto.list_buckets()["Buckets"]]
    assert 200 == boto.head_bucket(Bucket=BUCKET)["ResponseMetadata"]["HTTPStatusCode"]
    assert boto.get_bucket_location(Bucket=BUCKET)["LocationConstraint"] is None
    assert "Status" not in boto.get_bucket_versioning(Bucket=BUCKET)


@pytest.mark.parametrize(
    ("operation", "asked", "expected"),
    [
        ("head_bucket", {}, (404, "404")),
        ("list_objects_v2", {}, (404, "NoSuchBucket")),
        ("create_bucket", {}, (403, "AccessDenied")),
        ("create_bucket", {"Bucket": BUCKET}, (409, "BucketAlreadyOwnedByYou")),
        ("delete_bucket", {"Bucket": BUCKET}, (403, "AccessDenied")),
        ("get_bucket_acl", {"Bucket": BUCKET}, (501, "NotImplemented")),
        ("get_object_tagging", {"Bucket": BUCKET, "Key": "a/b"}, (501, "NotImplemented")),
        ("get_object", {"Bucket": BUCKET, "Key": "a/b"}, (404, "NoSuchKey")),
        ("get_object", {"Bucket": BUCKET, "Key": "a/b", "VersionId": "7"}, (404, "NoSuchVersion")),
        ("get_object", {"Bucket": BUCKET, "Key": "a"}, (404, "NoSuchKey")),
        ("put_object", {"Bucket": BUCKET, "Key": "a", "Body": b"x"}, (400, "InvalidArgument")),
        ("head_object", {"Bucket": BUCKET, "Key": "a/b"}, (404, "404")),
        ("put_object", {"Bucket": BUCKET, "Key": "a/b", "Body": b""}, (404, "NoSuchKey")),
        ("put_object", {"Bucket": "names", "Key": "a/b", "Body": b""}, (403, "AccessDenied")),
    ],
)
def test_what_is_not_there_or_not_possible_is_said_in_s3s_words(
    desk: Desk, operation: str, asked: dict[str, Any], expected: tuple[int, str]
) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(desk.boto, operation)(**{"Bucket": "nowhere", **asked})

    assert expected == refusal(refused.value)
    assert desk.gateway.said(refused.value.response["ResponseMetadata"]["RequestId"])["status"] == expected[0]


def test_a_folder_may_be_made_where_files_may_be_put_and_leaves_nothing(desk: Desk) -> None:
    at = {"Bucket": BUCKET, "Key": desk.key("a/b/")}
    desk.boto.put_object(**at, Body=b"")
    desk.boto.put_object(Bucket=BUCKET, Key=desk.key(""), Body=b"")
    desk.boto.delete_object(**at)
    refusals = []
    for key, content in ((desk.key("a/b/"), b"x"), (desk.key("a//"), b""), ("nobody/a/", b""), ("/", b"")):
        with pytest.raises(ClientError) as refused:
            desk.boto.put_object(Bucket=BUCKET, Key=key, Body=content)
        refusals.append(refusal(refused.value)[0])

    assert [400, 400, 404, 404] == refusals
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


@pytest.mark.parametrize(
    "wish",
    [
        {"ServerSideEncryption": "AES256"},
        {"Tagging": "a=b"},
        {"ObjectLockLegalHoldStatus": "ON"},
        {"WebsiteRedirectLocation": "/x"},
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_and_not_ignored(desk: Desk, wish: dict[str, str]) -> None:
    at = {"Bucket": BUCKET, "Key": desk.key("x")} | wish
    for write in (lambda: desk.boto.put_object(Body=b"x", **at), lambda: desk.boto.create_multipart_upload(**at)):
        with pytest.raises(ClientError) as refused:
            write()
        assert (501, "NotImplemented") == refusal(refused.value)
