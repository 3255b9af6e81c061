"""The contract's rulings about artifacts, asked of the real server."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cableferry.server.settings import Emx2Section
from cableferry.testing import servers
from cableferry.testing.servers import Client, Reply
from tests.dialects.desk import Desk

HOME = "/api/hpc/artifacts"
NOWHERE = f"{HOME}/550e8400-e29b-41d4-a716-446655440000"
BINARY = {"Content-Type": "application/octet-stream"}


def create(client: Client, **said: Any) -> str:
    return str(client.post(HOME, said).json["id"])


def upload(client: Client, artifact: str, path: str, content: bytes = b"content", **headers: str) -> Reply:
    return client.call("PUT", f"{HOME}/{artifact}/files/{path}", content, {**BINARY, **headers})


def commit(client: Client, artifact: str, **said: Any) -> Reply:
    return client.post(f"{HOME}/{artifact}/commit", said)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def latest(tmp_path: Path) -> Iterator[Client]:
    settings = servers.settings_in(tmp_path)
    with servers.running(msgspec.structs.replace(settings, emx2=Emx2Section(contract="latest"))) as running:
        yield running.client()


def test_an_artifact_goes_from_created_to_committed(client: Client) -> None:
    created = client.post(HOME, {"type": "tabular", "format": "parquet", "residence": "managed", "name": "n"})
    artifact = str(created.json["id"])

    uploaded = upload(client, artifact, "data.bin")
    uploading = client.get(f"{HOME}/{artifact}").json
    committed = commit(client, artifact, sha256=sha256(b"content"), size_bytes=7)

    assert (created.status, created.json["status"], created.headers["location"]) == (
        201,
        "CREATED",
        f"{HOME}/{artifact}",
    )
    assert uploaded.status == 201
    assert {"artifact_id": artifact, "path": "data.bin", "sha256": sha256(b"content"), "size_bytes": 7}.items() <= (
        uploaded.json.items()
    )
    assert (uploading["status"], uploading["sha256"], uploading["size_bytes"]) == ("UPLOADING", None, None)
    assert (committed.status, committed.json["status"]) == (200, "COMMITTED")
    assert (committed.json["sha256"], committed.json["size_bytes"]) == (sha256(b"content"), 7)
    assert committed.json["committed_at"] is not None
    assert client.get(f"{HOME}/{artifact}").json == committed.json


def test_several_files_have_a_tree_hash(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "b.log", b"content-b")
    upload(client, artifact, "a.log", b"content-a")

    committed = commit(client, artifact)

    assert committed.json["sha256"] == "c0e263e42f78dc50f8c5ee64a4c44fc64988bf497fa31542259f173ac869f097"


def test_the_hash_of_all_bytes_in_order_of_arrival_is_taken_too(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "b.log", b"content-b")
    upload(client, artifact, "a.log", b"content-a")
    whole = sha256(b"content-b" + b"content-a")

    committed = commit(client, artifact, sha256=whole, size_bytes=18)

    assert committed.status == 200
    assert committed.json["sha256"] == "c0e263e42f78dc50f8c5ee64a4c44fc64988bf497fa31542259f173ac869f097"
    assert committed.json["declared_sha256"] == whole
    assert commit(client, artifact, sha256=whole, size_bytes=18).status == 200


@pytest.mark.parametrize("said", ["ABC123", sha256(b"content").upper()])
def test_a_declared_hash_is_the_same_in_capitals(client: Client, said: str) -> None:
    artifact = create(client)
    declared = client.call("PUT", f"{HOME}/{artifact}/files/x", {"sha256": said, "size_bytes": 7})

    committed = commit(client, artifact, sha256=said, size_bytes=7)

    assert (200, declared.json["sha256"]) == (committed.status, committed.json["sha256"])
    assert {"ABC123", sha256(b"content")} > {declared.json["sha256"]}


@pytest.mark.parametrize(
    "declared", [{"sha256": "0" * 64}, {"size_bytes": 8}, {"sha256": sha256(b"content"), "size_bytes": 1}]
)
def test_a_commit_of_something_else_changes_nothing(client: Client, declared: dict[str, Any]) -> None:
    artifact = create(client)
    upload(client, artifact, "x")

    refused = commit(client, artifact, **declared)

    assert (refused.status, refused.json["title"], refused.kind) == (409, "Hash Mismatch", "hash-mismatch")
    assert client.get(f"{HOME}/{artifact}").json["status"] == "UPLOADING"
    assert commit(client, artifact).status == 200


def test_nothing_is_committed_without_files(client: Client) -> None:
    refused = commit(client, create(client))

    assert (refused.status, refused.json["current_state"]) == (409, "CREATED")


def test_nothing_is_committed_whose_files_are_all_gone(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "x")
    client.call("DELETE", f"{HOME}/{artifact}/files/x")

    refused = commit(client, artifact, sha256="a" * 64, size_bytes=5)

    assert (refused.status, refused.kind, refused.json["current_state"]) == (409, "illegal-move", "UPLOADING")
    assert client.get(f"{HOME}/{artifact}").json["sha256"] is None


def test_what_is_committed_never_changes(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "x")
    commit(client, artifact)
    files = f"{HOME}/{artifact}/files"
    metadata = {"path": "y", "sha256": "abc123", "size_bytes": 1}

    replies = [
        upload(client, artifact, "x", b"other"),
        client.call("PUT", f"{files}/y", metadata),
        client.post(files, metadata),
        client.call("DELETE", f"{files}/x"),
        commit(client, artifact, sha256="0" * 64),
    ]

    assert {(reply.status, reply.kind) for reply in replies} == {(409, "committed")}


def test_an_external_artifact_is_committed_as_it_was_declared(client: Client) -> None:
    """Daemons of the first generation register no file at all."""
    artifact = create(client, type="blob", format="mixed", residence="posix", content_url="file:///nfs/outputs/job-123")

    registered = client.get(f"{HOME}/{artifact}").json
    committed = commit(client, artifact, sha256="A" * 64, size_bytes=1024)

    assert registered["status"] == "REGISTERED"
    assert committed.status == 200
    assert (committed.json["sha256"], committed.json["size_bytes"]) == ("a" * 64, 1024)


def test_registered_files_are_what_an_external_artifact_holds(client: Client) -> None:
    artifact = create(client, residence="posix", content_url="file:///nfs/out")
    client.call(
        "PUT", f"{HOME}/{artifact}/files/a/b.bin", {"sha256": sha256(b"b"), "size_bytes": 1, "content_type": "x/y"}
    )
    client.post(f"{HOME}/{artifact}/files", {"path": "c", "sha256": sha256(b"c"), "size_bytes": 1})
    tree = sha256(f"a/b.bin:{sha256(b'b')}c:{sha256(b'c')}".encode())

    assert commit(client, artifact, sha256="0" * 64).json["title"] == "Hash Mismatch"
    assert commit(client, artifact, sha256=tree, size_bytes=2).json["sha256"] == tree
    items: Any = client.get(f"{HOME}/{artifact}/files").json["items"]
    assert [(item["path"], item["size_bytes"], item["is_stored"]) for item in items] == [
        ("a/b.bin", 1, False),
        ("c", 1, False),
    ]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"residence": "managed", "content_url": "file:///x"}, "bad-location"),
        ({"residence": "posix"}, "bad-location"),
        ({"residence": "posix", "content_url": "file:///nfs/../etc"}, "bad-location"),
        ({"residence": "s3", "content_url": "https://x"}, "bad-location"),
        ({"residence": "http", "content_url": "file:///x"}, "bad-location"),
        ({"residence": "cloud"}, "malformed"),
        ({"type": ""}, "malformed"),
        ({"name": "a\nb"}, "malformed"),
        ({"metadata": []}, "malformed"),
    ],
)
def test_an_artifact_that_makes_no_sense_is_refused(client: Client, said: dict[str, Any], kind: str) -> None:
    refused = client.post(HOME, said)

    assert (refused.status, refused.kind) == (400, kind)
    assert refused.json["detail"]


def test_lists_are_filtered_and_paged(client: Client) -> None:
    made = [create(client, type="model", name=f"listing-{number}") for number in range(3)]
    query = f"{HOME}?type=model&q=LISTING-"

    listed = client.get(f"{query}&limit=2")
    newest: Any = client.get(f"{query}&order=newest").json["items"]

    assert (listed.json["count"], listed.json["total_count"], listed.headers["x-total-count"]) == (2, 3, "3")
    assert [item["id"] for item in listed.json["items"]] == made[:2]  # type: ignore[attr-defined]  # a list
    assert [item["id"] for item in newest] == made[::-1]
    assert client.get(f"{query}&status=COMMITTED").json["total_count"] == 0
    assert client.get(f"{HOME}?status=DONE").status == 400


def test_an_artifact_is_deleted_with_its_files(client: Client) -> None:
    artifact = create(client)
    upload(client, artifact, "x")

    assert client.call("DELETE", f"{HOME}/{artifact}").status == 204
    for path in ("", "/files", "/files/x"):
        reply = client.get(f"{HOME}/{artifact}{path}")
        assert (reply.status, reply.kind) == (404, "unknown-artifact")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("DELETE", ""), ("POST", "/commit"), ("GET", "/files"), ("GET", "/files/x"), ("PUT", "/files/x"),
     ("DELETE", "/files/x"), ("POST", "/files")],
)  # fmt: skip
def test_what_is_not_there_is_not_found(client: Client, method: str, path: str) -> None:
    body = {"path": "x"} if method in ("PUT", "POST") else None

    reply = client.call(method, NOWHERE + path, body)

    assert (reply.status, reply.kind) == (404, "unknown-artifact")


def test_a_job_takes_committed_artifacts_as_inputs(desk: Desk) -> None:
    client = desk.client
    ready, half = create(client), create(client)
    upload(client, ready, "x")
    commit(client, ready)
    body = {"processor": desk.processor}

    for inputs in ([ready], [{"artifact_id": ready}], {"data": ready}, {"dataset": "corpus-01"}):
        assert client.post("/api/hpc/jobs", {**body, "inputs": inputs}).json["inputs"] == inputs
    for missing in (half, "550e8400-e29b-41d4-a716-446655440000"):
        refused = client.post("/api/hpc/jobs", {**body, "inputs": [missing]})
        assert (refused.status, refused.kind) == (409, "bad-input")
    kept = client.call("DELETE", f"{HOME}/{ready}")
    assert (kept.status, kept.kind) == (409, "in-use")


def test_a_job_tells_what_came_of_it(desk: Desk) -> None:
    client = desk.client
    job = desk.job_in("STARTED")
    output, log = create(client, type="blob", name="output-1"), create(client, type="log", name="log-1")
    upload(client, output, "x")
    commit(client, output)

    unknown = desk.report(job, "COMPLETED", output_artifact_id="550e8400-e29b-41d4-a716-446655440000")
    done = desk.report(job, "COMPLETED", output_artifact_id=output, log_artifact_id=log)

    assert (unknown.status, unknown.kind) == (409, "bad-input")
    assert done.json["output_artifact"] == {"id": output, "name": "output-1", "type": "blob", "status": "COMMITTED"}
    assert done.json["log_artifact"] == {"id": log, "name": "log-1", "type": "log", "status": "CREATED"}
    listed: Any = client.get(f"/api/hpc/jobs?status=COMPLETED&processor={desk.processor}").json["items"]
    assert listed == [done.json]


def test_types_and_formats_can_be_asked_for(client: Client) -> None:
    known: Any = client.get("/api/hpc/artifact-types").json

    assert {"tabular", "model", "dataset", "log", "report", "container", "blob"} <= {
        item["name"] for item in known["types"]
    }
    assert {"name": "parquet", "media_type": "application/vnd.apache.parquet"} in known["formats"]


def test_other_types_and_formats_are_taken(client: Client) -> None:
    created = client.post(HOME, {"type": "holograms", "format": "holo-9"})

    assert (created.status, created.json["type"], created.json["format"]) == (201, "holograms", "holo-9")


def test_the_latest_edition_has_no_older_way_to_upload(latest: Client) -> None:
    created = latest.post(HOME, {})

    assert set(created.json["_links"]) == {"self", "upload", "files"}  # type: ignore[call-overload]  # a dict


def test_the_latest_edition_wants_a_hash_of_what_is_uploaded(latest: Client) -> None:
    artifact = create(latest)

    refused = upload(latest, artifact, "x")
    taken = upload(latest, artifact, "x", **{"Content-SHA256": sha256(b"content")})

    assert (refused.status, refused.json["detail"]) == (400, "Content-SHA256 header is required for binary uploads")
    assert taken.status == 201


def test_a_committed_table_says_what_it_holds(client: Client) -> None:
    artifact, broken = create(client, type="tabular", format="csv"), create(client, format="parquet")
    upload(client, artifact, "t.csv", b"a,b\n1,x\n2,\n")
    upload(client, broken, "t.parquet", b"this is no table")

    described: Any = commit(client, artifact).json
    failed = commit(client, broken)

    assert (described["schema"]["format"], described["schema"]["rows"]) == ("csv", 2)
    assert [(each["name"], each["type"], each["nullable"]) for each in described["schema"]["columns"]] == [
        ("a", "integer", False),
        ("b", "string", True),
    ]
    assert (failed.status, failed.json["status"], failed.json["schema"]) == (200, "COMMITTED", None)
    assert "Parquet" in str(failed.json["schema_error"])
