"""What becomes of artifacts that live elsewhere, where the settings let the server look."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.server.settings import ArtifactsSection
from cableferry.testing import servers
from cableferry.testing.servers import Client, Reply

HOME = "/api/hpc/artifacts"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shared"
    (root / "job-1").mkdir(parents=True)
    (root / "job-1" / "out #1.bin").write_bytes(b"content")
    return root


@pytest.fixture
def client(tmp_path: Path, root: Path) -> Iterator[Client]:
    settings = servers.settings_in(tmp_path / "server")
    section = ArtifactsSection(posix_roots=[root])
    with servers.running(msgspec.structs.replace(settings, artifacts=section)) as running:
        yield running.client()


def _registered(client: Client, url: str, **files: object) -> str:
    artifact = str(client.post(HOME, {"residence": "posix", "content_url": url}).json["id"])
    for said in files.values():
        assert client.call("PUT", f"{HOME}/{artifact}/files/out%20%231.bin", said).status == 201
    return artifact


def _committed(client: Client, artifact: str, **said: object) -> Reply:
    return client.post(f"{HOME}/{artifact}/commit", said)


def test_what_is_there_as_declared_is_committed(client: Client, root: Path) -> None:
    sha256 = hashlib.sha256(b"content").hexdigest()
    artifact = _registered(client, f"file://{root}/job-1", file={"sha256": sha256, "size_bytes": 7})

    committed = _committed(client, artifact, sha256=sha256, size_bytes=7)

    assert (200, "COMMITTED", sha256, 7) == (
        committed.status,
        committed.json["status"],
        committed.json["sha256"],
        committed.json["size_bytes"],
    )


def test_what_is_not_as_declared_fails_and_says_why(client: Client, root: Path) -> None:
    artifact = _registered(client, f"file://{root}/job-1", file={"sha256": "0" * 64, "size_bytes": 7})

    failed = _committed(client, artifact)

    assert (200, "FAILED") == (failed.status, failed.json["status"])
    assert "file out #1.bin was declared with SHA-256 0000" in str(failed.json)


def test_what_cannot_be_reached_fails(client: Client, root: Path) -> None:
    failed = _committed(client, _registered(client, f"file://{root}/job-2"), sha256="0" * 64)

    assert "FAILED" == failed.json["status"]
    assert f"there is no {root}/job-2" in str(failed.json)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "file://{root}/../server", "file://{root}-2/x"])
def test_what_is_not_below_a_root_is_refused_at_once(client: Client, root: Path, url: str) -> None:
    refused = client.post(HOME, {"residence": "posix", "content_url": url.format(root=root)})

    assert (400, "bad-location") == (refused.status, refused.kind)


def test_a_link_out_of_the_root_tells_nothing_of_what_is_there(client: Client, root: Path) -> None:
    (root / "job-1" / "link").symlink_to(root.parent / "server" / "cableferry.db")

    failed = _committed(client, _registered(client, f"file://{root}/job-1/link"))

    assert "FAILED" == failed.json["status"]
    assert "leads out of the folders" in str(failed.json)
    assert failed.json["size_bytes"] is None
