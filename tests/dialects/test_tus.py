"""Uploads by the tus protocol: with a real client, and word by word."""

import hashlib
import io
from email.utils import parsedate_to_datetime

import pytest
from tusclient.client import TusClient

from cableferry.testing.servers import Client, Reply
from tests.dialects.sender import CONTENT, PART, TUS, Sender, checksum
from tests.server.streaming import until

UNKNOWN = "/api/hpc/uploads/unheard-of"


@pytest.fixture
def sending(client: Client) -> Sender:
    return Sender(client)


def kind(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.kind.rpartition("#")[2]


@pytest.mark.parametrize("is_checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("chunk", [None, 100_000, 70_001])
def test_the_real_client_brings_a_file(sending: Sender, chunk: int | None, is_checked: bool) -> None:
    tus = TusClient(f"http://127.0.0.1:{sending.client.port}{sending.home}/uploads")
    more = {"chunk_size": chunk} if chunk else {}

    tus.uploader(
        file_stream=io.BytesIO(CONTENT), metadata={"path": "a/b.bin"}, upload_checksum=is_checked, **more
    ).upload()

    assert sending.file("a/b.bin") == CONTENT
    assert sending.client.post(f"{sending.home}/commit", {}).json["sha256"] == hashlib.sha256(CONTENT).hexdigest()


def test_the_real_client_brings_an_empty_file(sending: Sender) -> None:
    tus = TusClient(f"http://127.0.0.1:{sending.client.port}{sending.home}/uploads")

    tus.uploader(file_stream=io.BytesIO(b""), metadata={"filename": "empty"}).upload()

    assert sending.file("empty") == b""


def test_the_real_client_goes_on_where_another_one_stopped(sending: Sender) -> None:
    tus = TusClient(f"http://127.0.0.1:{sending.client.port}{sending.home}/uploads")
    first = tus.uploader(file_stream=io.BytesIO(CONTENT), metadata={"path": "x"}, chunk_size=100_000)
    first.upload_chunk()

    second = tus.uploader(file_stream=io.BytesIO(CONTENT), url=first.url)
    offset = second.offset
    second.upload()

    assert (offset, sending.file()) == (100_000, CONTENT)


def test_whoever_asks_learns_what_is_possible(sending: Sender) -> None:
    for path in (f"{sending.home}/uploads", UNKNOWN):
        reply = sending.client.call("OPTIONS", path, headers=dict.fromkeys(TUS))

        assert (reply.status, reply.headers["tus-resumable"], reply.headers["tus-version"]) == (204, "1.0.0", "1.0.0")
        assert set(reply.headers["tus-extension"].split(",")) >= {"creation", "checksum", "expiration", "termination"}
        assert reply.headers["tus-checksum-algorithm"] == "sha1,md5,sha256"
        assert int(reply.headers["tus-max-size"]) == 5 * 1024**4


def test_a_new_upload_has_an_address_and_nothing_yet(sending: Sender) -> None:
    created = sending.begin(10, "a/x", role="index", filetype="text/x-special")

    looked = sending.tus("HEAD", created.headers["location"])
    assert (created.status, created.headers["upload-offset"], created.headers["tus-resumable"]) == (201, "0", "1.0.0")
    assert parsedate_to_datetime(created.headers["upload-expires"]).tzinfo is not None
    assert (looked.status, looked.headers["upload-offset"], looked.headers["upload-length"]) == (200, "0", "10")
    assert looked.headers["cache-control"] == "no-store"
    assert "path YS94,role aW5kZXg=,filetype dGV4dC94LXNwZWNpYWw=" == looked.headers["upload-metadata"]
    assert sending.file("a/x") is None


def test_a_file_is_what_the_metadata_says_of_it(sending: Sender) -> None:
    upload = sending.begun(2, path="ä x", role="index", filetype="text/x-special")

    sending.append(upload, 0, b"ab")

    (item,) = sending.client.get(f"{sending.home}/files").json["items"]
    assert (item["path"], item["role"], item["content_type"]) == ("ä x", "index", "text/x-special")


def test_the_first_bytes_may_come_along(sending: Sender) -> None:
    created = sending.begin(body=CONTENT[:1000])
    whole = sending.begin(path="y", body=CONTENT)

    assert (created.status, created.headers["upload-offset"]) == (201, "1000")
    assert sending.append(created.headers["location"], 1000, CONTENT[1000:]).status == 204
    assert (whole.status, whole.headers["upload-offset"]) == (201, str(len(CONTENT)))
    assert sending.file() == sending.file("y") == CONTENT


def test_a_length_may_come_later(sending: Sender) -> None:
    upload = sending.begun(None)
    deferred = sending.tus("HEAD", upload).headers
    sending.append(upload, 0, CONTENT[:1000])

    last = sending.append(upload, 1000, CONTENT[1000:], Upload_Length=len(CONTENT))

    assert (deferred["upload-defer-length"], "upload-length" in deferred) == ("1", False)
    assert (last.status, last.headers["upload-offset"]) == (204, str(len(CONTENT)))
    assert sending.file() == CONTENT


def test_a_length_is_said_once(sending: Sender) -> None:
    upload = sending.begun(None)
    sending.append(upload, 0, b"abc", Upload_Length=10)

    assert kind(sending.append(upload, 3, b"d", Upload_Length=11)) == (400, "inconsistent-upload-length")


VERSIONS = [("POST", "/uploads", {}), ("PATCH", "", PART), ("DELETE", "", {}), ("HEAD", "", {})]


@pytest.mark.parametrize(("method", "tail", "headers"), VERSIONS, ids=[version[0] for version in VERSIONS])
def test_another_version_is_refused_and_told_which_is_served(
    sending: Sender, method: str, tail: str, headers: dict[str, str]
) -> None:
    path = f"{sending.home}{tail}" if tail else sending.begun()

    reply = sending.client.call(method, path, None, {**TUS, **headers, "Tus-Resumable": "0.2.2"})

    assert (reply.status, reply.headers["tus-version"]) == (412, "1.0.0")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_whoever_writes_says_which_protocol_it_is(sending: Sender, method: str) -> None:
    path = sending.begun() if method == "PATCH" else f"{sending.home}/uploads"

    reply = sending.tus(method, path, b"abc", Tus_Resumable=None)

    assert (kind(reply), reply.headers["tus-version"]) == ((412, "missing-header"), "1.0.0")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Upload-Length": None}, (400, "bad-header")),
        ({"Upload-Defer-Length": "1"}, (400, "bad-header")),
        ({"Upload-Length": None, "Upload-Defer-Length": "2"}, (400, "bad-header")),
        ({"Upload-Length": "-1"}, (400, "bad-header")),
        ({"Upload-Length": "1e3"}, (400, "bad-header")),
        ({"Upload-Length": "9" * 19}, (413, "too-large")),
        ({"Upload-Length": str(5 * 1024**4 + 1)}, (413, "too-large")),
        ({"Upload-Metadata": None}, (400, "bad-path")),
        ({"Upload-Metadata": "path"}, (400, "bad-path")),
        ({"Upload-Metadata": "path eA==,path eQ=="}, (400, "bad-header")),
        ({"Upload-Metadata": "path e"}, (400, "bad-header")),
        ({"Upload-Metadata": "path /w=="}, (400, "bad-header")),
        ({"Upload-Metadata": "path eA==," + "x" * 9000}, (400, "bad-header")),
        ({"Upload-Metadata": "path Li4veA=="}, (400, "bad-path")),
        ({"Upload-Metadata": "path eA==,role eA=="}, (400, "malformed")),
        ({"Upload-Metadata": "path eA==,sha256 eA=="}, (400, "bad-header")),
        ({"Upload-Metadata": "path eA==,filetype YQBi"}, (400, "bad-header")),
        ({"Upload-Checksum": "crc32 AAAA"}, (400, "bad-header")),
        ({"Upload-Checksum": "sha1 AAAA"}, (400, "bad-header")),
    ],
    ids=str,
)
def test_what_makes_no_sense_begins_nothing(
    sending: Sender, headers: dict[str, str | None], expected: tuple[int, str]
) -> None:
    usual = {**TUS, "Upload-Length": "10", "Upload-Metadata": "path eA=="}

    reply = sending.client.call("POST", f"{sending.home}/uploads", None, {**usual, **headers})

    assert expected == kind(reply)
    assert sending.client.get(f"{sending.home}/uploads").json["count"] == 0


