"""Bodies in every form that S3's clients send, and those that are not what they say."""

import base64
import hashlib
import socket
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cableferry.core.aws_chunks import Signer
from tests.dialects.s3.gateway import BUCKET, LIMIT, Desk
from tests.dialects.s3.signing import Reply, Signed, signed
from tests.dialects.s3.test_objects import refusal

CONTENT = bytes(range(256)) * 400
PIECES = [CONTENT[:65536], CONTENT[65536:], b""]
CRC32 = base64.b64encode(zlib.crc32(CONTENT).to_bytes(4, "big")).decode()
TRAILER = f"x-amz-checksum-crc32:{CRC32}"
SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"


def _put(desk: Desk, form: str, headers: Mapping[str, str] | None = None) -> Signed:
    usual = {
        "x-amz-content-sha256": form,
        "x-amz-decoded-content-length": str(len(CONTENT)),
        "content-encoding": "aws-chunked",
    }
    trailer = {"x-amz-trailer": "x-amz-checksum-crc32"} if form.endswith("TRAILER") else {}
    target = f"/s3/{BUCKET}/{desk.key('x')}"
    return signed(desk.gateway, desk.issued, "PUT", target, b"", usual | trailer | dict(headers or {}))


def _unsigned(trailer: str = TRAILER) -> bytes:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in PIECES[:-1])
    return chunks + f"0\r\n{trailer}\r\n\r\n".encode()


def _chunked(request: Signed, trailer: str | None = None) -> bytes:
    signer = Signer(request.key, request.proof)
    body = b""
    for piece in PIECES:
        signature = signer.chunk(hashlib.sha256(piece).hexdigest())
        body += f"{len(piece):x};chunk-signature={signature}\r\n".encode() + piece
        body += b"\r\n" if piece or trailer is None else b""
    if trailer is None:
        return body
    signature = signer.trailer(trailer.encode() + b"\n")
    return body + f"{trailer}\r\nx-amz-trailer-signature:{signature}\r\n\r\n".encode()


def _sent(desk: Desk, request: Signed, body: bytes) -> Reply:
    return request._replace(body=body).send(desk.gateway)


def test_a_body_in_signed_chunks_is_stored(desk: Desk) -> None:
    request = _put(desk, SIGNED, {"content-encoding": "aws-chunked,gzip"})

    assert 200 == _sent(desk, request, _chunked(request)).status
    head = desk.boto.head_object(Bucket=BUCKET, Key=desk.key("x"))
    assert (len(CONTENT), "gzip") == (head["ContentLength"], head["ContentEncoding"])
    assert CONTENT == desk.get("x")


def test_a_body_in_signed_chunks_with_a_trailer_is_stored(desk: Desk) -> None:
    request = _put(desk, f"{SIGNED}-TRAILER")

    assert 200 == _sent(desk, request, _chunked(request, TRAILER)).status
    assert CONTENT == desk.get("x")


def test_a_body_in_plain_chunks_with_a_trailer_is_stored(desk: Desk) -> None:
    assert 200 == _sent(desk, _put(desk, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"), _unsigned()).status
    assert CONTENT == desk.get("x")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda body: body.replace(b"\1\2\3", b"\1\2\4", 1), (403, "SignatureDoesNotMatch")),
        (lambda body: body.replace(b"chunk-signature=", b"chunk-signature=0", 1), (400, "InvalidArgument")),
        (lambda body: body[: len(body) // 2], (400, "IncompleteBody")),
        (lambda body: b"zz" + body, (400, "InvalidArgument")),
        (lambda body: body + b"more", (400, "InvalidArgument")),
        (lambda body: b"", (400, "IncompleteBody")),
    ],
    ids=["another byte", "no signature", "half of it", "no size", "something behind it", "nothing"],
)
def test_chunks_that_are_not_what_was_signed_leave_nothing(desk: Desk, change: Any, expected: tuple[int, str]) -> None:
    request = _put(desk, SIGNED)

    assert expected == _sent(desk, request, change(_chunked(request))).refusal
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


@pytest.mark.parametrize(
    ("trailer", "expected"),
    [
        ("x-amz-checksum-crc32:AAAAAA==", (400, "BadDigest")),
        ("x-amz-checksum-crc32:?", (400, "InvalidRequest")),
        ("x-amz-checksum-sha1:AAAA", (400, "InvalidArgument")),
    ],
)
def test_a_trailer_that_is_not_true_leaves_nothing(desk: Desk, trailer: str, expected: tuple[int, str]) -> None:
    request = _put(desk, "STREAMING-UNSIGNED-PAYLOAD-TRAILER")

    assert expected == _sent(desk, request, _unsigned(trailer)).refusal


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-amz-decoded-content-length": "7"}, (400, "IncompleteBody")),
        ({"x-amz-decoded-content-length": "-7"}, (400, "InvalidRequest")),
        ({"x-amz-decoded-content-length": str(LIMIT + 1)}, (400, "EntityTooLarge")),
        ({"x-amz-trailer": "x-amz-meta-late"}, (400, "InvalidArgument")),
        ({"x-amz-content-sha256": "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"}, (400, "InvalidRequest")),
        ({"x-amz-meta-long": "x" * 9000}, (400, "InvalidRequest")),
    ],
)
def test_a_head_that_makes_no_sense_is_refused(desk: Desk, headers: dict[str, str], expected: tuple[int, str]) -> None:
    request = _put(desk, "STREAMING-UNSIGNED-PAYLOAD-TRAILER", headers)

    assert expected == _sent(desk, request, _unsigned()).refusal


