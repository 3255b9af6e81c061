"""Files between a disk and a real server: whole, hashed, and continued where they broke off."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.client import emx2, transfers
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts, Description, Wanted
from cableferry.client.errors import Conflict, NotFound, Unreachable
from cableferry.client.patience import Patience
from cableferry.client.schemes import Signed, Unsigned
from cableferry.client.transfers import WrongHash
from cableferry.core.errors import Invalid
from cableferry.server.settings import AuthSection, Secret
from cableferry.testing import servers
from cableferry.testing.servers import Running
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody
from tests.client.scripted import Line, Script, playing

CONTENT = bytes(range(256)) * 8192  # 2 MiB
SECRET = "a secret of thirty-two characters"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def artifacts(server: Running) -> Iterator[Artifacts]:
    client = emx2.connect(server.address, Unsigned())
    yield client.artifacts
    client.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


@contextmanager
def scripted(*lines: Line) -> Iterator[tuple[Script, Artifacts]]:
    with playing(*lines) as script:
        client = emx2.connect(script.url, Unsigned(), Patience(tries=1), lambda seconds: None)
        yield script, client.artifacts
        client.close()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def create(artifacts: Artifacts, **said: str) -> str:
    return artifacts.create(CreateArtifactBody(**said)).id


def test_a_file_goes_there_and_back(artifacts: Artifacts, source: Path, tmp_path: Path) -> None:
    artifact, moved = create(artifacts, name="there"), []
    sent = transfers.upload(artifacts, artifact, Description("a b/#?%ü", "x/y", "primary"), source, moved.append)
    (listed,) = artifacts.files(artifact)
    back = tmp_path / "back"

    transfers.download(artifacts, artifact, listed, back, moved.append)

    assert back.read_bytes() == CONTENT
    assert (sent.sha256, sent.role, sent.content_type) == (sha256(CONTENT), "primary", "x/y")
    assert (listed.path, listed.size_bytes) == ("a b/#?%ü", len(CONTENT))
    assert sum(moved) == 2 * len(CONTENT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "source"]


def test_a_signed_stream_is_taken(tmp_path: Path, source: Path) -> None:
    settings = servers.settings_in(tmp_path / "data")
    settings = msgspec.structs.replace(settings, auth=AuthSection(shared_secret=Secret(SECRET)))
    with servers.running(settings) as running:
        client = emx2.connect(running.address, Signed("w1", SECRET))
        artifact = create(client.artifacts)

        transfers.upload(client.artifacts, artifact, Description("caf\u00e9 #1"), source)

        assert client.artifacts.commit(artifact, sha256(CONTENT), len(CONTENT)).status == "COMMITTED"
        client.close()


@pytest.mark.parametrize("part", [b"", CONTENT[:1000], CONTENT, CONTENT + b"more", b"other bytes"])
def test_a_download_goes_on_behind_what_is_there(
    artifacts: Artifacts, source: Path, tmp_path: Path, part: bytes
) -> None:
    artifact = create(artifacts)
    file = transfers.upload(artifacts, artifact, Description("x"), source)
    target = tmp_path / "target"
    transfers.part_of(tmp_path / "target").write_bytes(part)

    transfers.download(artifacts, artifact, file, target)

    assert target.read_bytes() == CONTENT


def test_a_file_that_breaks_off_is_asked_for_again_from_there(tmp_path: Path) -> None:
    half = Line(200, CONTENT[:1000], {"Content-Length": str(len(CONTENT))})
    rest = Line(206, CONTENT[1000:], {"Content-Range": f"bytes 1000-{len(CONTENT) - 1}/{len(CONTENT)}"})
    with scripted(half, rest) as (script, artifacts):
        transfers.download(artifacts, "a1", File("x", size_bytes=len(CONTENT)), tmp_path / "x")

    assert (tmp_path / "x").read_bytes() == CONTENT
    assert script.asked[1].headers["range"] == "bytes=1000-"


def test_a_server_that_gives_something_else_is_not_believed(tmp_path: Path) -> None:
    with scripted(Line(200, b"other")) as (_, artifacts), pytest.raises(WrongHash, match="has SHA-256"):
        transfers.download(artifacts, "a1", File("x", sha256=sha256(b"right"), size_bytes=5), tmp_path / "x")

    assert list(tmp_path.iterdir()) == []


def test_a_server_that_stays_away_is_given_up(tmp_path: Path) -> None:
    with scripted(Line(None)) as (_, artifacts), pytest.raises(Unreachable):
        transfers.download(artifacts, "a1", File("x", size_bytes=5), tmp_path / "x")


def test_a_download_waits_for_a_server_that_is_away_or_busy(tmp_path: Path) -> None:
    pauses: list[float] = []
    with playing(Line(None), Line(503, b"{}"), Line(429, b"{}", {"Retry-After": "3"}), Line(200, b"right")) as script:
        client = emx2.connect(script.url, Unsigned(), Patience(tries=4), pauses.append)
        transfers.download(client.artifacts, "a1", File("x", size_bytes=5), tmp_path / "x")
        client.close()

    assert (tmp_path / "x").read_bytes() == b"right"
    assert (3, True) == (len(pauses), pauses[2] > 3)


def test_a_file_is_not_there_is_said(artifacts: Artifacts, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        transfers.download(artifacts, create(artifacts), File("x"), tmp_path / "x")


def test_what_a_server_stored_wrongly_is_noticed(source: Path) -> None:
    with scripted(Line(201, b'{"path": "x", "sha256": "aa"}')) as (_, artifacts), pytest.raises(WrongHash):
        transfers.upload(artifacts, "a1", Description("x"), source)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ""])
def test_no_server_leads_us_out_of_a_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(Invalid):
        transfers.place(tmp_path, path)
    assert transfers.place(tmp_path, "a/b") == tmp_path / "a" / "b"


def test_artifacts_are_listed_and_end(artifacts: Artifacts, source: Path) -> None:
    made = [create(artifacts, type="model", name=f"n{number}") for number in range(3)]
    transfers.upload(artifacts, made[0], Description("x"), source)

    found = [artifact.id for artifact in artifacts.find(Wanted(type="model"))]
    first = [artifact.id for artifact in artifacts.find(Wanted(type="model"), most=1)]
    artifacts.commit(made[0])

    assert (found, first) == (made, made[:1])
    assert artifacts.get(made[0]).status == "COMMITTED"
    with pytest.raises(Conflict):
        artifacts.remove(made[0], "x")
    artifacts.delete(made[0])
    with pytest.raises(NotFound):
        artifacts.get(made[0])


def test_files_elsewhere_are_declared_and_removed(artifacts: Artifacts) -> None:
    artifact = create(artifacts, residence="posix", content_url="file:///nfs/out")

    artifacts.declare(artifact, "a/x", FileMetadataBody(sha256="abc", size_bytes=3))

    assert [(file.path, file.is_stored) for file in artifacts.files(artifact, "a/")] == [("a/x", False)]
    artifacts.remove(artifact, "a/x")
    assert list(artifacts.files(artifact)) == []


# what people, scripts and attackers name files by
_WORDS = st.sampled_from(
    ["..", ".", "", "a", "~", "C:", "\\\\host", "etc", "passwd", "\x00", "%2e%2e", "\u2025", "a.part"]
)


@given(st.lists(_WORDS | st.text(max_size=6), max_size=6).map("/".join) | st.text(max_size=30))
def test_no_path_leads_out_of_the_folder_of_a_download(path: str) -> None:
    folder = Path("/downloads/here")
    try:
        target = transfers.place(folder, path)
    except Invalid:
        return

    for place in (target, transfers.part_of(target)):
        assert folder in Path(os.path.normpath(place)).parents
    assert transfers.part_of(target) != target
    with pytest.raises(Invalid):
        transfers.place(folder, f"{path.rpartition('/')[0]}/{transfers.part_of(target).name}".lstrip("/"))
