"""Large files go to a server in parts, and on where they broke off."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cableferry.client import emx2, transfers
from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.errors import Invalid, Unreachable
from cableferry.client.patience import Patience
from cableferry.client.schemes import Signed, Unsigned
from cableferry.testing import processes, servers
from cableferry.testing.servers import Running
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from tests.client.scripted import DROP, Line, Script, playing

CONTENT = os.urandom(1_000_000)
PART = 300_000
SECRET = "a secret of thirty-two characters"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def artifacts(server: Running) -> Iterator[Artifacts]:
    with closing(emx2.connect(server.address, Unsigned())) as client:
        client.artifacts.part_bytes = PART
        yield client.artifacts


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


def create(artifacts: Artifacts) -> str:
    return artifacts.create(CreateArtifactBody()).id


def stored(artifacts: Artifacts, artifact: str, path: str) -> bytes:
    with artifacts.reading(artifact, path) as streaming:
        return b"".join(streaming.pieces())


def test_a_large_file_comes_in_parts(artifacts: Artifacts, source: Path) -> None:
    artifact, moved = create(artifacts), []

    file = transfers.upload(artifacts, artifact, Description("ä/x #1", "x/y", "index"), source, moved.append)

    assert (file.size_bytes, file.role, file.content_type) == (len(CONTENT), "index", "x/y")
    assert stored(artifacts, artifact, "ä/x #1") == CONTENT
    assert sum(moved) == len(CONTENT)
    assert artifacts.uploads(artifact) == []


def test_what_another_run_brought_is_not_sent_again(artifacts: Artifacts, source: Path) -> None:
    artifact, moved = create(artifacts), []
    whole = transfers.measured(source)
    begun = artifacts.begin(artifact, Description("x"), whole.size_bytes, whole.sha256)
    artifacts.begin(artifact, Description("x"), whole.size_bytes, "0" * 64)
    part = transfers.resuming.part(artifacts, whole, 0, transfers.Meter(lambda moved: None))
    offset = artifacts.append(begun.id, 0, part)

    transfers.upload(artifacts, artifact, Description("x"), source, moved.append)

    assert (offset, moved[0], sum(moved)) == (PART, PART, len(CONTENT))
    assert stored(artifacts, artifact, "x") == CONTENT


def test_a_file_that_changed_while_it_was_sent_is_refused(artifacts: Artifacts, source: Path) -> None:
    artifact = create(artifacts)
    changed = iter([lambda: source.write_bytes(CONTENT[:-1] + b"?")])

    with pytest.raises(Invalid) as refused:
        transfers.upload(artifacts, artifact, Description("x"), source, lambda moved: next(changed, int)())
    assert refused.value.kind == "bad-digest"
    assert list(artifacts.files(artifact)) == []


def test_a_signed_file_comes_in_parts_and_through_a_restart(tmp_path: Path, source: Path) -> None:
    settings = {"CABLEFERRY_AUTH__SHARED_SECRET": SECRET}
    with processes.running(tmp_path, settings=settings) as process, _client(process.port) as client:
        artifact = create(client.artifacts)
        with pytest.raises(Unreachable):
            transfers.upload(client.artifacts, artifact, Description("x"), source, _Killing(process))

    with processes.running(tmp_path, settings=settings) as process, _client(process.port) as client:
        (begun,) = client.artifacts.uploads(artifact)
        moved: list[int] = []
        transfers.upload(client.artifacts, artifact, Description("x"), source, moved.append)

        assert begun.offset >= PART
        assert (moved[0], sum(moved)) == (begun.offset, len(CONTENT))
        assert stored(client.artifacts, artifact, "x") == CONTENT


class _Killing:
    """Ends the server when the first part is taken and the second one is on its way."""

    def __init__(self, process: processes.Process) -> None:
        self._process = process
        self._moved = 0

    def __call__(self, moved: int) -> None:
        before, self._moved = self._moved, self._moved + moved
        if before <= PART < self._moved:
            self._process.kill()


def _client(port: int) -> "closing[emx2.Emx2]":
    client = emx2.connect(f"http://127.0.0.1:{port}", Signed("w1", SECRET), Patience(tries=1))
    client.artifacts.part_bytes = PART
    return closing(client)


@pytest.fixture
def script() -> Iterator[Script]:
    with playing() as script:
        yield script


def _scripted(script: Script, source: Path, *lines: Line) -> list[int]:
    script.lines = list(lines)
    moved: list[int] = []
    with closing(emx2.connect(script.url, Unsigned(), Patience(tries=1), lambda seconds: None)) as client:
        client.artifacts.part_bytes = PART
        transfers.upload(client.artifacts, "a1", Description("x"), source, moved.append)
    return moved


PLAIN = Line(201, b'{"path": "x"}')
CAN = Line(204, b"", {"Tus-Extension": "creation"})
BEGUN = Line(201, b"", {"Location": "/api/hpc/uploads/u1"})
NONE = Line(200, b'{"items": []}')
THERE = Line(200, b'{"items": [{"path": "x"}], "count": 1, "total_count": 1}')


def took(offset: int) -> Line:
    return Line(204, b"", {"Upload-Offset": str(offset)})


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_that_takes_no_parts_is_sent_the_whole(script: Script, source: Path, status: int) -> None:
    moved = _scripted(script, source, Line(status, b"{}"), PLAIN)

    assert [asked.method for asked in script.asked] == ["OPTIONS", "PUT"]
    assert (script.asked[1].body, sum(moved)) == (CONTENT, len(CONTENT))


def test_a_lost_answer_is_looked_for(script: Script, source: Path) -> None:
    looked = Line(200, b'{"id": "u1", "offset": 300000}')
    lines = [CAN, NONE, BEGUN, DROP, looked, took(600_000), took(900_000), took(1_000_000), THERE]

    moved = _scripted(script, source, *lines)

    methods = [asked.method for asked in script.asked]
    assert methods == ["OPTIONS", "GET", "POST", "PATCH", "GET", "PATCH", "PATCH", "PATCH", "GET"]
    assert script.asked[5].headers["upload-offset"] == "300000"
    assert script.asked[5].body == CONTENT[300_000:600_000]
    assert sum(moved) == len(CONTENT)


def test_a_part_that_has_to_be_sent_again_is_taken_back(script: Script, source: Path) -> None:
    nothing = Line(200, b'{"id": "u1", "offset": 0}')
    lines = [CAN, NONE, BEGUN, DROP, nothing, took(300_000), took(600_000), took(900_000), took(1_000_000), THERE]

    moved = _scripted(script, source, *lines)

    assert min(moved) == -PART
    assert sum(moved) == len(CONTENT)


def test_a_server_that_stays_away_is_given_up(script: Script, source: Path) -> None:
    with pytest.raises(Unreachable):
        _scripted(script, source, CAN, NONE, BEGUN, DROP)
