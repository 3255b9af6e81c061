"""Inputs brought from a real server, from disks and from the web: every byte checked, nothing led astray."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client import emx2, transfers
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Unsigned
from cableferry.core import contents
from cableferry.core.jobs import Cause
from cableferry.daemon.staging.desk import Site
from cableferry.daemon.staging.inputs import Staged
from cableferry.daemon.staging.outcomes import Cancelled, Failed
from cableferry.daemon.staging.verified import Verified
from cableferry.testing import servers
from cableferry.testing.servers import Running
from tests.daemon.place import Place, sha256, write

NAMES = {"a.txt": b"alpha", "deep/er/b b#?%.bin": bytes(range(256)) * 40, "café.csv": b"", "a.txt.part": b"no part"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def place(server: Running, tmp_path: Path) -> Iterator[Place]:
    client = emx2.connect(server.address, Unsigned(), ONCE)
    place = Place(client, tmp_path)
    yield place
    place.verified.close()
    client.close()


@pytest.mark.parametrize(
    "shape",
    [
        lambda id_: [id_],
        lambda id_: [{"artifact_id": id_}],
        lambda id_: {"corpus": id_},
        lambda id_: {"corpus": {"artifact_id": id_, "name": "x", "type": "blob", "status": "COMMITTED"}},
        lambda id_: [{"id": id_, "name": "x", "type": "blob", "status": "COMMITTED"}],
        lambda id_: {"corpus": [id_]},
        lambda id_: msgspec.json.encode([id_]).decode(),
    ],
)
def test_every_shape_of_inputs_is_understood(place: Place, shape: Callable[[str], object]) -> None:
    id_ = place.managed({"a.txt": b"alpha"})

    staged = place.stage(shape(id_))

    assert isinstance(staged, Staged)
    assert b"alpha" == (place.input / id_ / "a.txt").read_bytes()
    if isinstance(shape(id_), dict):
        assert b"alpha" == (place.input / "corpus" / "a.txt").read_bytes()


def test_a_managed_artifact_is_downloaded_whole(place: Place) -> None:
    id_ = place.managed(NAMES)

    staged = place.stage([id_])

    assert Staged({id_: place.input / id_}, files=4, bytes=sum(map(len, NAMES.values()))) == staged
    assert NAMES == place.found(place.input / id_)


def test_what_broke_off_goes_on_where_it_was(place: Place) -> None:
    id_ = place.managed({f"{number}.bin": bytes([number]) * 3_000_000 for number in range(4)})
    place.site = Site(threads=1)
    place.stop_after = 5_000_000

    assert Cancelled() == place.stage([id_])
    place.stop_after = 10**12
    before = place.moved
    assert isinstance(place.stage([id_]), Staged)

    # what was whole is read again from this disk, what was half is continued
    assert before >= 5_000_000
    assert 4 == len(place.found(place.input / id_))


def test_a_second_look_brings_nothing(place: Place) -> None:
    id_ = place.managed(NAMES)
    place.stage([id_])

    silent = Silenced(place.client.artifacts)
    assert isinstance(place.stage([id_], silent), Staged)
    assert 0 == silent.readings


class Silenced(Artifacts):
    """The same artifacts, with a count of what is downloaded."""

    def __init__(self, real: Artifacts) -> None:
        super().__init__(real._ask)
        self.readings = 0

    def reading(self, id: str, path: str, start: int = 0) -> object:  # type: ignore[override]  # only counted
        self.readings += 1
        return super().reading(id, path, start)


def test_what_was_changed_on_this_disk_is_a_mismatch_that_names_the_file(place: Place) -> None:
    id_ = place.managed(NAMES)
    place.stage([id_])
    (place.input / id_ / "a.txt").write_bytes(b"other")

    failed = place.stage([id_])

    assert isinstance(failed, Failed)
    assert (Cause.MISMATCH, False) == (failed.cause, failed.may_pass)
    assert failed.detail.startswith(f"input_hash_mismatch: input {id_}: a.txt has SHA-256 ")


def test_a_posix_artifact_is_linked_and_verified(place: Place) -> None:
    id_ = place.posix(NAMES)

    staged = place.stage({"data": id_})

    assert isinstance(staged, Staged)
    assert (place.nfs / "data",) == staged.outside
    assert str(place.nfs / "data") == os.readlink(place.input / id_)
    assert NAMES == place.found(place.input / "data")


def test_a_single_posix_file_is_linked(place: Place) -> None:
    write(place.nfs / "one.bin", b"content")
    id_ = place.elsewhere("posix", f"file://{place.nfs / 'one.bin'}", {"one.bin": b"content"})

    place.stage([id_])

    assert b"content" == (place.input / id_).read_bytes()


def test_what_was_verified_and_has_not_changed_is_not_read_again(place: Place) -> None:
    id_ = place.posix({"big.bin": bytes(5_000_000)})
    place.stage([id_])
    assert 5_000_000 == place.moved

    assert isinstance(place.stage([id_]), Staged)
    assert 0 == place.moved


def test_a_change_is_noticed_though_size_and_time_are_as_they_were(place: Place) -> None:
    id_ = place.posix({"x.bin": b"before"})
    place.stage([id_])
    write(place.nfs / "data" / "x.bin", b"after!")

    failed = place.stage([id_])

    assert isinstance(failed, Failed)
    assert f"input_hash_mismatch: input {id_}: x.bin has SHA-256" in failed.detail


def test_what_is_written_just_now_is_not_remembered(place: Place) -> None:
    path = place.nfs / "x"
    path.write_bytes(b"one")
    place.verified.sha256(path, place.tick)
    place.verified.sha256(path, place.tick)

    assert 6 == place.moved


def test_a_table_that_is_none_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "verified.db").write_bytes(b"no database at all " * 100)
    write(tmp_path / "x", b"x")

    verified = Verified(tmp_path / "verified.db")

    assert [sha256(b"x")] * 2 == [verified.sha256(tmp_path / "x", transfers.ignore) for _ in range(2)]
    verified.close()
    # one that fails costs time, not the job
    assert sha256(b"x") == verified.sha256(tmp_path / "x", transfers.ignore)


def test_a_missing_posix_file_is_named(place: Place) -> None:
    id_ = place.posix({"x.bin": b"x", "y.bin": b"y"})
    (place.nfs / "data" / "y.bin").unlink()

    failed = place.stage([id_])

    assert isinstance(failed, Failed)
    assert (Cause.MISMATCH, True) == (failed.cause, "y.bin is not there" in failed.detail)


def test_a_posix_artifact_without_listed_files_is_hashed_as_found(place: Place) -> None:
    for path, content in NAMES.items():
        write(place.nfs / "old" / path, content)
    url = f"file://{place.nfs / 'old'}"
    right = contents.tree_hash((path, sha256(content)) for path, content in NAMES.items())

    assert isinstance(place.stage([place.elsewhere("posix", url, {}, right)]), Staged)
    failed = place.stage([place.elsewhere("posix", url, {}, "ab" * 32)])
    assert isinstance(failed, Failed)
    assert Cause.MISMATCH is failed.cause


def test_a_posix_artifact_outside_the_roots_is_refused(place: Place) -> None:
    secret = place.folder / "secret"
    write(secret / "key", b"x")
    (place.nfs / "door").symlink_to(secret)
    for url in (f"file://{secret}", f"file://{place.nfs / 'door'}", "file:///etc", f"file://{place.nfs}-other/x"):
        failed = place.stage([place.elsewhere("posix", url, {}, "ab" * 32)])

        assert isinstance(failed, Failed)
        assert (Cause.STAGING, False) == (failed.cause, failed.may_pass) or "is not there" in failed.detail
    assert [] == list(place.input.iterdir())


class Hostile(Artifacts):
    """A server that names its files as it likes."""

    def __init__(self, real: Artifacts, path: str) -> None:
        super().__init__(real._ask)
        self._path = path

    def files(self, id: str, prefix: str = "") -> Iterator[File]:
        yield File(self._path, size_bytes=1)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", ".", "a\nb", "a\0b", "", "x/" * 600])
def test_hostile_names_do_not_leave_the_folder(place: Place, path: str) -> None:
    id_ = place.managed({"a": b"x"})

    failed = place.stage([id_], Hostile(place.client.artifacts, path))

    assert isinstance(failed, Failed)
    assert (Cause.STAGING, False) == (failed.cause, failed.may_pass)
    assert not (place.folder / "x").exists()


@pytest.mark.parametrize("wanted", [["../../x"], ["a/b"], [7], {"x": True}, ["."], [""]])
def test_what_names_no_artifact_is_refused(place: Place, wanted: object) -> None:
    failed = place.stage(wanted)

    assert isinstance(failed, Failed)
    assert failed.detail.startswith("staging: the inputs")


def test_what_is_no_artifact_is_passed_on_and_what_should_be_one_is_missed(place: Place) -> None:
    assert Staged({}, passed=("corpus-01",)) == place.stage({"dataset": "corpus-01"})

    failed = place.stage(["0193d2a0-0000-7000-8000-000000000000"])
    assert isinstance(failed, Failed)
    assert (Cause.STAGING, False) == (failed.cause, failed.may_pass)


def test_a_reference_is_told(place: Place) -> None:
    id_ = place.elsewhere("reference", None, {}, "ab" * 32)

    assert Staged({}, passed=(id_,)) == place.stage([id_])
    assert id_ in (place.input / f"{id_}.json").read_text()


def test_no_inputs_are_no_trouble(place: Place) -> None:
    assert [Staged({})] * 3 == [place.stage(wanted) for wanted in (None, [], {})]


def test_a_full_disk_is_told_apart_from_one_that_is_too_small(place: Place) -> None:
    id_ = place.managed({"a": b"x"})
    disk = os.statvfs(place.folder)
    too_much_now = (disk.f_bavail + disk.f_blocks) // 2 * disk.f_frsize

    for size, may_pass in ((too_much_now, True), (2**60, False)):
        failed = place.stage([id_], Huge(place.client.artifacts, size))
        assert isinstance(failed, Failed)
        assert (Cause.STAGING, may_pass, may_pass) == (failed.cause, failed.may_pass, failed.is_full)


class Huge(Artifacts):
    """A server with a file of a size that nobody sees come."""

    def __init__(self, real: Artifacts, size: int) -> None:
        super().__init__(real._ask)
        self._size = size

    def files(self, id: str, prefix: str = "") -> Iterator[File]:
        yield File("a", size_bytes=self._size)


def test_a_server_that_is_away_may_come_back(place: Place) -> None:
    id_ = place.managed({"a": b"x"})
    away = emx2.connect("http://127.0.0.1:1", Unsigned(), ONCE)

    failed = place.stage([id_], away.artifacts)

    away.close()
    assert isinstance(failed, Failed)
    assert (Cause.STAGING, True) == (failed.cause, failed.may_pass)