def test_nothing_begins_where_there_is_no_open_artifact(sending: Sender) -> None:
    sending.begin(0)
    sending.client.post(f"{sending.home}/commit", {})
    committed = sending.begin()
    sending.home = "/api/hpc/artifacts/unheard-of"

    assert (kind(committed), kind(sending.begin())) == ((409, "committed"), (404, "unknown-artifact"))
    assert "COMMITTED" == committed.json["current_state"]


def test_a_body_of_another_type_is_no_beginning(sending: Sender) -> None:
    metadata = {"Upload-Length": "10", "Upload-Metadata": "path eA=="}

    reply = sending.client.call("POST", f"{sending.home}/uploads", b"abc", {**TUS, **metadata})

    assert kind(reply) == (415, "unsupported-type")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Content-Type": "application/octet-stream"}, (415, "unsupported-type")),
        ({"Content-Type": None}, (415, "unsupported-type")),
        ({"Upload-Offset": None}, (400, "missing-header")),
        ({"Upload-Offset": "x"}, (400, "bad-header")),
        ({"Upload-Offset": "1"}, (409, "mismatching-upload-offset")),
        ({"Upload-Checksum": checksum("sha1", b"other")}, (460, "bad-digest")),
        ({"Upload-Checksum": checksum("sha512", b"abc")}, (400, "bad-header")),
        ({"Content-SHA256": hashlib.sha256(b"other").hexdigest()}, (400, "bad-digest")),
    ],
    ids=str,
)
def test_a_part_that_is_not_right_changes_nothing(
    sending: Sender, headers: dict[str, str | None], expected: tuple[int, str]
) -> None:
    upload = sending.begun()
    headers = {name.replace("-", "_"): value for name, value in headers.items()}

    reply = sending.append(upload, 0, b"abc", **headers)

    assert (expected, "1.0.0") == (kind(reply), reply.headers["tus-resumable"])
    assert sending.offset(upload) == 0


