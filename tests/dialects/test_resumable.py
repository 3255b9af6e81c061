"""Resumable uploads as the draft of HTTP has them: begun at the file's own address, continued at one of their own."""

import re
import socket

import pytest

from cableferry.testing.servers import Client, Reply
from tests.dialects.sender import CONTENT, DRAFT, SECONDS, Sender, digest, head
from tests.server.streaming import until

IANA = "https://iana.org/assignments/http-problem-types#"
SIZE = len(CONTENT)


@pytest.fixture
def sending(client: Client) -> Sender:
    return Sender(client)


@pytest.fixture
def upload(sending: Sender) -> str:
    """One that has its first thousand bytes."""
    return sending.put("x", CONTENT[:1000], "?0", Upload_Length=SIZE).headers["location"]


def test_a_file_that_comes_whole_needs_no_more(sending: Sender) -> None:
    reply = sending.put("a/x.txt", CONTENT, "?1")

    assert (reply.status, reply.headers["upload-complete"], reply.json["size_bytes"]) == (201, "?1", SIZE)
    assert reply.headers["location"] == f"{sending.home}/files/a/x.txt"
    assert sending.file("a/x.txt") == CONTENT


def test_a_file_may_come_over_several_requests(sending: Sender) -> None:
    first = sending.put("x", CONTENT[:1000], "?0", Upload_Length=SIZE)
    upload = first.headers["location"]
    second = sending.go_on(upload, 1000, CONTENT[1000:2000], "?0")
    before = sending.file()

    last = sending.go_on(upload, 2000, CONTENT[2000:], "?1")

    assert (first.status, first.headers["upload-complete"], first.headers["upload-offset"]) == (201, "?0", "1000")
    assert "max-size=" in first.headers["upload-limit"]
    assert (second.status, second.headers["upload-complete"], second.headers["upload-offset"]) == (204, "?0", "2000")
    assert (last.status, last.headers["upload-complete"], last.json["path"]) == (201, "?1", "x")
    assert (before, sending.file()) == (None, CONTENT)


def test_the_end_may_come_alone(sending: Sender) -> None:
    upload = sending.put("x", CONTENT, "?0").headers["location"]

    assert sending.go_on(upload, SIZE, b"", "?1").status == 201
    assert sending.file() == CONTENT


@pytest.mark.parametrize("complete", ["?0", "?1"])
def test_a_file_may_begin_with_nothing(sending: Sender, complete: str) -> None:
    reply = sending.put("x", b"", complete)

    assert (reply.status, reply.headers["upload-offset"], sending.file()) == (
        201, "0", b"" if complete == "?1" else None,
    )  # fmt: skip


def test_whoever_asks_is_told_how_far_it_has_come(sending: Sender, upload: str) -> None:
    looked = sending.client.call("HEAD", upload, headers=DRAFT)
    sending.go_on(upload, 1000, CONTENT[1000:], "?1")
    done = sending.client.call("HEAD", upload, headers=DRAFT)

    told = ("upload-offset", "upload-complete", "upload-length", "cache-control")
    assert (looked.status, *(looked.headers[name] for name in told)) == (204, "1000", "?0", str(SIZE), "no-store")
    assert (done.status, *(done.headers[name] for name in told)) == (204, str(SIZE), "?1", str(SIZE), "no-store")
    assert "max-age=" in looked.headers["upload-limit"]


def test_a_length_that_nobody_said_is_not_told(sending: Sender) -> None:
    upload = sending.put("x", b"abc", "?0").headers["location"]

    assert "upload-length" not in sending.client.call("HEAD", upload, headers=DRAFT).headers


def test_interim_answers_tell_the_address_before_the_first_byte(sending: Sender) -> None:
    said = {**DRAFT, "Content-Type": "text/plain", "Upload-Complete": "?1", "Content-Length": str(SIZE)}
    with sending.connect() as connection:
        connection.sendall(head("PUT", f"{sending.home}/files/x", said))
        interim = connection.recv(65536)
        connection.sendall(CONTENT[:1000])
        connection.shutdown(socket.SHUT_WR)

    assert interim.startswith(b"HTTP/1.1 104 ")
    upload = re.search(rb"Location: (\S+)", interim)[1].decode()
    assert until(lambda: sending.offset(upload) == 1000)
    assert sending.go_on(upload, 1000, CONTENT[1000:], "?1").status == 201
    assert sending.file() == CONTENT


def test_a_client_without_the_version_hears_nothing_in_between(sending: Sender) -> None:
    said = {"Content-Type": "text/plain", "Upload-Complete": "?1", "Content-Length": "3", "Connection": "close"}
    with sending.connect() as connection:
        connection.settimeout(SECONDS)
        connection.sendall(head("PUT", f"{sending.home}/files/x", said) + b"abc")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.startswith(b"HTTP/1.1 201 ")
    assert b" 104 " not in answer


def test_what_came_before_a_break_is_kept(sending: Sender, upload: str) -> None:
    said = {**DRAFT, "Upload-Offset": "1000", "Upload-Complete": "?0"}

    sending.break_off("PATCH", upload, CONTENT[1000:2000], said)

    assert until(lambda: sending.offset(upload) == 2000)
    assert sending.go_on(upload, 2000, CONTENT[2000:], "?1").status == 201
    assert sending.file() == CONTENT


