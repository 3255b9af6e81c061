"""What a job wrote, on its way into artifacts of a real server: all of it, once, and nothing from elsewhere."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cableferry.client import emx2
from cableferry.client.answers import Artifact, File
from cableferry.client.artifacts import Artifacts, Wanted
from cableferry.client.emx2 import Emx2
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Unsigned
from cableferry.core.jobs import Cause
from cableferry.daemon.collecting import outputs, walking
from cableferry.daemon.collecting.outputs import Memory, Stored, What
from cableferry.daemon.collecting.walking import Found, Tree
from cableferry.daemon.staging import inputs
from cableferry.daemon.staging.desk import Desk, Order, Site
from cableferry.daemon.staging.inputs import Staged
from cableferry.daemon.staging.outcomes import Cancelled, Failed
from cableferry.daemon.staging.verified import Verified
from cableferry.daemon.tailing import redacting
from cableferry.testing import servers
from cableferry.testing.servers import Running
from tests.daemon import plain_server

LONG_AGO = 1_000_000_000
CONTENTS = {
    "result.txt": b"42\n",
    "deep/er/x y#?%é.bin": bytes(range(256)) * 9000,
    "empty": b"",
    "slurm-7.out": b"said",
    "train.log": b"epoch 1\n",
    ".hpc_progress.jsonl": b"{}\n",
}
RESULTS = {
    path: content for path, content in CONTENTS.items() if path in ("result.txt", "deep/er/x y#?%é.bin", "empty")
}


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))


class Head:
    """A server, an output folder, and what a daemon needs to bring the one to the other."""

    def __init__(self, client: Emx2, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.out = folder / "out"
        self.out.mkdir()
        self.verified = Verified(folder / "verified.db")
        self.what = What(os.urandom(16).hex(), 1, "output", "w1")
        self.moved = 0
        self.stop_after = 10**12
        self.noted: list[str] = []

    def desk(self, artifacts: Artifacts | None = None) -> Desk:
        return Desk(
            artifacts or self.client.artifacts,
            self.verified,
            lambda: self.moved >= self.stop_after,
            self.tick,
            self.tick,
        )

    def tick(self, moved: int) -> None:
        self.moved += moved

    def fill(self, files: dict[str, bytes] = CONTENTS) -> None:
        for path, content in files.items():
            write(self.out / path, content)

    def collect(self, artifacts: Artifacts | None = None, known: str | None = None) -> object:
        self.moved = 0
        with Tree(self.out) as tree:
            files, _ = walking.divided(tree.walk().files)
            return outputs.collect(self.desk(artifacts), self.what, tree, files, Memory(known, self.noted.append))

    def stored(self, id_: str | None) -> dict[str, bytes]:
        assert id_ is not None
        found = {}
        for file in self.client.artifacts.files(id_):
            with self.client.artifacts.reading(id_, file.path) as streaming:
                found[file.path] = b"".join(streaming.pieces())
        return found

    def all(self) -> list[Artifact]:
        return list(self.client.artifacts.find(Wanted(job_id=self.what.job_id)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def head(server: Running, tmp_path: Path) -> Iterator[Head]:
    client = emx2.connect(server.address, Unsigned(), ONCE)
    head = Head(client, tmp_path)
    yield head
    head.verified.close()
    client.close()


def walked(folder: Path) -> Found:
    with Tree(folder) as tree:
        return tree.walk()


def test_outputs_and_logs_are_told_apart(head: Head) -> None:
    head.fill({**CONTENTS, "logs/said.txt": b"x"})

    results, logs = walking.divided(walked(head.out).files, "logs")

    assert set(RESULTS) == {file.path for file in results}
    assert {"slurm-7.out", "train.log", "logs/said.txt"} == {file.path for file in logs}


def test_what_is_no_file_of_the_folder_is_left_out_and_told(head: Head) -> None:
    write(head.folder / "secret", b"key")
    head.fill({"real.txt": b"real", "sub/x": b"x"})
    (head.out / "inner").symlink_to("real.txt")
    (head.out / "sub" / "up").symlink_to("../real.txt")
    for name, target in (("outer", "../secret"), ("absolute", "/etc/passwd"), ("dead", "nothing"), ("loop", "loop")):
        (head.out / name).symlink_to(target)
    (head.out / "folder").symlink_to("sub")
    (head.out / "away").symlink_to("..")
    os.mkfifo(head.out / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(head.out / "sock"))
        found = walked(head.out)

    assert ["inner", "real.txt", "sub/up", "sub/x"] == [file.path for file in found.files]
    assert {"absolute", "away", "dead", "folder", "loop", "outer", "pipe", "sock"} == {
        skipped.path for skipped in found.skipped
    }
    assert all(skipped.why for skipped in found.skipped)


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(head: Head) -> None:
    write(head.folder / "elsewhere" / "x", b"secret")
    head.fill({"sub/x": b"mine"})

    with Tree(head.out) as tree:
        (file,) = tree.walk().files
        (head.out / "sub").rename(head.folder / "gone")
        (head.out / "sub").symlink_to(head.folder / "elsewhere")
        outcome = outputs.collect(head.desk(), head.what, tree, [file])

    assert isinstance(outcome, Failed)
    assert Cause.STORING is outcome.cause


def test_names_of_any_bytes_are_spelled_out(head: Head) -> None:
    for name in (b"a\xffb", b"line\nbreak", b"plain"):
        write(Path(os.fsdecode(os.fsencode(head.out) + b"/" + name)), name)

    stored: Any = head.collect()

    assert {"a\\xffb": b"a\xffb", "line\\nbreak": b"line\nbreak", "plain": b"plain"} == head.stored(stored.artifact_id)


def test_results_are_stored_whole(head: Head) -> None:
    head.fill()

    stored: Any = head.collect()

    assert isinstance(stored, Stored)
    assert RESULTS == head.stored(stored.artifact_id)
    artifact = head.client.artifacts.get(str(stored.artifact_id))
    assert ("COMMITTED", "blob", stored.sha256) == (artifact.status, artifact.type, artifact.sha256)
    assert (3, sum(map(len, RESULTS.values()))) == (stored.files, stored.bytes)
    assert [stored.artifact_id] == head.noted


def test_nothing_to_store_makes_no_artifact(head: Head) -> None:
    head.fill({".hpc_progress.jsonl": b"{}\n"})

    assert Stored(None) == head.collect()
    assert [] == head.all()


def test_the_same_again_makes_no_second_artifact(head: Head) -> None:
    head.fill()
    first: Any = head.collect()

    for known in (None, first.artifact_id):
        again: Any = head.collect(known=known)
        assert first == again

    assert 1 == len(head.all())
    head.what = msgspec.structs.replace(head.what, role="log")
    head.collect()
    assert ["blob", "log"] == sorted(str(artifact.type) for artifact in head.all())


def test_what_broke_off_is_continued_in_the_same_artifact(head: Head) -> None:
    head.fill({f"{number}.bin": bytes([number]) * 1_500_000 for number in range(4)})
    head.what = msgspec.structs.replace(head.what, threads=1)
    head.stop_after = 7_000_000  # of 6 million bytes hashed and 6 million sent
    assert Cancelled() == head.collect()
    (begun,) = head.all()
    assert "UPLOADING" == begun.status

    head.stop_after = 10**12
    stored: Any = head.collect()

    assert begun.id == stored.artifact_id
    assert 4 == stored.files
    # the two that were there already are neither hashed nor sent again
    assert 6_000_000 == head.moved


def test_a_large_file_goes_in_parts_and_on_where_it_broke_off(head: Head) -> None:
    content = os.urandom(4_000_000)
    head.fill({"large.bin": content})
    head.client.artifacts.part_bytes = 1_000_000
    head.stop_after = 4_000_000 + 1_500_000  # hashed, and sent: it stops behind the third part
    assert Cancelled() == head.collect()

    head.stop_after = 10**12
    offsets: list[int] = []

    class Noting(Artifacts):
        def append(self, upload_id: str, offset: int, content: Any) -> int:
            offsets.append(offset)
            return super().append(upload_id, offset, content)

    noting = Noting(head.client.artifacts._ask)
    noting.part_bytes = 1_000_000
    stored: Any = head.collect(noting)
    while isinstance(stored, Failed) and stored.may_pass:
        # the server has yet to notice that the first connection is gone
        stored = head.collect(noting)

    assert 2_000_000 <= offsets[0] <= 3_000_000
    assert {"large.bin": content} == head.stored(stored.artifact_id)


def test_a_lost_answer_to_the_creation_makes_no_second_artifact(head: Head) -> None:
    head.fill()
    head.what = msgspec.structs.replace(head.what, can_find=False)
    head.stop_after = 1
    head.collect()
    head.noted.clear()

    head.stop_after = 10**12
    stored: Any = head.collect()

    assert [stored.artifact_id] == head.noted == [artifact.id for artifact in head.all()]


def test_a_site_that_changes_its_mind_gets_another_artifact(head: Head) -> None:
    head.fill()
    head.collect()
    head.what = msgspec.structs.replace(head.what, residence="posix", metadata={"profile": "other"})

    assert isinstance(head.collect(), Stored)
    assert {"managed", "posix"} == {artifact.residence for artifact in head.all()}


def test_what_the_server_gave_up_is_begun_anew(head: Head) -> None:
    head.fill()

    class GivenUp(Artifacts):
        """A server that gave up what was begun."""

        def find(self, wanted: Wanted, most: int | None = None) -> Iterator[Artifact]:
            yield from (msgspec.structs.replace(each, status="FAILED") for each in super().find(wanted, most))

        def get(self, id: str) -> Artifact:
            return msgspec.structs.replace(super().get(id), status="FAILED")

    first: Any = head.collect()
    head.collect(GivenUp(head.client.artifacts._ask), first.artifact_id)

    assert 2 == len(head.all())


def test_what_is_not_written_any_more_is_not_in_the_artifact(head: Head) -> None:
    head.fill({"a": b"1", "b": b"2", "c": b"3" * 2_000_000})
    head.stop_after = 2_000_005
    head.what = msgspec.structs.replace(head.what, threads=1)
    assert Cancelled() == head.collect()
    (head.out / "a").unlink()
    write(head.out / "b", b"two")
    head.stop_after = 10**12

    stored: Any = head.collect()

    assert {"b": b"two", "c": b"3" * 2_000_000} == head.stored(stored.artifact_id)


def test_a_file_that_grows_while_it_is_sent_is_sent_again(head: Head) -> None:
    head.fill({"x.bin": bytes(3_000_000)})
    grown: list[int] = []

    class Growing(Desk):
        def tick(self, moved: int) -> None:
            grown.append(moved)
            if len(grown) == 1:
                with (head.out / "x.bin").open("r+b") as file:
                    file.seek(2_500_000)
                    file.write(b"other")

    with Tree(head.out) as tree:
        desk = Growing(head.client.artifacts, head.verified)
        stored: Any = outputs.collect(desk, head.what, tree, tree.walk().files)

    assert isinstance(stored, Stored)
    assert head.stored(stored.artifact_id)["x.bin"] == (head.out / "x.bin").read_bytes()


def test_secrets_are_not_in_the_log_artifact(head: Head) -> None:
    said = b"".join(b"line %d token=abc%d\n" % (number, number) for number in range(20_000))
    head.fill({"x.log": said, "endless.log": b"." * 200_000 + b" token=abc", "empty.log": b""})
    head.what = msgspec.structs.replace(head.what, role="log", masks=redacting.compiled([r"token=\w+"]))

    with Tree(head.out) as tree:
        stored: Any = outputs.collect(head.desk(), head.what, tree, tree.walk().files)

    assert {
        "x.log": b"".join(b"line %d ***\n" % number for number in range(20_000)),
        "endless.log": b"." * 200_000 + b" ***",
        "empty.log": b"",
    } == head.stored(stored.artifact_id)
    assert said == (head.out / "x.log").read_bytes()


def test_posix_results_stay_where_they_are_and_another_job_takes_them(head: Head) -> None:
    head.fill(RESULTS)
    head.what = msgspec.structs.replace(head.what, residence="posix")

    stored: Any = head.collect()

    artifact = head.client.artifacts.get(stored.artifact_id)
    assert ("COMMITTED", f"file://{head.out}") == (artifact.status, artifact.content_url)
    order = Order(msgspec.json.encode([stored.artifact_id]), head.folder / "input", head.folder / "scratch")
    staged = inputs.stage(head.desk(), Site(roots=(head.folder,)), order)
    assert isinstance(staged, Staged)
    linked = head.folder / "input" / stored.artifact_id
    assert RESULTS == {path: (linked / path).read_bytes() for path in RESULTS}


def test_posix_results_with_names_that_are_no_text_stay_untold(head: Head) -> None:
    head.fill({"plain": b"x"})
    write(Path(os.fsdecode(os.fsencode(head.out) + b"/a\xff")), b"x")
    head.what = msgspec.structs.replace(head.what, residence="posix")

    stored: Any = head.collect()

    assert 1 == stored.files


def test_a_server_that_is_away_may_come_back(head: Head) -> None:
    head.fill()
    away = emx2.connect("http://127.0.0.1:1", Unsigned(), ONCE)

    outcome: Any = head.collect(away.artifacts)

    away.close()
    assert (Cause.STORING, True) == (outcome.cause, outcome.may_pass)


def test_a_file_that_is_too_large_for_the_server_is_given_up_with_a_reason(tmp_path: Path) -> None:
    settings = servers.settings_in(tmp_path / "data")
    section = msgspec.structs.replace(settings.artifacts, upload_limit_bytes=1000)
    with servers.running(msgspec.structs.replace(settings, artifacts=section)) as server:
        client = emx2.connect(server.address, Unsigned(), ONCE)
        head = Head(client, tmp_path)
        head.fill({"x": bytes(2000)})
        outcome: Any = head.collect()
        head.verified.close()
        client.close()

    assert (Cause.STORING, False) == (outcome.cause, outcome.may_pass)
    assert "larger than the 1000 bytes" in outcome.detail


def test_a_server_that_stores_something_else_is_noticed(head: Head) -> None:
    head.fill({"x": b"x"})

    class Liar(Artifacts):
        def put(self, *args: Any) -> File:
            return msgspec.structs.replace(super().put(*args), sha256="ab" * 32)

    outcome: Any = head.collect(Liar(head.client.artifacts._ask))

    assert (Cause.STORING, True) == (outcome.cause, outcome.may_pass)


@pytest.mark.parametrize("residence", ["managed", "posix"])
def test_a_plain_server_is_enough(server: Running, tmp_path: Path, residence: Any) -> None:
    with plain_server.before(server.address) as address:
        client = emx2.connect(address, Unsigned(), ONCE)
        client.artifacts.part_bytes = 1_000_000
        head = Head(client, tmp_path)
        head.fill()
        head.what = msgspec.structs.replace(head.what, can_find=False, residence=residence)

        stored: Any = head.collect()
        again: Any = head.collect(known=stored.artifact_id)

        assert (stored, 3) == (again, stored.files)
        order = Order(msgspec.json.encode([stored.artifact_id]), tmp_path / "input", tmp_path / "scratch")
        staged = inputs.stage(head.desk(), Site(roots=(tmp_path,)), order)
        assert isinstance(staged, Staged), staged
        brought = tmp_path / "input" / stored.artifact_id
        assert RESULTS == {path: (brought / path).read_bytes() for path in RESULTS}
        head.verified.close()
        client.close()


def test_many_files_go_into_one_artifact(head: Head) -> None:
    head.fill({f"{number % 10}/{number}.txt": b"%d" % number for number in range(300)})

    stored: Any = head.collect()

    assert 300 == stored.files == len(list(head.client.artifacts.files(stored.artifact_id)))