def test_a_refused_offset_comes_with_the_right_one(sending: Sender) -> None:
    upload = sending.begun()
    sending.append(upload, 0, b"abc")

    reply = sending.append(upload, 0, b"abc")

    assert (reply.status, reply.headers["upload-offset"], reply.json["expected-offset"]) == (409, "3", 3)


@pytest.mark.parametrize("algorithm", ["sha1", "md5", "sha256"])
def test_a_part_that_is_what_it_was_said_to_be_is_taken(sending: Sender, algorithm: str) -> None:
    upload = sending.begun()

    reply = sending.append(upload, 0, CONTENT, Upload_Checksum=checksum(algorithm, CONTENT))

    assert (reply.status, sending.file()) == (204, CONTENT)


def test_more_than_was_said_is_refused_before_it_is_read(sending: Sender) -> None:
    upload = sending.begun(10)

    assert kind(sending.append(upload, 0, b"x" * 11)) == (413, "too-large")
    assert sending.offset(upload) == 0
    assert kind(sending.begin(10, "y", b"x" * 11)) == (413, "too-large")


def test_what_came_before_a_break_is_kept(sending: Sender) -> None:
    upload = sending.begun()
    sending.append(upload, 0, CONTENT[:1000])

    sending.break_off("PATCH", upload, CONTENT[1000:2000], {**TUS, **PART, "Upload-Offset": "1000"})

    assert until(lambda: sending.offset(upload) == 2000)
    assert sending.append(upload, 2000, CONTENT[2000:]).status == 204
    assert sending.file() == CONTENT


