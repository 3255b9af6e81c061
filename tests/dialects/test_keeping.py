"""Verification, collection and verified downloads, asked of the real server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cableferry.server.settings import ArtifactsSection, RetentionSection
from cableferry.testing import servers
from cableferry.testing.servers import Client, Running
from tests.dialects.test_artifacts import HOME, commit, create, sha256, upload

NOW = RetentionSection(stalled_hours=0, failed_days=0, grace_minutes=0, orphan_hours=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[Running]:
    """One that keeps nothing any longer than it must."""
    usual = servers.settings_in(folder)
    with servers.running(msgspec.structs.replace(usual, artifacts=ArtifactsSection(retention=NOW))) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    return server.client()


def blobs(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


def damage(folder: Path, content: bytes) -> None:
    (found,) = [path for path in blobs(folder) if path.read_bytes() == content]
    found.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def ask(client: Client, target: str, body: object = None) -> Any:
    reply = client.post(f"{HOME}/{target}", body)
    assert 200 == reply.status, reply.body
    return reply.json


def test_an_artifact_is_verified_file_by_file(client: Client, folder: Path) -> None:
    artifact = create(client)
    upload(client, artifact, "good", b"good bytes")
    upload(client, artifact, "sub/bad", b"bad bytes")
    commit(client, artifact)
    before = ask(client, f"{artifact}/verify")
    damage(folder, b"bad bytes")

    after = ask(client, f"{artifact}/verify", {"after": ""})

    assert (2, 19, 0, [], None) == tuple(before[name] for name in ("files", "bytes", "unseen", "findings", "after"))
    (finding,) = after["findings"]
    assert (artifact, "sub/bad", "damaged") == (finding["artifact_id"], finding["path"], finding["problem"])
    assert sha256(b"bad bytes") in finding["expected"]
    assert [] == ask(client, f"{artifact}/verify", {"after": "sub/bad"})["findings"]
    assert 404 == client.post(f"{HOME}/00000000-0000-4000-8000-000000000000/verify").status


def test_a_download_is_verified_on_demand_before_its_first_byte(client: Client, folder: Path) -> None:
    artifact = create(client)
    upload(client, artifact, "x", b"content")
    address = f"{HOME}/{artifact}/files/x"
    assert b"content" == client.get(f"{address}?verify=1").body
    damage(folder, b"content")

    refused = client.get(f"{address}?verify=1")

    assert (500, "damaged") == (refused.status, refused.kind)
    assert sha256(b"content") in str(refused.json["detail"])
    assert 200 == client.get(address).status
    assert 404 == client.get(f"{HOME}/{artifact}/files/y?verify=1").status
    assert 400 == client.get(f"{address}?verify=perhaps").status


def test_a_collection_tells_what_would_go_and_then_lets_it_go(client: Client, folder: Path) -> None:
    open_one, done = create(client, name="half"), create(client)
    upload(client, open_one, "x", b"half")
    upload(client, done, "x", b"whole")
    commit(client, done)
    (folder / "blobs" / "incoming" / "00000000deadbeef").write_bytes(b"lost")

    told = ask(client, "collect", {"dry_run": True})
    assert (True, 1, 0, 1) == (told["dry_run"], told["failed"], told["deleted"], told["orphans"])
    assert [(open_one, "half", "failed")] == [(item["id"], item["name"], item["becomes"]) for item in told["artifacts"]]
    assert 3 == len(blobs(folder))
    collected = ask(client, "collect")

    assert (1, 1, 1, 1) == tuple(collected[name] for name in ("failed", "deleted", "blobs", "orphans"))
    assert [b"whole"] == [path.read_bytes() for path in blobs(folder)]
    assert 404 == client.get(f"{HOME}/{open_one}").status
    assert b"whole" == client.get(f"{HOME}/{done}/files/x").body


def test_a_failed_artifact_takes_nothing_more_and_says_why(tmp_path: Path) -> None:
    usual = servers.settings_in(tmp_path)
    stalling = RetentionSection(stalled_hours=0)
    with servers.running(msgspec.structs.replace(usual, artifacts=ArtifactsSection(retention=stalling))) as running:
        client = running.client()
        artifact = create(client)
        ask(client, "collect")

        shown: Any = client.get(f"{HOME}/{artifact}").json
        refused = upload(client, artifact, "x")

    assert ("FAILED", {"self", "files"}) == (shown["status"], set(shown["_links"]))
    assert "never committed" in shown["detail"]
    assert (409, "artifact-failed") == (refused.status, refused.kind)
