"""Uploads that may be continued when the disk is full, the client is slow, or the body is long."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from cableferry.dialects.denials import Locked
from cableferry.server import exchange
from cableferry.server.settings import ArtifactsSection
from cableferry.server.streams import Streams
from cableferry.testing import servers
from tests.dialects.sender import PART, TUS, Sender, head
from tests.server.streaming import until

MIB = 1024 * 1024


@contextmanager
def sending(folder: Path, patience: float = 30, **artifacts: object) -> Iterator[Sender]:
    usual = servers.settings_in(folder)
    section = msgspec.structs.replace(usual.server, patience_seconds=patience)
    settings = msgspec.structs.replace(usual, server=section, artifacts=ArtifactsSection(**artifacts))
    with servers.running(settings) as running:
        yield Sender(running.client())


def places(folder: Path) -> list[int]:
    """The sizes of what is in the store of bytes."""
    return sorted(path.stat().st_size for path in (folder / "blobs").rglob("*") if path.is_file())


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    content = b"x" * (20 * MIB)
    with sending(tmp_path) as sender:
        upload = sender.begun(len(content))
        sender.append(upload, 0, content[:MIB])
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 * MIB, most))
        try:
            refused = sender.append(upload, MIB, content[MIB:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        assert (refused.status, refused.kind, sender.offset(upload)) == (507, "storage-full", MIB)
        assert until(lambda: places(tmp_path) == [MIB])
        assert sender.append(upload, MIB, content[MIB:]).status == 204
        assert sender.file() == content


def test_who_is_too_slow_keeps_what_came(tmp_path: Path) -> None:
    with sending(tmp_path, patience=1) as sender:
        upload = sender.begun(100_000)
        with sender.connect() as slow:
            said = {**TUS, **PART, "Upload-Offset": "0", "Content-Length": "100000"}
            slow.sendall(head("PATCH", upload, said) + b"x" * 5000)
            answer = slow.recv(65536)

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert until(lambda: sender.offset(upload) == 5000)


@pytest.mark.parametrize("size", [3 * MIB, 3 * MIB + 1])
def test_a_long_body_is_kept_as_it_comes(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * 20_000
    with sending(tmp_path, upload_part_bytes=MIB) as sender:
        upload = sender.begun(size)
        with sender.connect() as connection:
            said = {**TUS, **PART, "Upload-Offset": "0", "Content-Length": str(size)}
            connection.sendall(head("PATCH", upload, said) + content[: 2 * MIB])
            assert until(lambda: sender.offset(upload) >= MIB)
            connection.sendall(content[2 * MIB : size])
            assert connection.recv(65536).startswith(b"HTTP/1.1 204 ")

        assert sender.file() == content[:size]
        assert len(places(tmp_path)) >= 2


def test_a_file_is_there_with_its_last_byte_though_the_body_never_ends(tmp_path: Path) -> None:
    with sending(tmp_path) as sender:
        upload = sender.begun(5)
        with sender.connect() as connection:
            said = {**TUS, **PART, "Upload-Offset": "0", "Transfer-Encoding": "chunked"}
            connection.sendall(head("PATCH", upload, said) + b"5\r\nabcde\r\n")

        assert until(lambda: sender.offset(upload) == 5)
        assert sender.file() == b"abcde"


def test_a_checked_body_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    content = b"x" * (3 * MIB)
    with sending(tmp_path, upload_part_bytes=MIB) as sender:
        upload = sender.begun(len(content))
        wrong = sender.append(upload, 0, content, Content_SHA256="0" * 64)

        assert (wrong.status, sender.offset(upload), places(tmp_path)) == (400, 0, [])


def test_no_upload_is_larger_than_the_limit(tmp_path: Path) -> None:
    with sending(tmp_path, resumable_limit_bytes=10) as sender:
        unknown = sender.begun(None)

        assert sender.begin(11).status == 413
        assert sender.append(unknown, 0, b"x" * 11).status == 413
        assert sender.append(unknown, 0, b"x" * 5, Upload_Length=11).status == 413
        assert sender.put("y", b"x" * 11, "?1").status == 413
        assert (sender.append(unknown, 0, b"x" * 10).status, sender.offset(unknown)) == (204, 10)


def test_one_stream_at_a_time_comes_to_an_upload() -> None:
    streams, request = Streams(), exchange.Request("PATCH", "/", b"", {}, None, 0.0, "t")

    with streams.alone("u1", request), streams.alone("u2", request):
        with pytest.raises(Locked), streams.alone("u1", request):
            pass
        assert streams.is_going("u1")
    assert not streams.is_going("u1")