def test_of_a_part_with_a_checksum_a_break_leaves_nothing(sending: Sender) -> None:
    upload = sending.begun()
    headers = {**TUS, **PART, "Upload-Offset": "0", "Upload-Checksum": checksum("sha1", CONTENT)}

    sending.break_off("PATCH", upload, CONTENT[:1000], headers)

    assert sending.append(upload, 0, CONTENT).status == 204
    assert sending.file() == CONTENT


def test_a_file_that_is_not_what_was_announced_is_not_there(sending: Sender) -> None:
    right, wrong = hashlib.sha256(CONTENT).hexdigest(), "0" * 64
    upload = sending.begun(sha256=wrong)

    assert kind(sending.append(upload, 0, CONTENT)) == (400, "bad-digest")
    assert sending.file() is None
    assert sending.append(sending.begun(sha256=right), 0, CONTENT).status == 204
    assert sending.file() == CONTENT


def test_an_upload_that_is_given_up_is_gone(sending: Sender) -> None:
    upload = sending.begun()
    sending.append(upload, 0, b"abc")

    assert sending.tus("DELETE", upload).status == 204
    assert [sending.tus(method, upload).status for method in ("HEAD", "DELETE")] == [404, 404]
    assert "upload-offset" not in sending.tus("HEAD", upload).headers
    assert kind(sending.append(upload, 3, b"d")) == (404, "unknown-upload")


def test_a_client_that_can_only_post_says_what_it_means(sending: Sender) -> None:
    upload = sending.begun()
    said = {**TUS, **PART, "Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"}

    patched = sending.client.call("POST", upload, CONTENT[:5], said)
    offset = sending.offset(upload)
    deleted = sending.tus("POST", upload, X_HTTP_Method_Override="DELETE")

    assert (patched.status, patched.headers["upload-offset"], offset) == (204, "5", 5)
    assert (deleted.status, sending.tus("HEAD", upload).status) == (204, 404)
    assert sending.tus("POST", upload, X_HTTP_Method_Override="PUT").status == 405
    assert sending.tus("POST", upload).status == 405


def test_what_is_complete_says_so_and_takes_no_more(sending: Sender) -> None:
    upload = sending.begun()
    sending.append(upload, 0, CONTENT)

    assert sending.offset(upload) == len(CONTENT)
    assert kind(sending.append(upload, len(CONTENT), b"")) == (400, "completed-upload")
    assert kind(sending.append(upload, 0, b"x")) == (409, "mismatching-upload-offset")


def test_a_commit_ends_what_is_under_way(sending: Sender) -> None:
    upload = sending.begun()
    sending.append(upload, 0, CONTENT[:1000])
    sending.begin(0, "other")

    assert sending.client.post(f"{sending.home}/commit", {}).status == 200
    assert kind(sending.append(upload, 1000, CONTENT[1000:])) == (404, "unknown-upload")
    assert sending.file() is None


def test_whoever_lost_the_address_finds_it_again(sending: Sender) -> None:
    for path in ("a", "b"):
        sending.append(sending.begun(path=path), 0, b"abc")

    (found,) = sending.client.get(f"{sending.home}/uploads?path=b").json["items"]

    assert (found["path"], found["offset"], found["length"]) == ("b", 3, len(CONTENT))
    assert sending.append(found["_links"]["self"]["href"], 3, CONTENT[3:]).status == 204
    assert found["is_complete"] is False


def test_an_upload_is_shown_to_people_too(sending: Sender) -> None:
    upload = sending.begun()

    shown = sending.client.get(upload).json

    assert (shown["path"], shown["offset"], shown["manner"]) == ("x", 0, "stream")