def test_bytes_from_elsewhere_are_refused_with_the_right_offset(sending: Sender, upload: str) -> None:
    reply = sending.go_on(upload, 500, CONTENT[500:], "?1")

    assert (reply.status, reply.headers["upload-offset"], reply.json["type"]) == (
        409, "1000", IANA + "mismatching-upload-offset",
    )  # fmt: skip
    assert (reply.json["expected-offset"], reply.json["provided-offset"]) == (1000, 500)


def test_a_complete_upload_takes_nothing(sending: Sender, upload: str) -> None:
    sending.go_on(upload, 1000, CONTENT[1000:], "?1")

    for content in (b"", b"more"):
        reply = sending.go_on(upload, SIZE, content, "?1")
        assert (reply.status, reply.json["type"]) == (400, IANA + "completed-upload")


INCONSISTENT = [
    ("other length", {"Upload_Length": SIZE + 1}, CONTENT[1000:], "?0"),
    ("other end", {}, CONTENT[1000:-1], "?1"),
    ("two lengths", {"Upload_Length": SIZE}, CONTENT[1000:-1], "?1"),
    ("shorter than what is here", {"Upload_Length": 10}, b"", "?0"),
]


@pytest.mark.parametrize(
    ("headers", "content", "complete"), [case[1:] for case in INCONSISTENT], ids=[case[0] for case in INCONSISTENT]
)
def test_a_file_has_one_length(
    sending: Sender, upload: str, headers: dict[str, int], content: bytes, complete: str
) -> None:
    reply = sending.go_on(upload, 1000, content, complete, **headers)

    assert (reply.status, reply.json["type"]) == (400, IANA + "inconsistent-upload-length")
    assert sending.offset(upload) == 1000


def test_two_lengths_in_one_request_begin_nothing(sending: Sender) -> None:
    assert sending.put("x", CONTENT, "?1", Upload_Length=SIZE + 1).status == 400
    assert sending.client.get(f"{sending.home}/uploads").json["count"] == 0


def test_more_than_was_said_is_refused(sending: Sender, upload: str) -> None:
    assert sending.go_on(upload, 1000, CONTENT + b"x" * 2000, "?0").status == 413
    assert sending.offset(upload) == 1000


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Type": "application/octet-stream"}, 415),
        ({"Upload_Offset": None}, 400),
        ({"Upload_Offset": "?1"}, 400),
        ({"Upload_Complete": None}, 400),
        ({"Upload_Complete": "yes"}, 400),
        ({"Upload_Draft_Interop_Version": "3"}, 400),
        ({"Upload_Draft_Interop_Version": None}, 400),
        ({"Content_Digest": digest(b"other")}, 400),
    ],
    ids=str,
)
def test_a_request_that_is_not_right_changes_nothing(
    sending: Sender, upload: str, headers: dict[str, str | None], status: int
) -> None:
    reply = sending.go_on(upload, 1000, CONTENT[1000:2000], "?0", **headers)

    assert (reply.status, sending.offset(upload)) == (status, 1000)


def test_digests_of_a_part_and_of_the_whole_are_checked(sending: Sender) -> None:
    right = sending.put("x", CONTENT[:1000], "?0", Repr_Digest=digest(CONTENT)).headers["location"]
    wrong = sending.put("y", CONTENT[:1000], "?0", Repr_Digest=digest(b"other")).headers["location"]
    rest = {"Content_Digest": digest(CONTENT[1000:])}

    assert sending.go_on(right, 1000, CONTENT[1000:], "?1", **rest).status == 201
    assert sending.go_on(wrong, 1000, CONTENT[1000:], "?1", **rest).kind == "bad-digest"
    assert (sending.file("x"), sending.file("y")) == (CONTENT, None)
    assert sending.put("z", b"abc", "?0", Repr_Digest="sha-256=abc").status == 400


def test_half_a_file_without_a_version_is_not_taken_for_a_whole_one(sending: Sender) -> None:
    reply = sending.put("x", CONTENT[:1000], "?0", Upload_Draft_Interop_Version=None)

    assert (reply.status, reply.kind, sending.file()) == (400, "missing-header", None)


def test_json_may_be_a_file_that_goes_on(sending: Sender) -> None:
    upload = sending.put("x.json", b'{"a":', "?0", Content_Type="application/json").headers["location"]

    assert sending.go_on(upload, 5, b"1}", "?1").json["content_type"] == "application/json"
    assert sending.file("x.json") == b'{"a":1}'


def test_an_upload_that_is_given_up_is_gone(sending: Sender, upload: str) -> None:
    assert sending.client.call("DELETE", upload, headers=DRAFT).status == 204
    assert sending.client.call("HEAD", upload, headers=DRAFT).status == 404


def test_both_protocols_go_on_with_the_same_upload(sending: Sender, upload: str) -> None:
    assert sending.append(upload, 1000, CONTENT[1000:2000]).status == 204
    assert sending.go_on(upload, 2000, CONTENT[2000:], "?1").status == 201
    assert sending.file() == CONTENT


def test_options_tell_the_limits(sending: Sender) -> None:
    for path in ("uploads", "files/a/b.txt"):
        reply: Reply = sending.client.call("OPTIONS", f"{sending.home}/{path}")

        assert "application/partial-upload" in reply.headers["accept-patch"]
        assert "max-size=" in reply.headers["upload-limit"]


def test_who_wants_too_much_is_told_the_limits(sending: Sender) -> None:
    reply = sending.put("x", b"abc", "?0", Upload_Length=2**50)

    assert (reply.status, "max-size=" in reply.headers["upload-limit"]) == (413, True)
