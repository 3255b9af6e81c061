"""Two streams at once, streams that end badly, and writes that depend on what is there, over plain sockets."""

import contextlib
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from cableferry.server.settings import ArtifactsSection, RetentionSection
from cableferry.testing import servers
from cableferry.testing.servers import Client, Running
from tests.dialects.test_artifacts import HOME, commit, create, sha256, upload

AT_ONCE = RetentionSection(grace_minutes=0, orphan_hours=0)
LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    usual = servers.settings_in(tmp_path)
    with servers.running(msgspec.structs.replace(usual, artifacts=ArtifactsSection(retention=AT_ONCE))) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    return server.client()


def blobs(tmp_path: Path) -> list[bytes]:
    """What is in the store of bytes; what goes while one looks is gone."""
    found = []
    for path in (tmp_path / "blobs").rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found.append(path.read_bytes())
    return sorted(found)


def collected(client: Client, tmp_path: Path) -> list[bytes]:
    assert 200 == client.post(f"{HOME}/collect").status
    return blobs(tmp_path)


def begun(server: Running, method: str, target: str, length: int = 0, **more: str) -> socket.socket:
    """A connection that has sent the head of a request."""
    headers = {
        "Host": "x",
        "X-EMX2-API-Version": "2025-01",
        "X-Request-Id": str(uuid.uuid4()),
        "X-Timestamp": str(int(time.time())),
        "Content-Type": "application/octet-stream",
        "Content-Length": str(length),
        "Connection": "close",
        **more,
    }
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def finished(connection: socket.socket, rest: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of what is answered behind the rest."""
    with connection:
        if rest:
            connection.sendall(rest)
        answer = b"".join(iter(lambda: connection.recv(2**20), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


def arrives(tmp_path: Path, size: int) -> None:
    """Wait until so many bytes of a stream have reached the disk."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if sum(path.stat().st_size for path in (tmp_path / "blobs" / "incoming").iterdir()) >= size:
            return
    raise AssertionError("the bytes do not arrive")


def test_what_is_still_on_its_way_at_the_commit_comes_too_late(server: Running, client: Client, tmp_path: Path) -> None:
    artifact = create(client)
    upload(client, artifact, "there", b"there")
    late = begun(server, "PUT", f"{HOME}/{artifact}/files/late", len(LARGE))
    late.sendall(LARGE[:5_000_000])
    arrives(tmp_path, 4_000_000)

    committed = commit(client, artifact)
    status, body = finished(late, LARGE[5_000_000:])

    assert (200, 409) == (committed.status, status)
    assert b"is committed" in body
    assert ["there"] == [item["path"] for item in _listed(client, artifact)]
    assert [b"there"] == blobs(tmp_path)


def test_of_two_writers_of_one_path_the_later_one_stays(server: Running, client: Client, tmp_path: Path) -> None:
    artifact = create(client)
    target = f"{HOME}/{artifact}/files/x"
    first, second = (begun(server, "PUT", target, 6) for _ in range(2))
    first.sendall(b"fir")
    second.sendall(b"sec")

    assert 201 == finished(second, b"ond")[0]
    assert 201 == finished(first, b"st!")[0]

    assert b"first!" == client.get(target).body
    assert [sha256(b"first!")] == [item["sha256"] for item in _listed(client, artifact)]
    assert [b"first!"] == collected(client, tmp_path)


def test_a_download_comes_to_its_end_though_the_file_is_replaced_and_its_bytes_are_collected(
    server: Running, client: Client, tmp_path: Path
) -> None:
    artifact = create(client)
    target = f"{HOME}/{artifact}/files/x"
    upload(client, artifact, "x", LARGE)
    reading = begun(server, "GET", target)
    begin = reading.recv(1000)

    upload(client, artifact, "x", b"new")
    assert [b"new"] == collected(client, tmp_path)
    with reading:
        rest = b"".join(iter(lambda: reading.recv(2**20), b""))

    assert LARGE == (begin + rest).partition(b"\r\n\r\n")[2]
    assert b"new" == client.get(target).body


def test_a_client_that_goes_away_leaves_nothing(server: Running, client: Client, tmp_path: Path) -> None:
    artifact = create(client)
    gone = begun(server, "PUT", f"{HOME}/{artifact}/files/x", len(LARGE))
    gone.sendall(LARGE[:5_000_000])
    arrives(tmp_path, 4_000_000)

    gone.close()

    deadline = time.monotonic() + 20
    while blobs(tmp_path) and time.monotonic() < deadline:
        pass
    assert [] == blobs(tmp_path)
    assert [] == _listed(client, artifact)


def test_a_body_that_is_shorter_than_it_says_is_no_file(server: Running, client: Client, tmp_path: Path) -> None:
    artifact = create(client)
    short = begun(server, "PUT", f"{HOME}/{artifact}/files/x", 10)
    short.sendall(b"12345")
    short.shutdown(socket.SHUT_WR)

    assert 400 == finished(short)[0]
    assert [] == _listed(client, artifact) == blobs(tmp_path)


@pytest.mark.parametrize(
    ("there", "headers", "status"),
    [
        (None, {"If-None-Match": "*"}, 201),
        (b"old", {"If-None-Match": "*"}, 412),
        (b"old", {"If-Match": f'"{sha256(b"old")}"'}, 201),
        (b"old", {"If-Match": f'"{sha256(b"other")}", "{sha256(b"old")}"'}, 201),
        (b"old", {"If-Match": f'"{sha256(b"other")}"'}, 412),
        (b"old", {"If-Match": "*"}, 201),
        (None, {"If-Match": "*"}, 412),
    ],
)
def test_a_write_may_depend_on_what_is_there(
    client: Client, there: bytes | None, headers: dict[str, str], status: int
) -> None:
    artifact = create(client)
    if there is not None:
        upload(client, artifact, "x", there)
    plain = {"Content-Type": "application/octet-stream", **headers}

    reply = client.call("PUT", f"{HOME}/{artifact}/files/x", b"new", plain)

    assert status == reply.status
    left = [sha256(b"new")] if status == 201 else [] if there is None else [sha256(there)]
    assert left == [item["sha256"] for item in _listed(client, artifact)]


def test_of_two_who_expect_nothing_there_one_is_refused(server: Running, client: Client) -> None:
    artifact = create(client)
    target = f"{HOME}/{artifact}/files/x"
    first, second = (begun(server, "PUT", target, 6, **{"If-None-Match": "*"}) for _ in range(2))
    first.sendall(b"fir")
    second.sendall(b"sec")

    assert 201 == finished(second, b"ond")[0]
    assert 412 == finished(first, b"st!")[0]
    assert b"second" == client.get(target).body


@pytest.mark.parametrize("name", ["q%22x", "back\\\\slash", "line%0Aend", "line%0dend"])
def test_a_name_that_clients_write_in_two_ways_is_asked_for_as_a_field(client: Client, name: str) -> None:
    artifact = create(client)
    refused = _posted(client, artifact, f'form-data; name="file"; filename="{name}"')
    taken = _posted(client, artifact, f'form-data; name="file"; filename="{name}"', path=name)

    assert (400, "bad-path") == (refused.status, refused.kind)
    assert (201, name) == (taken.status, taken.json["path"])
    assert b"content" == client.get(f"{HOME}/{artifact}/files/{quote(name)}").body


def _posted(client: Client, artifact: str, disposition: str, path: str | None = None) -> servers.Reply:
    field = "" if path is None else f'--b\r\nContent-Disposition: form-data; name="path"\r\n\r\n{path}\r\n'
    body = f"{field}--b\r\nContent-Disposition: {disposition}\r\n\r\ncontent\r\n--b--\r\n".encode()
    return client.post(f"{HOME}/{artifact}/files", body, {"Content-Type": "multipart/form-data; boundary=b"})


def _listed(client: Client, artifact: str) -> list[Any]:
    items: Any = client.get(f"{HOME}/{artifact}/files").json["items"]
    return list(items)
