"""Inputs brought from a real server, from disks and from the web: every byte checked, nothing led astray."""

import hashlib
import http.server
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from cableferry.client import emx2, transfers
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.emx2 import Emx2
from cableferry.client.http import Content
from cableferry.client.patience import ONCE
from cableferry.client.schemes import Unsigned
from cableferry.core import contents
from cableferry.core.jobs import Cause
from cableferry.daemon.staging import inputs
from cableferry.daemon.staging.desk import Desk, Order, Site
from cableferry.daemon.staging.inputs import Staged
from cableferry.daemon.staging.outcomes import Cancelled, Failed
from cableferry.daemon.staging.verified import Verified
from cableferry.daemon.staging.web import Bucket, Web
from cableferry.testing import s3, servers
from cableferry.testing.servers import Running
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody

LONG_AGO = 1_000_000_000
NAMES = {"a.txt": b"alpha", "deep/er/b b#?%.bin": bytes(range(256)) * 40, "café.csv": b"", "a.txt.part": b"no part"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Place:
    """A server with artifacts, and the folders of one attempt."""

    def __init__(self, client: Emx2, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.input = folder / "input"
        self.nfs = folder / "nfs"
        self.nfs.mkdir()
        self.verified = Verified(folder / "verified.db")
        self.moved = 0
        self.stop_after = 10**12
        self.site = Site(roots=(self.nfs,))

    def tick(self, moved: int) -> None:
        self.moved += moved

    def stage(self, wanted: object, artifacts: Artifacts | None = None) -> object:
        self.moved = 0
        desk = Desk(
            artifacts or self.client.artifacts,
            self.verified,
            lambda: self.moved >= self.stop_after,
            self.tick,
            self.tick,
        )
        return inputs.stage(desk, self.site, Order(msgspec.json.encode(wanted), self.input, self.folder / "scratch"))

    def managed(self, files: dict[str, bytes]) -> str:
        artifacts = self.client.artifacts
        id_ = artifacts.create(CreateArtifactBody()).id
        for path, content in files.items():
            artifacts.put(id_, Description(path), Content(partial(iter, [content]), len(content)))
        return artifacts.commit(id_).id

    def elsewhere(self, residence: str, url: str | None, files: dict[str, bytes], whole: str | None = None) -> str:
        artifacts = self.client.artifacts
        id_ = artifacts.create(CreateArtifactBody(residence=residence, content_url=url)).id  # type: ignore[arg-type]  # as the test says
        for path, content in files.items():
            artifacts.declare(id_, path, FileMetadataBody(None, sha256(content), len(content)))
        return artifacts.commit(id_, whole).id

    def posix(self, files: dict[str, bytes], name: str = "data") -> str:
        for path, content in files.items():
            write(self.nfs / name / path, content)
        return self.elsewhere("posix", f"file://{self.nfs / name}", files)

    def found(self, folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))


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


def test_a_full_disk_is_told_apart(place: Place) -> None:
    id_ = place.managed({"a": b"x"})

    failed = place.stage([id_], Huge(place.client.artifacts))

    assert isinstance(failed, Failed)
    assert (Cause.STAGING, True, True) == (failed.cause, failed.may_pass, failed.is_full)


class Huge(Artifacts):
    """A server whose file is larger than any disk."""

    def __init__(self, real: Artifacts) -> None:
        super().__init__(real._ask)

    def files(self, id: str, prefix: str = "") -> Iterator[File]:
        yield File("a", size_bytes=2**60)


def test_a_server_that_is_away_may_come_back(place: Place) -> None:
    id_ = place.managed({"a": b"x"})
    away = emx2.connect("http://127.0.0.1:1", Unsigned(), ONCE)

    failed = place.stage([id_], away.artifacts)

    away.close()
    assert isinstance(failed, Failed)
    assert (Cause.STAGING, True) == (failed.cause, failed.may_pass)


class Page(http.server.BaseHTTPRequestHandler):
    """A web server with one folder, a redirect, and a habit of breaking off."""

    content = bytes(range(256)) * 4096
    breaks = 0

    def do_GET(self) -> None:
        if self.path == "/moved/x.bin":
            self.send_response(302)
            self.send_header("Location", "/data/x.bin")
            self.end_headers()
            return
        if self.path == "/away/x.bin":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/x.bin")
            self.end_headers()
            return
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        body = self.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        self.end_headers()
        if Page.breaks:
            Page.breaks -= 1
            self.wfile.write(body[:1000])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said."""


@pytest.fixture
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_of_the_web_are_streamed_and_continued(place: Place, web: str) -> None:
    Page.breaks = 2
    place.site = Site(web=Web(frozenset({web})))
    for folder in ("data", "moved"):
        id_ = place.elsewhere("http", f"http://{web}/{folder}", {"x.bin": Page.content})
        assert isinstance(place.stage([id_]), Staged)
        assert Page.content == (place.input / id_ / "x.bin").read_bytes()


def test_a_file_at_an_address_of_its_own_needs_no_list(place: Place, web: str) -> None:
    place.site = Site(web=Web(frozenset({web})))
    id_ = place.elsewhere("http", f"http://{web}/data/some%20name.bin", {}, sha256(Page.content))

    assert isinstance(place.stage([id_]), Staged)
    assert Page.content == (place.input / id_ / "some name.bin").read_bytes()


def test_no_place_on_the_web_is_asked_that_is_not_named(place: Place, web: str) -> None:
    id_ = place.elsewhere("http", f"http://{web}/data", {"x.bin": Page.content})
    refused = place.stage([id_])
    place.site = Site(web=Web(frozenset({web})))
    away = place.stage([place.elsewhere("http", f"http://{web}/away", {"x.bin": Page.content})])

    for failed in (refused, away):
        assert isinstance(failed, Failed)
        assert (False, True) == (failed.may_pass, "not among the places" in failed.detail)


@pytest.mark.xdist_group("s3")
def test_files_of_a_bucket_are_streamed_with_its_key(place: Place, s3_server: s3.Server) -> None:
    key = "some dir/x+y é.bin"
    put(s3_server, key, b"in a bucket")
    bucket = Bucket(s3_server.endpoint, "us-east-1", s3_server.access_key_id, s3_server.secret_access_key)
    id_ = place.elsewhere("s3", f"s3://{s3.BUCKET}/some dir", {"x+y é.bin": b"in a bucket"})

    place.site = Site(web=Web(buckets={s3.BUCKET: bucket}))
    assert isinstance(place.stage([id_]), Staged)
    assert b"in a bucket" == (place.input / id_ / "x+y é.bin").read_bytes()
    place.input = place.folder / "again"
    place.site = Site(web=Web(buckets={s3.BUCKET: msgspec.structs.replace(bucket, secret_access_key="wrong")}))
    failed = place.stage([id_])
    assert isinstance(failed, Failed)
    assert (False, True) == (failed.may_pass, "answers 403" in failed.detail)
    assert s3_server.secret_access_key not in repr(bucket)


def put(server: s3.Server, key: str, content: bytes) -> None:
    """By the library of the server's own store, which shares no line with ours."""
    import obstore
    from obstore.store import S3Store

    store = S3Store(
        s3.BUCKET,
        endpoint=server.endpoint,
        access_key_id=server.access_key_id,
        secret_access_key=server.secret_access_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    obstore.put(store, key, content)
