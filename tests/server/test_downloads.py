"""A file is sent whole, in parts, or not at all when the client has it; and no further than somebody listens."""

import base64
import email
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from cableferry.dialects.endpoint import Content
from cableferry.testing.servers import Reply
from tests.server import streaming
from tests.server.streaming import FILES, PLAIN, Place

CONTENT = bytes(range(256)) * 100
SIZE = len(CONTENT)
ETAG = f'"{hashlib.sha256(CONTENT).hexdigest()}"'
DIGEST = f"sha-256=:{base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()}:"
MODIFIED = "Thu, 05 Mar 2026 12:50:07 GMT"
BEFORE, AFTER = "Thu, 05 Mar 2026 12:50:06 GMT", "Fri, 06 Mar 2026 00:00:00 GMT"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """With one file that lies in four pieces, one of them empty."""
    with streaming.streaming(streaming.settings_in(tmp_path)) as place:
        parts = [CONTENT[:100], b"", CONTENT[100:20_000], CONTENT[20_000:]]
        pieces = tuple(_piece(place, str(number), part) for number, part in enumerate(parts))
        modified_at = datetime(2026, 3, 5, 12, 50, 7, 586_847, tzinfo=UTC)
        headers = {"Content-Disposition": "attachment"}
        sha256 = hashlib.sha256(CONTENT).hexdigest()
        place.shelf.contents["file"] = Content(pieces, SIZE, "text/csv", ETAG, modified_at, headers, sha256)
        yield place


def _piece(place: Place, name: str, part: bytes) -> tuple[str, int]:
    assert place.client.call("PUT", f"{FILES}/{name}", part).status == 200
    return place.shelf.files[name].stored.place, len(part)


def _get(place: Place, method: str = "GET", **headers: str) -> Reply:
    return place.client.call(method, f"{FILES}/file", None, {n.replace("_", "-"): v for n, v in headers.items()})


def test_the_whole_file_comes_with_what_is_known_of_it(place: Place) -> None:
    reply = _get(place)

    assert (reply.status, reply.body) == (200, CONTENT)
    expected = {
        "content-type": "text/csv",
        "content-length": str(SIZE),
        "content-disposition": "attachment",
        "accept-ranges": "bytes",
        "etag": ETAG,
        "last-modified": MODIFIED,
        "content-digest": DIGEST,
        "repr-digest": DIGEST,
    }
    assert {name: reply.headers.get(name) for name in expected} == expected


def test_a_head_says_the_same_without_the_file(place: Place) -> None:
    usual, head = _get(place), _get(place, "HEAD", Range="bytes=0-1")
    varying = {"date", "x-request-id", "x-trace-id"}

    assert (head.status, head.body) == (200, b"")
    assert {n: v for n, v in head.headers.items() if n not in varying} == {
        n: v for n, v in usual.headers.items() if n not in varying
    }


@pytest.mark.parametrize(
    ("wanted", "start", "stop"),
    [
        ("0-0", 0, 1),
        ("99-100", 99, 101),
        ("50-20049", 50, 20_050),
        (f"{SIZE - 1}-", SIZE - 1, SIZE),
        ("-300", -300, None),
    ],
)
def test_a_part_of_the_file(place: Place, wanted: str, start: int, stop: int | None) -> None:
    reply = _get(place, Range=f"bytes={wanted}")

    first = start % SIZE
    expected = CONTENT[start:stop]
    assert (reply.status, reply.body) == (206, expected)
    assert reply.headers["content-range"] == f"bytes {first}-{first + len(expected) - 1}/{SIZE}"
    assert (reply.headers["repr-digest"], "content-digest" in reply.headers) == (DIGEST, False)


def test_several_parts_of_the_file(place: Place) -> None:
    reply = _get(place, Range="bytes=50-149,0-0,-5,999999-")

    head = f"Content-Type: {reply.headers['content-type']}\r\n\r\n".encode()
    parts = [part for part in email.message_from_bytes(head + reply.body).walk() if not part.is_multipart()]
    assert reply.status == 206
    assert [part["Content-Range"] for part in parts] == [
        f"bytes 50-149/{SIZE}", f"bytes 0-0/{SIZE}", f"bytes {SIZE - 5}-{SIZE - 1}/{SIZE}",
    ]  # fmt: skip
    assert {part["Content-Type"] for part in parts} == {"text/csv"}
    bodies = [part.split(b"\r\n\r\n", 1)[1] for part in reply.body.split(b"\r\n--")[1:-1]]
    assert bodies == [CONTENT[50:150], CONTENT[:1], CONTENT[-5:]]