def _raw(desk: Desk, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """What comes back when only so much is sent, and the client then waits or says that it has said all."""
    request = signed(desk.gateway, desk.issued, "PUT", f"/s3/{BUCKET}/{desk.key('x')}", b"", headers)
    lines = [f"PUT {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers.items())]
    with socket.create_connection(("127.0.0.1", desk.gateway.port), timeout=20) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        if body:
            line.shutdown(socket.SHUT_WR)
        answer = b""
        while b"</Error>" not in answer and (more := line.recv(65536)):
            answer += more
    return answer


def test_five_gigabytes_are_refused_before_the_first_byte(desk: Desk) -> None:
    answer = _raw(desk, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": str(5 * 10**9)})

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"<Code>EntityTooLarge</Code>" in answer


def test_a_body_without_a_length_is_refused(desk: Desk) -> None:
    answer = _raw(desk, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "transfer-encoding": "chunked"})

    assert answer.startswith(b"HTTP/1.1 411")
    assert b"<Code>MissingContentLength</Code>" in answer


def test_a_body_that_ends_early_leaves_nothing(desk: Desk) -> None:
    answer = _raw(desk, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": "1000"}, b"half")

    assert answer.startswith(b"HTTP/1.1 400")
    assert 0 == desk.boto.list_objects_v2(Bucket=BUCKET, Prefix=desk.key(""))["KeyCount"]


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"<Delete>",
        b"<Other/>",
        b"<Delete/>",
        BOMB,
        b"<Delete>" + b"<Object><Key>a/b</Key></Object>" * 1001 + b"</Delete>",
        b"<a>" * 10_000,
    ],
    ids=["nothing", "json", "no end", "another", "empty", "bomb", "too many", "deep"],
)
def test_a_document_that_is_none_is_refused(desk: Desk, body: bytes) -> None:
    request = signed(desk.gateway, desk.issued, "POST", f"/s3/{BUCKET}?delete", body)

    assert (400, "MalformedXML") == request.send(desk.gateway).refusal


@pytest.mark.parametrize(
    ("header", "value", "expected"),
    [
        ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==", (400, "BadDigest")),
        ("x-amz-checksum-crc32", "AAAAAA==", (400, "BadDigest")),
        ("x-amz-checksum-sha256", "no", (400, "InvalidRequest")),
    ],
)
def test_a_document_with_another_digest_is_refused(
    desk: Desk, header: str, value: str, expected: tuple[int, str]
) -> None:
    body = f"<Delete><Object><Key>{desk.key('x')}</Key></Object></Delete>".encode()
    desk.put("x", b"abc")
    request = signed(desk.gateway, desk.issued, "POST", f"/s3/{BUCKET}?delete", body, {header: value})

    assert expected == request.send(desk.gateway).refusal
    assert b"abc" == desk.get("x")


@pytest.mark.parametrize(
    "query",
    [
        "list-type=2&continuation-token=%3F",
        "list-type=2&max-keys=many",
        "list-type=2&max-keys=-1",
        "list-type=2&encoding-type=rot13",
        "list-type=2&prefix=%FF",
        "list-type=2&prefix=a&prefix=b",
        "list-type=2&prefix=%00",
        f"list-type=2&prefix={'x' * 3000}",
    ],
)
def test_a_list_of_nothing_that_could_be_is_refused(desk: Desk, query: str) -> None:
    request = signed(desk.gateway, desk.issued, "GET", f"/s3/{BUCKET}?{query}")

    assert (400, "InvalidArgument") == request.send(desk.gateway).refusal


@pytest.mark.parametrize("method", ["PATCH", "POST", "OPTIONS"])
def test_a_method_that_is_none_of_s3s_is_refused_in_its_words(desk: Desk, method: str) -> None:
    request = signed(desk.gateway, desk.issued, method, f"/s3/{BUCKET}/{desk.key('x')}")

    assert (405, "MethodNotAllowed") == request.send(desk.gateway).refusal


@pytest.mark.parametrize("key", ["%FF", "a/%00", "a%0Ab/c", "a/b%C0%AF"])
def test_a_key_that_is_no_text_is_refused(desk: Desk, key: str) -> None:
    request = signed(desk.gateway, desk.issued, "PUT", f"/s3/{BUCKET}/{desk.id}/{key}", b"x")

    assert (400, "InvalidArgument") == request.send(desk.gateway).refusal


def test_of_two_writers_on_one_key_one_is_last(desk: Desk) -> None:
    contents = [bytes([number]) * 1_000_000 for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda content: desk.put("x", content), contents))

    assert desk.get("x") in contents


def test_of_many_writers_that_want_to_be_first_one_is(desk: Desk) -> None:
    def put(number: int) -> tuple[int, str] | None:
        try:
            desk.put("x", bytes([number]) * 100_000, IfNoneMatch="*")
        except ClientError as error:
            return refusal(error)
        return None

    with ThreadPoolExecutor(4) as threads:
        ends = list(threads.map(put, range(8)))

    assert (1, 7) == (ends.count(None), ends.count((412, "PreconditionFailed")))
