"""Files that come in parts: by the AWS SDK as it does it, and by what goes wrong on the way."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from cableferry.core.access import Role
from tests.dialects.s3.gateway import BUCKET, LIMIT, Desk
from tests.dialects.s3.signing import signed
from tests.dialects.s3.test_objects import refusal

MIB = 1024 * 1024
PARTS = [bytes([number]) * 100_000 for number in (1, 2, 3)]


def _md5(content: bytes) -> "hashlib._Hash":
    return hashlib.md5(content, usedforsecurity=False)


class Upload:
    """One upload of three parts to the key x."""

    def __init__(self, desk: Desk, **more: Any) -> None:
        self.desk = desk
        self.at = {"Bucket": BUCKET, "Key": desk.key("x")}
        self.id = desk.boto.create_multipart_upload(**self.at, **more)["UploadId"]

    def part(self, number: int, content: bytes) -> dict[str, Any]:
        answer = self.desk.boto.upload_part(**self.at, UploadId=self.id, PartNumber=number, Body=content)
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def parts(self) -> list[dict[str, Any]]:
        """Sent from the last to the first, named in order."""
        return [self.part(number, PARTS[number - 1]) for number in (3, 2, 1)][::-1]

    def complete(self, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return dict(
            self.desk.boto.complete_multipart_upload(
                **self.at, UploadId=self.id, MultipartUpload={"Parts": parts}, **more
            )
        )

    def abort(self) -> None:
        self.desk.boto.abort_multipart_upload(**self.at, UploadId=self.id)


def _refused(work: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(ClientError) as refused:
        work()
    return refusal(refused.value)


def test_a_large_file_goes_up_in_parts_and_comes_down_in_ranges(desk: Desk, tmp_path: Path) -> None:
    content = hashlib.shake_256(b"seed").digest(11 * MIB)
    (tmp_path / "up").write_bytes(content)
    config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
    desk.boto.upload_file(str(tmp_path / "up"), BUCKET, desk.key("large"), Config=config)
    desk.boto.download_file(BUCKET, desk.key("large"), str(tmp_path / "down"), Config=config)

    assert content == (tmp_path / "down").read_bytes()
    assert desk.boto.head_object(Bucket=BUCKET, Key=desk.key("large"))["ETag"].endswith('-3"')


def test_parts_in_any_order_are_one_object_with_the_etag_of_s3(desk: Desk) -> None:
    upload = Upload(desk, Metadata={"who": "ada"}, ContentType="text/x-own")
    parts = upload.parts()
    before = desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]
    done = upload.complete(parts)
    head = desk.boto.head_object(**upload.at)
    [item] = desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["Contents"]

    etag = f'"{_md5(b"".join(_md5(part).digest() for part in PARTS)).hexdigest()}-3"'
    assert (0, b"".join(PARTS)) == (before, desk.get("x"))
    assert [etag] * 3 == [done["ETag"], head["ETag"], item["ETag"]]
    assert ({"who": "ada"}, "text/x-own") == (head["Metadata"], head["ContentType"])


def test_a_range_may_span_parts(desk: Desk) -> None:
    upload = Upload(desk)
    upload.complete(upload.parts())

    assert b"\1\1\2\2" == desk.get("x", Range="bytes=99998-100001")


def test_only_the_parts_that_are_named_are_in_the_object(desk: Desk) -> None:
    upload = Upload(desk)
    parts = upload.parts()
    replaced = upload.part(1, b"other")
    upload.complete([replaced, parts[2]])

    assert b"other" + PARTS[2] == desk.get("x")


def test_completing_again_is_answered_as_the_first_time(desk: Desk) -> None:
    upload = Upload(desk)
    parts = upload.parts()

    assert upload.complete(parts)["ETag"] == upload.complete(parts)["ETag"]
    assert (404, "NoSuchUpload") == _refused(lambda: upload.complete(parts[:1]))


def test_completing_twice_at_once_makes_one_object(desk: Desk) -> None:
    upload = Upload(desk)
    parts = upload.parts()
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: upload.complete(parts)["ETag"], range(2)))

    assert 1 == len(set(done))
    assert b"".join(PARTS) == desk.get("x")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda parts: [], (400, "MalformedXML")),
        (lambda parts: parts[::-1], (400, "InvalidPartOrder")),
        (lambda parts: [parts[0], parts[0]], (400, "InvalidPartOrder")),
        (lambda parts: [*parts, {"PartNumber": 4, "ETag": parts[0]["ETag"]}], (400, "InvalidPart")),
        (lambda parts: [{"PartNumber": 1, "ETag": parts[1]["ETag"]}], (400, "InvalidPart")),
    ],
    ids=["none", "out of order", "twice", "never sent", "another's ETag"],
)
def test_parts_that_are_not_what_was_sent_are_refused(desk: Desk, change: Any, expected: tuple[int, str]) -> None:
    upload = Upload(desk)
    parts = upload.parts()

    assert expected == _refused(lambda: upload.complete(change(parts)))
    assert {"ETag"} < upload.complete(parts).keys()


def test_an_upload_that_is_given_up_leaves_nothing(desk: Desk) -> None:
    upload = Upload(desk)
    parts = upload.parts()
    upload.abort()

    assert [(404, "NoSuchUpload")] * 4 == [
        _refused(lambda: upload.part(1, b"x")),
        _refused(lambda: upload.complete(parts)),
        _refused(upload.abort),
        _refused(lambda: desk.boto.list_parts(**upload.at, UploadId=upload.id)),
    ]
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


def test_a_commit_ends_an_upload(desk: Desk) -> None:
    desk.put("y", b"abc")
    upload = Upload(desk)
    parts = upload.parts()
    desk.gateway.commit(desk.id)

    assert (404, "NoSuchUpload") == _refused(lambda: upload.complete(parts))
    assert (404, "NoSuchUpload") == _refused(lambda: upload.part(4, b"x"))
    assert (403, "InvalidObjectState") == _refused(lambda: Upload(desk))


def test_uploads_and_their_parts_are_listed(desk: Desk) -> None:
    upload, other = Upload(desk), Upload(desk)
    upload.parts()
    listed = desk.boto.get_paginator("list_parts").paginate(
        **upload.at, UploadId=upload.id, PaginationConfig={"PageSize": 2}
    )
    uploads = desk.boto.get_paginator("list_multipart_uploads").paginate(
        Bucket=BUCKET, Prefix=desk.key(""), PaginationConfig={"PageSize": 1}
    )

    assert [(1, len(PARTS[0])), (2, len(PARTS[1])), (3, len(PARTS[2]))] == [
        (part["PartNumber"], part["Size"]) for page in listed for part in page["Parts"]
    ]
    assert sorted([upload.id, other.id]) == [each["UploadId"] for page in uploads for each in page["Uploads"]]
    assert (400, "InvalidArgument") == _refused(lambda: desk.boto.list_multipart_uploads(Bucket=BUCKET))


def test_an_upload_belongs_to_its_key_and_to_whoever_began_it(desk: Desk) -> None:
    upload = Upload(desk)
    elsewhere = {"Bucket": BUCKET, "Key": desk.key("y"), "UploadId": upload.id, "PartNumber": 1, "Body": b"x"}
    stranger = desk.gateway.boto(desk.gateway.key(desk.gateway.person(Role.EDITOR)))

    assert (404, "NoSuchUpload") == _refused(lambda: desk.boto.upload_part(**elsewhere))
    assert (403, "AccessDenied") == _refused(lambda: stranger.upload_part(**elsewhere | upload.at))


@pytest.mark.parametrize(
    "query", ["partNumber=0&uploadId=u", "partNumber=10001&uploadId=u", "partNumber=1", "uploadId=u"]
)
def test_a_part_without_a_number_or_an_upload_is_refused(desk: Desk, query: str) -> None:
    request = signed(desk.gateway, desk.issued, "PUT", f"/s3/{BUCKET}/{desk.key('x')}?{query}", b"abc")

    assert (400, "InvalidArgument") == request.send(desk.gateway).refusal
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


def test_a_part_is_checked_like_any_body(desk: Desk) -> None:
    upload = Upload(desk)
    send = desk.boto.upload_part

    assert (400, "BadDigest") == _refused(
        lambda: send(**upload.at, UploadId=upload.id, PartNumber=1, Body=b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    )
    assert (501, "NotImplemented") == _refused(
        lambda: desk.boto.upload_part_copy(**upload.at, UploadId=upload.id, PartNumber=1, CopySource=f"{BUCKET}/a/b")
    )


def test_a_completion_may_depend_on_what_is_there(desk: Desk) -> None:
    desk.put("x", b"abc")
    upload = Upload(desk)
    parts = upload.parts()

    assert (412, "PreconditionFailed") == _refused(lambda: upload.complete(parts, IfNoneMatch="*"))
    assert b"abc" == desk.get("x")


def test_together_parts_may_be_larger_than_one_request_may_bring(desk: Desk) -> None:
    upload = Upload(desk)
    parts = [upload.part(number, bytes(LIMIT // 2 + 1)) for number in (1, 2)]
    upload.complete(parts)

    assert LIMIT + 2 == desk.boto.head_object(**upload.at)["ContentLength"]
    assert (400, "EntityTooLarge") == _refused(lambda: desk.put("y", bytes(LIMIT + 1)))


def test_nobody_reads_parts_for_a_key_that_was_revoked(desk: Desk) -> None:
    upload = Upload(desk)
    parts = [{"PartNumber": 1, "ETag": '"never sent"'}]
    before = _refused(lambda: upload.complete(parts))
    desk.gateway.revoke(desk.issued)

    assert ((400, "InvalidPart"), (403, "InvalidAccessKeyId")) == (before, _refused(lambda: upload.complete(parts)))