def test_a_part_that_is_not_there_is_refused_with_the_size(place: Place) -> None:
    reply = _get(place, Range=f"bytes={SIZE}-")

    assert (reply.status, reply.kind, reply.headers["content-range"]) == (
        416,
        "range-not-satisfiable",
        f"bytes */{SIZE}",
    )


def test_an_empty_file_is_sent_with_its_type(place: Place) -> None:
    place.shelf.contents["file"] = Content((), 0, "text/csv", '"empty"')
    reply = _get(place)

    found = reply.status, reply.body, reply.headers["content-length"], reply.headers["content-type"]
    assert found == (200, b"", "0", "text/csv")


def test_a_type_that_no_header_can_carry_is_not_sent(place: Place) -> None:
    content = place.shelf.contents["file"]
    place.shelf.contents["file"] = msgspec.structs.replace(content, content_type="a\r\nX-Evil: 1")

    assert _get(place).headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If_None_Match": ETAG}, 304),
        ({"If_None_Match": f'"other", W/{ETAG}'}, 304),
        ({"If_None_Match": "*"}, 304),
        ({"If_None_Match": '"other"'}, 200),
        ({"If_None_Match": '"other"', "If_Modified_Since": AFTER}, 200),
        ({"If_Modified_Since": MODIFIED}, 304),
        ({"If_Modified_Since": AFTER}, 304),
        ({"If_Modified_Since": BEFORE}, 200),
        ({"If_Modified_Since": "some day"}, 200),
        ({"If_Match": ETAG}, 200),
        ({"If_Match": "*"}, 200),
        ({"If_Match": f'"other" , {ETAG}'}, 200),
        ({"If_Match": f"W/{ETAG}"}, 412),
        ({"If_Match": '"other"'}, 412),
        ({"If_Match": '"other"', "If_None_Match": ETAG}, 412),
        ({"If_Match": ETAG, "If_Unmodified_Since": BEFORE}, 200),
        ({"If_Unmodified_Since": MODIFIED}, 200),
        ({"If_Unmodified_Since": BEFORE}, 412),
        ({"If_Unmodified_Since": "some day"}, 200),
        ({"Range": "bytes=0-1", "If_None_Match": ETAG}, 304),
        ({"Range": "bytes=0-1", "If_Range": ETAG}, 206),
        ({"Range": "bytes=0-1", "If_Range": '"other"'}, 200),
        ({"Range": "bytes=0-1", "If_Range": f"W/{ETAG}"}, 200),
        ({"Range": "bytes=0-1", "If_Range": MODIFIED}, 206),
        ({"Range": "bytes=0-1", "If_Range": AFTER}, 200),
        ({"Range": "bytes=0-1", "If_Range": "some day"}, 200),
        ({"Range": f"bytes={SIZE}-", "If_Range": '"other"'}, 200),
        ({"Range": "lines=0-1"}, 200),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_an_answer_depends_on(place: Place, method: str, headers: dict[str, str], status: int) -> None:
    reply = _get(place, method, **headers)

    if status == 206 and method == "HEAD":
        status = 200
    assert reply.status == status
    assert status not in (200, 206, 304) or reply.headers["etag"] == ETAG


def test_what_is_known_is_not_sent_again(place: Place) -> None:
    reply = _get(place, If_None_Match=ETAG)

    assert (reply.body, "content-length" in reply.headers) == (b"", False)


def test_a_file_that_is_gone_is_our_fault(place: Place) -> None:
    for path in place.blobs():
        path.unlink()

    reply = _get(place)

    assert (reply.status, reply.kind) == (500, "bug")


def test_a_file_that_breaks_off_ends_the_connection(place: Place) -> None:
    content = place.shelf.contents["file"]
    _, (lost, _) = content.pieces[0], content.pieces[3]
    (place.folder / lost).unlink()

    with place.connect() as connection:
        connection.sendall(streaming.head("GET", f"{FILES}/file", PLAIN))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"content-length: {SIZE}".encode() in head
    assert CONTENT.startswith(body)


def test_a_client_that_goes_away_is_read_for_no_longer(place: Place) -> None:
    content = b"x" * 900_000
    pieces = tuple(_piece(place, f"big{number}", content) for number in range(30))
    place.shelf.contents["file"] = Content(pieces, 30 * len(content), "text/csv", '"big"')

    with place.connect() as connection:
        connection.sendall(streaming.head("GET", f"{FILES}/file", PLAIN))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")

    assert streaming.until(lambda: 'method="GET",route="/api/hpc/files/{path}",status="499"' in _metrics(place))


def _metrics(place: Place) -> str:
    return place.client.get("/metrics").body.decode()
