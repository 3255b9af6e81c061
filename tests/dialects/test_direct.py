"""Files that clients put into object storage themselves, and fetch from there."""

import hashlib
import http.client
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from cableferry.server.settings import ArtifactsSection, S3Section, Secret
from cableferry.testing import s3, servers
from cableferry.testing.servers import Client, Reply, Running
from tests.dialects.sender import Sender

MIB = 1024 * 1024
CONTENT = os.urandom(2 * MIB + 5)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OVER_S3 = pytest.mark.xdist_group("s3")


@pytest.fixture(scope="module")
def server(s3_server: s3.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    keys = S3Section(s3_server.endpoint, "us-east-1", s3_server.access_key_id, Secret(s3_server.secret_access_key))
    section = ArtifactsSection(store=s3_server.url("direct"), s3=keys, direct_seconds=600)
    settings = servers.settings_in(tmp_path_factory.mktemp("direct"))
    with servers.running(msgspec.structs.replace(settings, artifacts=section)) as running:
        yield running


@pytest.fixture
def sending(server: Running) -> Sender:
    return Sender(server.client())


def ask(sending: Sender, path: str = "x", size: int = len(CONTENT), **more: object) -> Reply:
    body = {"path": path, "size_bytes": size, "part_bytes": MIB, **more}
    return sending.client.post(f"{sending.home}/direct", body)


def ask_storage(method: str, url: str, content: bytes | None = None) -> tuple[int, bytes]:
    """Past our server."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=30)
    try:
        connection.request(method, f"{address.path}?{address.query}", content)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def put(url: str, content: bytes) -> int:
    return ask_storage("PUT", url, content)[0]


def fetch(url: str) -> bytes:
    return ask_storage("GET", url)[1]


def fill(asked: Reply, content: bytes = CONTENT) -> None:
    for part in asked.json["parts"]:
        end = part["offset"] + part["size_bytes"]
        assert put(part["url"], content[part["offset"] : end]) == 200


def complete(sending: Sender, asked: Reply) -> Reply:
    return sending.client.post(asked.json["_links"]["complete"]["href"])


@OVER_S3
def test_a_file_goes_past_the_server_and_is_attached_when_it_is_measured(sending: Sender) -> None:
    asked = ask(sending, "a/x.bin", sha256=SHA256, role="index")
    fill(asked)
    before = sending.file("a/x.bin")

    done = complete(sending, asked)

    assert (asked.status, [part["size_bytes"] for part in asked.json["parts"]]) == (201, [MIB, MIB, 5])
    assert (done.status, done.json["sha256"], done.json["role"]) == (201, SHA256, "index")
    assert (before, sending.file("a/x.bin")) == (None, CONTENT)
    assert sending.client.get(f"{sending.home}/uploads").json["direct"] is True


@OVER_S3
def test_whoever_keeps_an_address_changes_nothing_afterwards(sending: Sender) -> None:
    asked = ask(sending)
    fill(asked)
    complete(sending, asked)

    fill(asked, bytes(len(CONTENT)))

    assert sending.file() == CONTENT


@OVER_S3
def test_a_completion_whose_answer_was_lost_may_be_repeated(sending: Sender) -> None:
    asked = ask(sending)
    fill(asked)

    first, second = complete(sending, asked), complete(sending, asked)

    assert (second.status, second.json) == (first.status, first.json)


WRONG: dict[str, tuple[Callable[[Reply], object], str]] = {
    "missing": (lambda asked: None, "unknown-part"),
    "shorter": (lambda asked: [put(part["url"], b"x") for part in asked.json["parts"]], "inconsistent-upload-length"),
    "other bytes": (lambda asked: fill(asked, bytes(len(CONTENT))), "bad-digest"),
}


@OVER_S3
@pytest.mark.parametrize(("bring", "kind"), WRONG.values(), ids=WRONG)
def test_what_is_not_what_was_said_is_not_attached(
    sending: Sender, bring: Callable[[Reply], object], kind: str
) -> None:
    asked = ask(sending, sha256=SHA256)
    bring(asked)

    refused = complete(sending, asked)
    fill(asked)

    assert (refused.status, refused.kind, sending.file()) == (400, kind, None)
    assert complete(sending, asked).status == 201


@OVER_S3
def test_addresses_are_given_anew_and_given_up(sending: Sender) -> None:
    asked = ask(sending)
    upload = asked.headers["location"]

    again = sending.client.get(f"{upload}/direct").json
    appended = sending.append(upload, 0, b"abc")
    gone = sending.client.call("DELETE", upload)

    assert [part["number"] for part in again["parts"]] == [1, 2, 3]
    assert (appended.status, gone.status, complete(sending, asked).status) == (405, 204, 404)


@OVER_S3
def test_an_empty_file_needs_no_part(sending: Sender) -> None:
    assert complete(sending, ask(sending, size=0)).status == 201
    assert sending.file() == b""


@OVER_S3
def test_a_file_is_fetched_from_where_it_lies(sending: Sender) -> None:
    sending.client.call("PUT", f"{sending.home}/files/one", b"one", {"Content-Type": "text/plain"})
    asked = ask(sending, "several")
    fill(asked)
    complete(sending, asked)

    one = sending.client.get(f"{sending.home}/direct/one")
    several = sending.client.get(f"{sending.home}/direct/several")

    assert (one.status, fetch(one.headers["location"]), one.json["size_bytes"]) == (302, b"one", 3)
    assert several.status == 200
    assert b"".join(fetch(part["url"]) for part in several.json["parts"]) == CONTENT


@OVER_S3
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"size": -1}, 400),
        ({"part_bytes": 1}, 400),
        ({"size": 2**53}, 413),
        ({"sha256": "x"}, 400),
        ({"path": "../x"}, 400),
    ],
    ids=str,
)
def test_what_makes_no_sense_gets_no_address(sending: Sender, body: dict[str, object], status: int) -> None:
    assert ask(sending, **body).status == status


@OVER_S3
def test_a_file_comes_in_so_many_parts_at_most(sending: Sender) -> None:
    assert ask(sending, size=20_000 * MIB).kind == "too-many-parts"


def test_a_folder_has_no_addresses(client: Client, tmp_path: Path) -> None:
    sending = Sender(client)
    sending.put("x", b"abc", "?1")

    refused = [ask(sending), sending.client.get(f"{sending.home}/direct/x")]
    other = sending.client.get(f"{sending.begun()}/direct")

    assert [(reply.status, reply.kind) for reply in (*refused, other)] == [(409, "not-direct")] * 3
    assert sending.client.get(f"{sending.home}/direct/y").status == 404
    assert sending.client.get(f"{sending.home}/uploads").json["direct"] is False
