"""The contract's rulings about the files of artifacts, asked of the real server."""

from typing import Any
from urllib.parse import quote

import pytest

from cableferry.testing.servers import Client
from tests.dialects.test_artifacts import BINARY, HOME, commit, create, sha256, upload

NAMES = [
    "data.parquet",
    "deep/er/and/deeper.txt",
    "with space.csv",
    "hash#question?percent%25plus+amp&.txt",
    "quotes\"'`.txt",
    "back\\slash.txt",
    "caf\u00e9.csv",
    "cafe\u0301.csv",
    "CASE.txt",
    "case.txt",
    "...",
    "x" * 1024,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_comes_back_under_its_name(client: Client, name: str) -> None:
    artifact = create(client)
    content = name.encode()

    uploaded = upload(client, artifact, quote(name), content)
    downloaded = client.get(f"{HOME}/{artifact}/files/{quote(name)}")
    listed: Any = client.get(f"{HOME}/{artifact}/files").json["items"]

    assert (uploaded.status, uploaded.json["path"]) == (201, name)
    assert (downloaded.status, downloaded.body) == (200, content)
    assert [item["path"] for item in listed] == [name]
    assert client.get(listed[0]["_links"]["content"]["href"]).body == content


def test_names_that_differ_in_one_byte_are_different_files(client: Client) -> None:
    artifact = create(client)
    twins = ["caf\u00e9", "cafe\u0301", "Cafe\u0301", "cafe"]
    for name in twins:
        upload(client, artifact, quote(name), name.encode())

    contents = [client.get(f"{HOME}/{artifact}/files/{quote(name)}").body for name in twins]

    assert contents == [name.encode() for name in twins]


@pytest.mark.parametrize(
    "path",
    ["a//b", "a/", "../x", "a/../b", "./a", "%2e%2e/x", "a%2f..%2fb", "a%00b", "a%0ab", "%ff", "%c0%ae", "x" * 1025],
)
def test_a_path_that_could_mean_two_things_is_refused(client: Client, path: str) -> None:
    artifact = create(client)

    replies = [upload(client, artifact, path), client.call("PUT", f"{HOME}/{artifact}/files/{path}", {"size_bytes": 1})]

    assert {reply.status for reply in replies} == {400}
    assert client.get(f"{HOME}/{artifact}").json["status"] == "CREATED"


def test_a_download_says_what_it_is(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "data.parquet")

    for method in ("GET", "HEAD"):
        reply = client.call(method, f"{HOME}/{artifact}/files/data.parquet")
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/vnd.apache.parquet"
        assert reply.headers["content-length"] == "7"
        assert reply.headers["x-content-sha256"] == sha256(b"content")
        assert reply.headers["content-disposition"].startswith('attachment; filename="data.parquet"')
        assert reply.body == (b"content" if method == "GET" else b"")


def test_a_file_is_replaced_by_a_later_one(client: Client) -> None:
    artifact = create(client)
    first = upload(client, artifact, "x", b"first")

    second = upload(client, artifact, "x", b"second")

    assert (second.status, second.json["id"]) == (201, first.json["id"])
    assert client.get(f"{HOME}/{artifact}/files/x").body == b"second"
    assert client.get(f"{HOME}/{artifact}/files").json["total_count"] == 1


def test_an_empty_file_is_a_file(client: Client) -> None:
    artifact = create(client)

    assert upload(client, artifact, "empty.err", b"").json["size_bytes"] == 0
    assert commit(client, artifact).json["sha256"] == sha256(b"")
    assert client.get(f"{HOME}/{artifact}/files/empty.err").body == b""


@pytest.mark.parametrize("header", ["Content-SHA256", "X-Content-SHA256"])
def test_bytes_with_another_hash_are_not_kept(client: Client, header: str) -> None:
    artifact = create(client)

    refused = upload(client, artifact, "x", **{header: sha256(b"other")})

    assert refused.status == 400
    assert client.get(f"{HOME}/{artifact}/files").json["total_count"] == 0


def test_json_with_the_hash_of_binary_bodies_is_a_file(client: Client) -> None:
    artifact, content = create(client), b'{"sha256": "abc", "size_bytes": 1}'

    kept = upload(
        client, artifact, "x.json", content, **{"Content-Type": "application/json", "Content-SHA256": sha256(content)}
    )

    assert (kept.status, kept.json["sha256"]) == (201, sha256(content))
    assert client.get(f"{HOME}/{artifact}/files/x.json").body == content


def test_plain_bytes_can_have_a_role(client: Client) -> None:
    artifact = create(client)

    assert upload(client, artifact, "x?role=index").json["role"] == "index"
    assert upload(client, artifact, "y?role=main").status == 400


def test_a_form_brings_a_file_with_its_role(client: Client) -> None:
    artifact = create(client)
    form = (
        b'--B\r\nContent-Disposition: form-data; name="role"\r\n\r\nprimary\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
        b"a,b\n1,2\n\r\n--B--\r\n"
    )
    kind = {"Content-Type": "multipart/form-data; boundary=B"}

    put = client.call("PUT", f"{HOME}/{artifact}/files/data", form, kind)
    posted = client.call("POST", f"{HOME}/{artifact}/files", form, kind)

    assert (put.status, put.json["role"], put.json["content_type"]) == (201, "primary", "text/csv")
    assert (posted.status, posted.json["path"]) == (201, "a.csv")
    assert client.get(f"{HOME}/{artifact}/files/a.csv").body == b"a,b\n1,2\n"


def test_the_older_way_takes_no_plain_bytes(client: Client) -> None:
    refused = client.call("POST", f"{HOME}/{create(client)}/files", b"content", BINARY)

    assert refused.status == 400
    assert "multipart/form-data" in str(refused.json["detail"])


def test_a_declared_file_of_a_managed_artifact_has_no_content(client: Client) -> None:
    artifact = create(client)
    declared = client.call("PUT", f"{HOME}/{artifact}/files/x", {"sha256": "abc123", "size_bytes": 5})

    reply = client.get(f"{HOME}/{artifact}/files/x")

    assert declared.status == 201
    assert (reply.status, reply.kind) == (404, "no-content")
    assert "has no content" in str(reply.json["detail"])


@pytest.mark.parametrize(
    ("residence", "url", "location"),
    [
        ("http", "https://data.example.org/out", "https://data.example.org/out/a%20b.txt"),
        ("posix", "file:///nfs/out", "file:///nfs/out/a%20b.txt"),
        ("s3", "s3://lake/out/", "s3://lake/out/a%20b.txt"),
    ],
)
def test_a_file_elsewhere_is_where_the_answer_says(client: Client, residence: str, url: str, location: str) -> None:
    artifact = create(client, residence=residence, content_url=url)
    client.call("PUT", f"{HOME}/{artifact}/files/a%20b.txt", {"sha256": "abc123", "size_bytes": 5})

    reply = client.get(f"{HOME}/{artifact}/files/a%20b.txt")

    assert (reply.status, reply.headers["location"]) == (302, location)
    assert reply.json["location"] == (location if residence == "http" else location.replace("%20", " "))
    assert (reply.json["residence"], reply.json["size_bytes"]) == (residence, 5)


def test_no_bytes_come_to_an_artifact_elsewhere(client: Client) -> None:
    refused = upload(client, create(client, residence="posix", content_url="file:///nfs/out"), "x")

    assert (refused.status, refused.kind) == (409, "not-managed")


def test_a_file_is_removed_before_the_commit(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "a/x")
    path = f"{HOME}/{artifact}/files/a/x"

    assert client.call("DELETE", path).status == 204
    assert client.call("DELETE", path).status == 404
    assert client.call("HEAD", path).status == 404


def test_files_are_listed_in_pages(client: Client) -> None:
    artifact = create(client)
    for name in ("b/1", "b/2", "a", "c"):
        upload(client, artifact, name)
    files = f"{HOME}/{artifact}/files"

    def paths(query: str) -> list[str]:
        items: Any = client.get(f"{files}?{query}").json["items"]
        return [item["path"] for item in items]

    assert paths("") == ["a", "b/1", "b/2", "c"]
    assert paths("prefix=b/") == ["b/1", "b/2"]
    assert paths("limit=2&offset=1") == ["b/1", "b/2"]
    assert paths("limit=2&after=b/1") == ["b/2", "c"]
    page = client.get(f"{files}?prefix=b/&limit=1")
    assert (page.json["count"], page.json["total_count"], page.headers["x-total-count"]) == (1, 2, "2")
    assert client.get(f"{files}?limit=-1").status == 400


def test_a_worker_that_asks_for_no_page_gets_every_file(client: Client) -> None:
    artifact = create(client)
    for number in range(101):
        client.call("PUT", f"{HOME}/{artifact}/files/{number:03}", {"size_bytes": 1})

    mine = client.get(f"{HOME}/{artifact}/files", {"X-Worker-Id": "w"})
    other = client.get(f"{HOME}/{artifact}/files")

    assert (mine.json["count"], other.json["count"], other.json["limit"]) == (101, 100, 100)
    assert mine.json["total_count"] == other.json["total_count"] == 101


@pytest.mark.parametrize("content_type", ["a\0b", "text/plain\nX-Evil: 1", "x" * 256])
def test_a_form_that_names_an_impossible_type_is_refused(client: Client, content_type: str) -> None:
    artifact = create(client)
    form = (
        f'--B\r\nContent-Disposition: form-data; name="content_type"\r\n\r\n{content_type}\r\n'
        '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--B--\r\n'
    )
    kind = {"Content-Type": "multipart/form-data; boundary=B"}

    refused = client.call("PUT", f"{HOME}/{artifact}/files/data", form.encode(), kind)

    assert (400, True) == (refused.status, "content_type" in str(refused.json["detail"]))
