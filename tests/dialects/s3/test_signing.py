"""Who may open the gateway: whoever has a key that counts now, and signs this very request with it."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cableferry.core.access import Role
from cableferry.engine import users
from tests.dialects.s3 import gateway as gateways
from tests.dialects.s3 import signing
from tests.dialects.s3.gateway import BUCKET, Desk, Gateway
from tests.dialects.s3.signing import ago, presigned, send, signed
from tests.dialects.s3.test_objects import refusal

MINUTE = 60
DAY = 24 * 3600
LIST = f"/s3/{BUCKET}?list-type=2&max-keys=1"


def test_without_a_signature_nobody_gets_in(desk: Desk) -> None:
    reply = send(desk.gateway, "GET", LIST)

    assert (403, "AccessDenied") == reply.refusal
    assert "sign the request" in reply.body.decode()
    assert b"<RequestId>" + reply.headers["x-amz-request-id"].encode() in reply.body


def test_other_proofs_do_not_open_the_gateway_and_its_keys_open_nothing_else(desk: Desk) -> None:
    other = send(desk.gateway, "GET", LIST, {"Authorization": "Bearer cf_x_y", "X-Molgenis-Token": "cf_x_y"})
    elsewhere = signed(desk.gateway, desk.issued, "GET", "/api/ui/me").send(desk.gateway)

    assert (400, "AuthorizationHeaderMalformed") == other.refusal
    assert 401 == elsewhere.status


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("method", lambda request: request._replace(method="DELETE")),
        ("path", lambda request: request._replace(target=request.target.replace("/x", "/y"))),
        ("query", lambda request: request._replace(target=f"{request.target}&versionId=null")),
        ("host", lambda request: request._replace(headers={**request.headers, "host": "elsewhere"})),
        ("header", lambda request: request._replace(headers={**request.headers, "x-amz-meta-a": "2"})),
    ],
)
def test_nothing_that_is_signed_can_be_changed(desk: Desk, part: str, change: Any) -> None:
    desk.put("x", b"abc")
    target = f"/s3/{BUCKET}/{desk.key('x')}?response-expires=0"
    request = signed(desk.gateway, desk.issued, "GET", target, headers={"x-amz-meta-a": "1"})

    assert 200 == request.send(desk.gateway).status
    assert (403, "SignatureDoesNotMatch") == change(request).send(desk.gateway).refusal


def test_a_body_that_is_another_than_was_signed_is_refused(desk: Desk) -> None:
    put = signed(desk.gateway, desk.issued, "PUT", f"/s3/{BUCKET}/{desk.key('x')}", b"abc")
    many = signed(desk.gateway, desk.issued, "POST", f"/s3/{BUCKET}?delete", b"<Delete/>")

    assert (400, "XAmzContentSHA256Mismatch") == put._replace(body=b"abd").send(desk.gateway).refusal
    assert (400, "XAmzContentSHA256Mismatch") == many._replace(body=b"<Delete />").send(desk.gateway).refusal
    assert 404 == signed(desk.gateway, desk.issued, "HEAD", put.target).send(desk.gateway).status


def test_a_form_of_streams_hides_no_other_body(desk: Desk) -> None:
    """Its signature covers no hash of the body, so only bodies that are checked chunk by chunk may have it."""
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
    many = signed(desk.gateway, desk.issued, "POST", f"/s3/{BUCKET}?delete", b"<Delete/>", headers)

    assert (400, "InvalidRequest") == many.send(desk.gateway).refusal


def test_a_header_of_s3s_own_must_be_signed(desk: Desk) -> None:
    request = signed(desk.gateway, desk.issued, "GET", LIST, headers={"X-Amz-Meta-Slipped-In": "1"})

    assert (403, "SignatureDoesNotMatch") == request.send(desk.gateway).refusal


@pytest.mark.parametrize(
    ("seconds", "status"), [(14 * MINUTE, 200), (-14 * MINUTE, 200), (16 * MINUTE, 403), (-16 * MINUTE, 403)]
)
def test_a_signature_counts_for_a_quarter_of_an_hour(desk: Desk, seconds: float, status: int) -> None:
    reply = signed(desk.gateway, desk.issued, "GET", LIST, at=ago(seconds)).send(desk.gateway)

    assert status == reply.status
    assert status == 200 or reply.refusal == (403, "RequestTimeTooSkewed")


@pytest.mark.parametrize(
    ("seconds", "age", "expected"),
    [
        (7 * DAY, 7 * DAY - MINUTE, (200, None)),
        (60, 61, (403, "AccessDenied")),
        (7 * DAY + 1, 0, (400, "AuthorizationQueryParametersError")),
        (0, 0, (400, "AuthorizationQueryParametersError")),
        (60, -16 * MINUTE, (403, "RequestTimeTooSkewed")),
    ],
)
def test_a_presigned_url_lasts_as_long_as_it_says_and_a_week_at_most(
    desk: Desk, seconds: int, age: float, expected: tuple[int, str | None]
) -> None:
    desk.put("x", b"abc")
    reply = send(
        desk.gateway,
        "GET",
        presigned(desk.gateway, desk.issued, "GET", f"/s3/{BUCKET}/{desk.key('x')}", seconds, ago(age)),
    )

    assert expected == ((200, None) if reply.status == 200 else reply.refusal)


def test_presigned_urls_of_the_sdk_read_and_write(desk: Desk) -> None:
    at = {"Bucket": BUCKET, "Key": desk.key("a b#+%é")}
    boto = desk.gateway.boto(desk.issued, signature_version="s3v4")
    put = boto.generate_presigned_url("put_object", Params=at)
    shown = {"ResponseContentType": "text/x-own", "ResponseContentDisposition": 'inline; filename="é"'}
    get = boto.generate_presigned_url("get_object", Params=at | {"ResponseContentType": "text/x-own"})
    bad = boto.generate_presigned_url("get_object", Params=at | shown)
    root = desk.gateway.address.removesuffix("/s3")

    assert 200 == send(desk.gateway, "PUT", put.removeprefix(root), body=b"abc").status
    got = send(desk.gateway, "GET", get.removeprefix(root))
    assert (200, b"abc", "text/x-own") == (got.status, got.body, got.headers["content-type"])
    assert (400, "InvalidArgument") == send(desk.gateway, "GET", bad.removeprefix(root)).refusal
    assert 403 == send(desk.gateway, "DELETE", get.removeprefix(root)).status


def test_a_request_is_signed_once(desk: Desk) -> None:
    target = presigned(desk.gateway, desk.issued, "GET", f"/s3/{BUCKET}/{desk.key('x')}")

    assert (400, "InvalidArgument") == signed(desk.gateway, desk.issued, "GET", target).send(desk.gateway).refusal


@pytest.mark.parametrize("change", ["revoked", "role", "disabled"])
def test_a_key_counts_no_more_from_the_moment_it_is_changed(desk: Desk, change: str) -> None:
    """By another process, whose news this server does not hear."""
    desk.put("x", b"abc")
    name = desk.person.name
    match change:
        case "revoked":
            desk.gateway.revoke(desk.issued)
        case "role":
            desk.gateway.store.write(lambda tx: users.set_role(tx, name, Role.VIEWER))
        case _:
            desk.gateway.store.write(lambda tx: users.disable(tx, name))
    with pytest.raises(ClientError) as refused:
        desk.put("x", b"other")
    with pytest.raises(ClientError) as again:
        desk.put("x", b"other")

    first, then = refusal(refused.value), refusal(again.value)
    expected = (
        ((503, "ServiceUnavailable"), (403, "AccessDenied"))
        if change == "role"
        else (((403, "InvalidAccessKeyId"),) * 2)
    )
    assert expected == (first, then)


def test_a_key_ends_when_it_said(desk: Desk) -> None:
    boto = desk.gateway.boto(desk.gateway.key(desk.person, seconds=2))
    boto.list_buckets()
    deadline = time.monotonic() + signing.SECONDS
    codes = iter(lambda: _code(boto.list_buckets), "InvalidAccessKeyId")

    assert {None} == set(itertools.takewhile(lambda _: time.monotonic() < deadline, codes))
    assert "InvalidAccessKeyId" == _code(boto.list_buckets)


def test_a_key_for_reading_changes_nothing(desk: Desk) -> None:
    desk.put("x", b"abc")
    reader = desk.gateway.boto(desk.gateway.key(desk.person, may_write=False))
    at = {"Bucket": BUCKET, "Key": desk.key("x")}
    changes = [
        lambda: reader.put_object(**at, Body=b"other"),
        lambda: reader.delete_object(**at),
        lambda: reader.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": at["Key"]}]}),
    ]

    assert b"abc" == reader.get_object(**at)["Body"].read()
    for change in changes:
        with pytest.raises(ClientError) as refused:
            change()
        assert (403, "AccessDenied") == refusal(refused.value)
        assert "for reading only" in refused.value.response["Error"]["Message"]


@pytest.mark.parametrize(("role", "may"), [(Role.VIEWER, False), (Role.EDITOR, False), (Role.MANAGER, True)])
def test_a_key_reaches_as_far_as_its_user(desk: Desk, role: Role, may: bool) -> None:
    """An artifact of somebody else is changed by Managers only."""
    other = desk.gateway.boto(desk.gateway.key(desk.gateway.person(role)))
    desk.put("x", b"abc")

    assert b"abc" == other.get_object(Bucket=BUCKET, Key=desk.key("x"))["Body"].read()
    assert (None if may else "AccessDenied") == _code(
        lambda: other.put_object(Bucket=BUCKET, Key=desk.key("x"), Body=b"other")
    )


def test_a_worker_writes_into_its_own_artifacts(gateway: Gateway) -> None:
    own_id = gateway.artifact(gateways.worker("head-1"))
    own, other = (gateway.boto(gateway.worker_key(name)) for name in ("head-1", "head-2"))
    own.put_object(Bucket=BUCKET, Key=f"{own_id}/x", Body=b"abc")

    with pytest.raises(ClientError) as refused:
        other.put_object(Bucket=BUCKET, Key=f"{own_id}/x", Body=b"abc")

    assert (403, "AccessDenied") == refusal(refused.value)


def test_an_unknown_key_is_told_as_such(desk: Desk) -> None:
    unknown = desk.issued.key.id[:-1] + "x"
    stranger = desk.gateway.key(desk.person)
    request = signed(desk.gateway, stranger, "GET", LIST)
    forged = {**request.headers, "Authorization": request.headers["Authorization"].replace(stranger.key.id, unknown)}

    assert (403, "InvalidAccessKeyId") == request._replace(headers=forged).send(desk.gateway).refusal


def test_neither_secrets_nor_signatures_stand_in_the_log(desk: Desk) -> None:
    target = presigned(desk.gateway, desk.issued, "GET", f"/s3/{BUCKET}/{desk.key('x')}")
    desk.gateway.said(send(desk.gateway, "GET", target).headers["x-amz-request-id"])
    text = "".join(log.read_text() for log in desk.gateway.folder.glob("server-*.log"))

    assert [] == [word for word in (desk.issued.secret, target.rpartition("=")[2]) if word in text]


def test_the_use_of_a_key_is_noted(desk: Desk) -> None:
    desk.boto.list_buckets()
    [key] = desk.gateway.store.read(lambda tx: gateways.keys_of(tx, desk.person))

    assert key.last_used_at is not None
    assert key.last_used_at > ago(MINUTE)


def _code(work: Callable[[], object]) -> str | None:
    """How the SDK was refused, if it was."""
    try:
        work()
    except ClientError as error:
        return refusal(error)[1]
    return None


def test_a_signature_of_the_second_version_is_told_as_such(desk: Desk) -> None:
    url = desk.boto.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": desk.key("x")})
    reply = send(desk.gateway, "GET", url.removeprefix(desk.gateway.address.removesuffix("/s3")))

    assert (400, "InvalidArgument") == reply.refusal
    assert "s3v4" in reply.body.decode()


@pytest.mark.parametrize("path", ["/", f"/{BUCKET}", f"/{BUCKET}?list-type=2&max-keys=1"])
def test_a_proxy_may_put_our_prefix_before_a_path_that_was_signed_without_it(desk: Desk, path: str) -> None:
    request = signed(desk.gateway, desk.issued, "GET", path)

    assert 200 == request._replace(target=f"/s3{path}").send(desk.gateway).status
    assert 200 != request._replace(target=f"/s3/s3{path}").send(desk.gateway).status


def test_a_key_may_look_like_a_part_of_a_signature(desk: Desk) -> None:
    path = "X-Amz-Signature=&AWSAccessKeyId=x"
    desk.put(path, b"abc")

    listed = desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(path))
    target = f"/s3/{BUCKET}?list-type=2&prefix=X-Amz-Signature=&delimiter=AWSAccessKeyId="
    assert [desk.key(path)] == [each["Key"] for each in listed["Contents"]]
    assert 200 == signed(desk.gateway, desk.issued, "GET", target).send(desk.gateway).status


def test_the_log_tells_which_artifact_it_was(desk: Desk) -> None:
    trace = desk.put("x", b"abc")["ResponseMetadata"]["RequestId"]

    assert (desk.id, f"user:{desk.person.name}") == (
        desk.gateway.said(trace)["artifact"],
        desk.gateway.said(trace)["caller"],
    )
