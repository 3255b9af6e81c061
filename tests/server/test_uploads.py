"""A file comes as a stream: asked about before its first byte, kept only when it is whole and as announced."""

import base64
import hashlib
import json
import re
import resource
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cableferry.dialects.endpoint import Landing
from cableferry.server.settings import AuthSection, Secret
from cableferry.testing.servers import Reply
from tests.server import serving, streaming
from tests.server.streaming import FILES, LIMIT, PLAIN, Place, Told

SECRET = "what a stream is signed with, 0123456789"
CONTENT = b"what is in the file\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with streaming.streaming(streaming.settings_in(tmp_path)) as place:
        yield place


def _put(place: Place, path: str, content: bytes = CONTENT, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return place.client.call("PUT", f"{FILES}/{path}", content, named)


def _kind(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.kind


@pytest.mark.parametrize("size", [0, 1, 4096, 900_000])
def test_what_comes_is_kept_as_it_came(place: Place, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)

    reply = _put(place, "a.bin", content[:size])

    assert reply.json == {"sha256": hashlib.sha256(content[:size]).hexdigest(), "size_bytes": size}
    assert [content[:size]] == [path.read_bytes() for path in place.blobs()]


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("a/b/c.txt", "a/b/c.txt"),
        ("a%2Fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("with%20space%20%23%3F%25%2B+", "with space #?%++"),
        ("caf%C3%A9/cafe%CC%81", "caf\u00e9/cafe\u0301"),
        ("a//b/", "a//b/"),
        ("..%2f..", "../.."),
    ],
)
def test_a_path_may_hold_anything_and_is_decoded_once(place: Place, sent: str, path: str) -> None:
    assert _put(place, sent).status == 200

    assert list(place.shelf.files) == [path]


@pytest.mark.parametrize("sent", ["a%00b", "a%ff", ""])
def test_a_path_that_is_no_text_is_refused(place: Place, sent: str) -> None:
    assert _put(place, sent).status in (400, 404)
    assert place.blobs() == []


def test_a_refusal_comes_before_the_first_byte(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(streaming.head("PUT", f"{FILES}/closed", PLAIN | {"Content-Length": "500000"}))
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 409 ")
    assert place.blobs() == []


def test_what_is_refused_at_the_end_leaves_nothing(place: Place) -> None:
    assert _put(place, "too%20late").status == 409

    assert place.blobs() == []


def test_a_json_body_to_the_same_path_is_no_file(place: Place) -> None:
    reply = _put(place, "a.bin", b'{"size_bytes":5}', Content_Type="application/json; charset=utf-8")

    assert (reply.status, place.shelf.told, place.shelf.asked) == (200, {"a.bin": Told(5)}, [])


def test_an_endpoint_may_want_no_stream_after_all(place: Place) -> None:
    place.shelf.landing = lambda: None

    replies = [
        place.client.call("PUT", f"{FILES}/a", body, {"Content-Type": None})
        for body in (b'{"size_bytes":5}', b"no JSON")
    ]

    assert ([reply.status for reply in replies], place.shelf.asked, place.blobs()) == ([200, 400], ["a", "a"], [])


def test_a_length_over_the_limit_is_refused_before_anything_is_read(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": str(LIMIT + 1)}))
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"too-large" in answer


def test_a_body_without_a_length_is_read_up_to_the_limit_and_no_further(place: Place) -> None:
    head = streaming.head("PUT", f"{FILES}/a", PLAIN | {"Transfer-Encoding": "chunked"})
    with place.connect() as connection:
        connection.sendall(head)
        for _ in range(LIMIT // 100_000 + 1):
            connection.sendall(b"%x\r\n%s\r\n" % (100_000, b"x" * 100_000))
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert streaming.until(lambda: place.blobs() == [])


def test_the_largest_file_is_taken(place: Place) -> None:
    assert _put(place, "a", b"x" * LIMIT).status == 200


def test_an_endpoint_knows_better_how_much_it_takes(place: Place) -> None:
    place.shelf.landing = lambda: Landing(most_bytes=10)

    assert [_put(place, "a", b"x" * size).status for size in (10, 11)] == [200, 413]


def _digest(algorithm: str, content: bytes = CONTENT) -> str:
    return base64.b64encode(hashlib.new(algorithm, content).digest()).decode()


RIGHT = [
    {"Content-SHA256": SHA256},
    {"Content-SHA256": SHA256.upper()},
    {"X-Content-SHA256": SHA256},
    {"Content-Digest": f"sha-256=:{_digest('sha256')}:"},
    {"Content-Digest": f"unheard=:AAAA:, sha-512=:{_digest('sha512')}:,sha-256=:{_digest('sha256')}:"},
    {"Content-MD5": _digest("md5")},
]
WRONG = [
    {"Content-SHA256": "0" * 64},
    {"X-Content-SHA256": "0" * 64},
    {"Content-Digest": f"sha-256=:{_digest('sha256', b'other')}:"},
    {"Content-Digest": f"sha-256=:{_digest('sha256')}:, sha-512=:{_digest('sha512', b'other')}:"},
    {"Content-MD5": _digest("md5", b"other")},
    {"Content-SHA256": SHA256, "Content-MD5": _digest("md5", b"other")},
]
MALFORMED = [
    {"Content-SHA256": SHA256[:-1]},
    {"Content-SHA256": ""},
    {"X-Content-SHA256": "x" * 64},
    {"Content-Digest": "sha-256=:AAAA:"},
    {"Content-Digest": f"sha-256={_digest('sha256')}"},
    {"Content-Digest": "sha-512=:ä:"},
    {"Content-MD5": "not base64"},
]


@pytest.mark.parametrize("headers", RIGHT, ids=str)
def test_bytes_that_are_what_they_were_said_to_be_are_kept(place: Place, headers: dict[str, str]) -> None:
    assert place.client.call("PUT", f"{FILES}/a", CONTENT, headers).status == 200


@pytest.mark.parametrize("headers", WRONG, ids=str)
def test_other_bytes_than_those_announced_are_refused(place: Place, headers: dict[str, str]) -> None:
    reply = place.client.call("PUT", f"{FILES}/a", CONTENT, headers)

    assert (_kind(reply), place.blobs(), place.shelf.files) == ((400, "bad-digest"), [], {})


@pytest.mark.parametrize("headers", MALFORMED, ids=str)
def test_a_digest_that_is_none_is_refused(place: Place, headers: dict[str, str]) -> None:
    named = {name: value.encode().decode("latin-1") for name, value in headers.items()}

    reply = place.client.call("PUT", f"{FILES}/a", CONTENT, named)

    assert (_kind(reply), place.shelf.asked, place.blobs()) == ((400, "bad-header"), [], [])


def test_the_endpoint_may_know_the_hash(place: Place) -> None:
    place.shelf.landing = lambda: Landing(sha256=SHA256.upper())

    assert [_put(place, "a", content).status for content in (CONTENT, b"other")] == [200, 400]


def test_an_endpoint_gets_the_hashes_that_it_asks_for(place: Place) -> None:
    place.shelf.landing = lambda: Landing(with_md5=True, hashes=frozenset({"sha1"}))
    _put(place, "a")

    arrived = place.shelf.files["a"]
    assert arrived.stored.md5 == hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert arrived.hashes == {"sha1": hashlib.sha1(CONTENT, usedforsecurity=False).hexdigest()}


def _send_half(place: Place, path: str = "a") -> bytes:
    """Half a file, then the end of what the client says; what it hears."""
    head = streaming.head("PUT", f"{FILES}/{path}", PLAIN | {"Content-Length": str(2 * len(CONTENT))})
    with place.connect() as connection:
        connection.sendall(head + CONTENT)
        connection.shutdown(1)
        return connection.recv(65536)


def test_a_body_that_is_shorter_than_it_says_is_refused(place: Place) -> None:
    answer = _send_half(place)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert streaming.until(lambda: place.shelf.asked == ["a"] and place.blobs() == [])


def test_whoever_goes_away_leaves_nothing(place: Place) -> None:
    head = streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": "900000"})
    with place.connect() as connection:
        connection.sendall(head + CONTENT * 20)
        assert streaming.until(lambda: place.shelf.asked == ["a"])

    assert streaming.until(lambda: place.blobs() == [])
    assert place.shelf.files == {}


def test_what_is_longer_than_it_says_is_another_request(place: Place) -> None:
    head = streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": "5"})
    with place.connect() as connection:
        connection.sendall(head + b"right and too much")
        answers = b"".join(iter(lambda: connection.recv(65536), b""))

    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"400"]
    assert place.shelf.files["a"].stored.size_bytes == 5


def test_an_upload_that_may_be_continued_keeps_what_came(place: Place) -> None:
    place.shelf.landing = lambda: Landing(keeps_partial=True)
    _send_half(place)

    assert streaming.until(lambda: "a" in place.shelf.files)
    arrived = place.shelf.files["a"]
    assert (arrived.is_whole, arrived.stored.sha256) == (False, SHA256)
    assert [CONTENT] == [path.read_bytes() for path in place.blobs()]


def test_a_part_that_cannot_be_checked_is_not_kept(place: Place) -> None:
    place.shelf.landing = lambda: Landing(keeps_partial=True)
    head = streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": "900000", "Content-SHA256": SHA256})
    with place.connect() as connection:
        connection.sendall(head + CONTENT)
        assert streaming.until(lambda: place.shelf.asked == ["a"])

    assert streaming.until(lambda: place.blobs() == [])
    assert place.shelf.files == {}


def test_a_stream_that_comes_too_slowly_is_given_up(tmp_path: Path) -> None:
    head = streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": "900000"})

    with streaming.streaming(streaming.settings_in(tmp_path, patience_seconds=1)) as place, place.connect() as slow:
        slow.sendall(head + CONTENT)
        slow.settimeout(0.2)
        answer = b""
        while not answer:
            slow.sendall(b"x")
            try:
                answer = slow.recv(65536)
            except TimeoutError:
                continue

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert streaming.until(lambda: place.blobs() == [])


def test_a_full_disk_is_told_and_nothing_is_damaged(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    with streaming.streaming(streaming.settings_in(tmp_path)) as place:
        place.shelf.landing = lambda: Landing(most_bytes=50_000_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000_000, most))
        try:
            reply = _put(place, "a", b"x" * 20_000_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        assert (_kind(reply), reply.json["retryable"], place.blobs()) == ((507, "storage-full"), True, [])
        assert _put(place, "a", b"x" * 20_000_000).status == 200


def _form(path: str, content: bytes, boundary: str, file_name: str = "a.bin") -> tuple[bytes, dict[str, str]]:
    field = f'--{boundary}\r\nContent-Disposition: form-data; name="path"\r\n\r\n{path}\r\n'
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n\r\n'
    body = f"{field}{head}".encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def _post(place: Place, path: str, content: bytes, key: str | None = None, boundary: str = "b") -> Reply:
    body, headers = _form(path, content, boundary)
    return place.client.post(FILES, body, headers | ({"Idempotency-Key": key} if key else {}))


def test_a_form_brings_a_file_and_its_fields(place: Place) -> None:
    reply = _post(place, "from/a/form", CONTENT)

    arrived = place.shelf.files["from/a/form"]
    assert (reply.status, reply.json) == (201, {"sha256": SHA256, "size_bytes": len(CONTENT)})
    assert (arrived.file_name, arrived.fields) == ("a.bin", {"path": "from/a/form"})
    assert [CONTENT] == [path.read_bytes() for path in place.blobs()]


def test_a_form_whose_file_is_too_large_is_refused(place: Place) -> None:
    assert _post(place, "a", b"x" * (LIMIT + 1)).status == 413
    assert _post(place, "a", b"x" * (2 * LIMIT)).status == 413
    assert place.blobs() == []


def test_a_form_without_a_file_is_refused(place: Place) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="path"\r\n\r\nx\r\n--b--\r\n'

    reply = place.client.post(FILES, body, {"Content-Type": "multipart/form-data; boundary=b"})

    assert (_kind(reply), place.blobs()) == ((400, "malformed"), [])


def test_the_digest_of_a_form_is_that_of_its_body(place: Place) -> None:
    body, headers = _form("a", CONTENT, "b")

    right = place.client.post(FILES, body, headers | {"Content-Digest": f"sha-256=:{_digest('sha256', body)}:"})
    wrong = place.client.post(FILES, body, headers | {"Content-Digest": f"sha-256=:{_digest('sha256')}:"})

    assert (right.status, _kind(wrong)) == (201, (400, "bad-digest"))


def test_a_file_with_a_key_is_kept_once(place: Place) -> None:
    first, second = _post(place, "a", CONTENT, "k"), _post(place, "a", CONTENT, "k", boundary="other")

    assert (second.status, second.body, second.headers["idempotent-replayed"]) == (201, first.body, "true")
    assert (place.shelf.asked, len(place.blobs())) == (["form"], 1)


@pytest.mark.parametrize(("path", "content"), [("b", CONTENT), ("a", b"other")], ids=["field", "bytes"])
def test_a_key_is_good_for_one_file_only(place: Place, path: str, content: bytes) -> None:
    _post(place, "a", CONTENT, "k")

    assert _kind(_post(place, path, content, "k")) == (422, "idempotency-key-reused")
    assert len(place.blobs()) == 1


def test_many_at_once_with_one_key_keep_one_file(place: Place) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: _post(place, "a", CONTENT, "k"), range(16)))

    assert {(reply.status, reply.body) for reply in replies} == {(201, replies[0].body)}
    assert len(place.blobs()) == 1


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Place]:
    with streaming.streaming(streaming.settings_in(tmp_path, AuthSection(shared_secret=Secret(SECRET)))) as place:
        yield place


def _signed(place: Place, body_hash: str, content: bytes = CONTENT, **more: str) -> Reply:
    target = f"{FILES}/a"
    headers = serving.signed(SECRET, "PUT", target, body_hash=body_hash, nonce=uuid.uuid4().hex)
    return place.client.call("PUT", target, content, headers | {n.replace("_", "-"): v for n, v in more.items()})


def test_a_signature_covers_the_hash_that_a_stream_declares(guarded: Place) -> None:
    assert _signed(guarded, SHA256, Content_SHA256=SHA256).status == 200
    assert _signed(guarded, SHA256, Content_Digest=f"sha-256=:{_digest('sha256')}:").status == 200
    assert _signed(guarded, SHA256).status == 401
    assert _kind(_signed(guarded, SHA256, b"other", Content_SHA256=SHA256)) == (400, "bad-digest")


def test_a_stream_that_declares_nothing_is_signed_without_its_body(guarded: Place) -> None:
    assert _signed(guarded, hashlib.sha256().hexdigest()).status == 200


def test_a_recorded_upload_is_not_taken_again(guarded: Place) -> None:
    target = f"{FILES}/a"
    headers = serving.signed(SECRET, "PUT", target, body_hash=SHA256) | {"Content-SHA256": SHA256}

    replies = [guarded.client.call("PUT", target, CONTENT, headers) for _ in range(2)]

    assert ([reply.status for reply in replies], len(guarded.shelf.asked)) == ([200, 401], 1)


def test_the_nonce_of_a_refused_upload_is_spent(guarded: Place) -> None:
    target = f"{FILES}/closed"
    headers = serving.signed(SECRET, "PUT", target, body_hash=SHA256) | {"Content-SHA256": SHA256}

    replies = [guarded.client.call("PUT", target, CONTENT, headers) for _ in range(2)]

    assert [reply.status for reply in replies] == [409, 401]


def test_the_caller_comes_before_the_size_of_a_stream(guarded: Place) -> None:
    with guarded.connect() as connection:
        connection.sendall(streaming.head("PUT", f"{FILES}/a", PLAIN | {"Content-Length": "9" * 15}))
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_signed_json_body_is_covered_by_its_signature(guarded: Place) -> None:
    target, body = f"{FILES}/a", json.dumps({"size_bytes": 1}).encode()
    headers = serving.signed(SECRET, "PUT", target, body) | {"Content-Type": "application/json"}

    assert guarded.client.call("PUT", target, body, headers).status == 200
