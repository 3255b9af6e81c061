"""Artifacts from the command line, against a real server."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cableferry.client import emx2, resuming, transfers
from cableferry.client.artifacts import Description
from cableferry.client.schemes import Unsigned
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from tests.cli import ferry as program
from tests.cli.ferry import Ended, ferry, serving
from tests.client.scripted import DROP, Line, playing


class Desk:
    """Somebody with a home folder at a server's command line."""

    def __init__(self, home: Path, server: str) -> None:
        self.home = home
        self.server = server

    def ask(self, *arguments: str) -> Ended:
        return ferry(self.home, "artifacts", *arguments, more={"CABLEFERRY_SERVER": self.server})

    def told(self, *arguments: str) -> Any:
        return json.loads(self.ask(*arguments, "--json").out)

    def put(self, *arguments: str) -> Any:
        return self.told("put", *arguments)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with serving(folder / "data", is_open=True) as server:
        yield Desk(folder, server)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three files in two folders, one that is not wanted, and a link out of it all."""
    root = tmp_path / "tree"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a file.txt").write_text("a")
    (root / "sub" / "b#?%.csv").write_text("x,y\n1,2\n3,4\n")
    (root / "sub" / "deep" / "empty").touch()
    (root / "sub" / "scratch.tmp").write_text("not wanted")
    (root / "link").symlink_to("/etc/passwd")
    return root


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_goes_there_and_back(desk: Desk, tree: Path, tmp_path: Path) -> None:
    sent = desk.put(str(tree), "--name", "run-7", "--exclude", "*.tmp")
    artifact = sent["artifact"]["id"]

    fetched = desk.told("get", artifact, "--to", str(tmp_path / "back"))

    assert (sent["artifact"]["status"], sent["files"], sent["bytes"], sent["skipped"]) == ("COMMITTED", 3, 13, 0)
    assert contents(tmp_path / "back") == {
        path: content for path, content in contents(tree).items() if path not in ("link", "sub/scratch.tmp")
    }
    assert (fetched["files"], fetched["skipped"]) == (3, 0)
    assert desk.told("get", artifact, "--to", str(tmp_path / "back"))["skipped"] == 3


def test_an_upload_that_broke_off_goes_on(desk: Desk, tree: Path) -> None:
    half = desk.put(str(tree), "--exclude", "sub", "--no-commit")
    artifact = half["artifact"]["id"]
    (tree / "a file.txt").write_text("b")

    whole = desk.put(str(tree), "--artifact", artifact, "--exclude", "*.tmp")
    again = desk.ask("put", str(tree), "--artifact", artifact)

    assert (half["artifact"]["status"], half["files"]) == ("CREATED", 1)
    assert (whole["artifact"]["status"], whole["files"], whole["skipped"]) == ("COMMITTED", 3, 0)
    assert (again.code, "is committed" in again.err) == (4, True)


def test_what_is_there_already_is_not_sent_again(desk: Desk, tree: Path) -> None:
    artifact = desk.put(str(tree), "--no-commit")["artifact"]["id"]

    again = desk.put(str(tree), "--artifact", artifact)

    assert (again["files"], again["skipped"]) == (4, 4)


def test_some_files_are_fetched(desk: Desk, tree: Path, tmp_path: Path) -> None:
    artifact = desk.put(str(tree))["artifact"]["id"]

    desk.ask("get", artifact, "sub/deep", "a file.txt", "--to", str(tmp_path / "some"))
    missing = desk.ask("get", artifact, "nowhere", "--to", str(tmp_path / "some"))

    assert set(contents(tmp_path / "some")) == {"sub/deep/empty", "a file.txt"}
    assert (missing.code, "has no file nowhere" in missing.err) == (3, True)


def test_artifacts_and_their_files_are_listed(desk: Desk, tree: Path) -> None:
    artifact = desk.put(str(tree), "--name", "listed", "--type", "dataset")["artifact"]["id"]

    found = desk.told("ls", "--search", "LIST", "--type", "dataset")
    files = desk.told("ls", artifact, "sub/")
    shown = desk.told("show", artifact)

    assert [item["id"] for item in found["items"]] == [artifact]
    assert [item["path"] for item in files["items"]] == ["sub/b#?%.csv", "sub/deep/empty", "sub/scratch.tmp"]
    assert (shown["name"], shown["status"]) == ("listed", "COMMITTED")
    for words in (("ls",), ("ls", artifact), ("show", artifact)):
        assert artifact in desk.ask(*words).out or "sub/b#?%.csv" in desk.ask(*words).out


def test_an_artifact_is_deleted(desk: Desk, tree: Path) -> None:
    artifact = desk.put(str(tree))["artifact"]["id"]

    assert desk.ask("rm", artifact).code == 0
    assert desk.ask("show", artifact).code == 3


def test_a_table_is_asked_in_sql(desk: Desk, tree: Path) -> None:
    artifact = desk.put(str(tree / "sub" / "b#?%.csv"), "--type", "tabular", "--format", "csv")["artifact"]["id"]

    rows = desk.told("query", artifact, "SELECT sum(x) AS x, count(*) AS n FROM artifact")
    wrong = desk.ask("query", artifact, "SELECT nothing FROM nowhere")
    nothing = desk.ask("query", desk.put(str(tree / "a file.txt"))["artifact"]["id"], "SELECT 1")

    assert rows == [{"x": 4, "n": 2}]
    assert (wrong.code, nothing.code) == (2, 4)
    assert desk.ask("query", artifact, "SELECT y FROM artifact").out.split() == ["y", "2", "4"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "No such file"),
        (["--exclude", "*", "."], "no file to bring"),
        (["--parallel", "0", "."], "--parallel"),
    ],
)
def test_what_cannot_be_brought_is_said(desk: Desk, arguments: list[str], said: str) -> None:
    ended = desk.ask("put", *arguments)

    assert (ended.code, said in ended.err) == (2, True)


def test_a_name_that_is_no_text_is_said_before_anything_is_sent(desk: Desk, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()

    ended = desk.ask("put", str(tmp_path))

    assert (ended.code, ended.err) == (2, f"Error: {tmp_path}/caf\\udce9: a file's path must be UTF-8\n")


def test_two_files_of_one_name_are_refused(desk: Desk, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "a file.txt").write_text("another")

    ended = desk.ask("put", str(tree), str(tmp_path / "a file.txt"))

    assert (ended.code, "two files would get the path a file.txt" in ended.err) == (2, True)


def test_many_files_are_one_command(desk: Desk, tmp_path: Path) -> None:
    many = tmp_path / "many"
    for number in range(300):
        (many / f"{number % 7}").mkdir(parents=True, exist_ok=True)
        (many / f"{number % 7}" / f"{number}").write_text(str(number))

    sent = desk.put(str(many))
    desk.ask("get", sent["artifact"]["id"], "--to", str(tmp_path / "back"))

    assert sent["files"] == 300
    assert contents(tmp_path / "back") == contents(many)
    with program.client(desk.server) as client:
        assert len(list(client.artifacts.files(sent["artifact"]["id"]))) == 300


def test_files_wait_for_a_server_that_restarts(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    artifact = b'{"id": "a1", "status": "CREATED", "type": "blob", "residence": "managed"}'
    lines = [
        Line(201, artifact),
        Line(200, b'{"items": []}'),
        *[DROP] * 4,
        Line(201, b'{"path": "x"}'),
        Line(200, artifact),
    ]
    with playing(*lines) as script:
        ended = Desk(tmp_path, script.url).ask("put", str(tmp_path / "x"))

    assert (0, "1 files" in ended.out) == (ended.code, True)
    assert ["POST", "GET", *["PUT"] * 5, "POST"] == [asked.method for asked in script.asked]


def test_names_that_a_download_might_use_itself_are_brought_like_all_others(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    names = [f"{stem}{end}" for stem in ("x", "y") for end in ("", ".part", ".part.part", ".tmp")] + ["n" * 255]
    for name in names:
        (tmp_path / "tree" / name).write_text(name)
    artifact = desk.put(str(tmp_path / "tree"))["artifact"]["id"]

    for _ in range(3):
        shutil.rmtree(tmp_path / "back", ignore_errors=True)
        assert 0 == desk.ask("get", artifact, "--to", str(tmp_path / "back")).code
        assert contents(tmp_path / "back") == {name: name.encode() for name in names}


def test_a_file_that_is_also_a_folder_is_told(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "b").write_text("b")
    artifact = desk.put(str(tmp_path / "tree"), "--no-commit")["artifact"]["id"]
    (tmp_path / "a").write_text("a")
    assert 0 == desk.ask("put", str(tmp_path / "a"), "--artifact", artifact).code

    told = desk.ask("get", artifact, "--to", str(tmp_path / "back"))

    assert 1 == told.code
    assert "is a file and a folder" in told.err


def test_a_store_and_an_artifact_are_verified(desk: Desk, tree: Path) -> None:
    (tree / "a file.txt").write_text("!")
    artifact = desk.put(str(tree), "--exclude", "sub")["artifact"]["id"]
    whole = desk.told("verify", artifact)
    everything = desk.told("verify")
    (place,) = (desk.home / "data" / "blobs").glob(f"*/{hashlib.sha256(b'!').hexdigest()}-*")
    place.write_text("b")

    damaged, listed = desk.ask("verify", artifact), desk.ask("verify", "--json")
    place.write_text("!")

    assert (1, 1, 1, []) == tuple(whole[name] for name in ("artifacts", "files", "bytes", "findings"))
    assert everything["files"] >= whole["files"]
    assert 1 == damaged.code == listed.code
    assert f"damaged: {artifact} a file.txt" in damaged.out
    assert (artifact, "a file.txt") in [
        (finding["artifact_id"], finding["path"]) for finding in json.loads(listed.out)["findings"]
    ]
    assert 0 == desk.ask("verify", artifact).code
    assert 3 == desk.ask("verify", "00000000-0000-4000-8000-000000000000").code


def test_a_collection_can_be_rehearsed(desk: Desk, tree: Path) -> None:
    artifact = desk.put(str(tree), "--exclude", "sub")["artifact"]["id"]
    desk.ask("rm", artifact)

    told, done = desk.told("gc", "--dry-run"), desk.ask("gc")

    assert (True, 0) == (told["dry_run"], told["failed"])
    assert 0 == done.code
    assert "wait until nobody reads them" in done.out


def test_a_large_file_goes_on_where_an_earlier_command_stopped(desk: Desk, tmp_path: Path) -> None:
    content = os.urandom(1024) * 33 * 1024
    (tmp_path / "large").write_bytes(content)
    (tmp_path / "small").write_bytes(b"small")
    with closing(emx2.connect(desk.server, Unsigned())) as client:
        artifacts, whole = client.artifacts, transfers.measured(tmp_path / "large")
        artifact = artifacts.create(CreateArtifactBody()).id
        begun = artifacts.begin(artifact, Description("large"), whole.size_bytes, whole.sha256)
        artifacts.append(begun.id, 0, resuming.part(artifacts, whole, 0, resuming.Meter(transfers.ignore)))

        sent = desk.put(str(tmp_path), "--artifact", artifact)

        assert (sent["artifact"]["status"], sent["files"]) == ("COMMITTED", 2)
        assert artifacts.upload(begun.id).is_complete
        assert [file.sha256 for file in artifacts.files(artifact, "large")] == [whole.sha256]
