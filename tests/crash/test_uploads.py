"""A server that is killed at any byte of an upload goes on at the last one that it acknowledged."""

import http.client
import io
import os
import random
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from tusclient.client import TusClient

from cableferry.testing import processes, s3
from cableferry.testing.servers import Client
from tests.dialects.sender import PART, TUS, Sender, head

MIB = 1024 * 1024
PARTS = {"CABLEFERRY_ARTIFACTS__UPLOAD_PART_BYTES": str(MIB)}
AT_ONCE = 16 * 1024


@pytest.mark.crash
@pytest.mark.xdist_group("crash")
def test_killed_at_any_byte_of_an_upload_it_goes_on_there(tmp_path: Path) -> None:
    _survive(tmp_path, PARTS, deaths=12)


@pytest.mark.crash
@pytest.mark.xdist_group("s3")
def test_so_it_does_on_object_storage(tmp_path: Path, s3_server: s3.Server) -> None:
    keys = {f"CABLEFERRY_ARTIFACTS__S3__{name.upper()}": value for name, value in s3_server.config.items()}
    _survive(tmp_path, {**PARTS, **keys, "CABLEFERRY_ARTIFACTS__STORE": s3_server.url("killed")}, deaths=4)


def _survive(folder: Path, settings: Mapping[str, str], deaths: int) -> None:
    chance = random.Random(deaths)
    content = os.urandom(deaths * 2 * MIB + 12_345)
    upload, acknowledged = "", 0
    for _ in range(deaths):
        with processes.running(folder, "--auth-off", settings=settings) as server:
            if not upload:
                sending = Sender(Client(server.port))
                upload = sending.begun(len(content))
            acknowledged = _send_and_kill(server, upload, content, acknowledged, chance)

    with processes.running(folder, "--auth-off", settings=settings) as server:
        client = TusClient(f"http://127.0.0.1:{server.port}{sending.home}/uploads")
        uploader = client.uploader(file_stream=io.BytesIO(content), url=f"http://127.0.0.1:{server.port}{upload}")
        assert acknowledged <= uploader.offset < len(content)
        uploader.upload()
        sending.client = Client(server.port)
        assert sending.file() == content


def _send_and_kill(
    server: processes.Process, upload: str, content: bytes, acknowledged: int, chance: random.Random
) -> int:
    """Send over a few requests until the byte at which the server dies; where the last answer said to go on."""
    offset = _offset(server.port, upload)
    assert offset >= acknowledged
    dies_at = offset + chance.randint(0, 3 * MIB)
    while True:
        part = content[offset : offset + chance.choice([AT_ONCE, 300_000, 5 * MIB])]
        if not _sent(server, upload, offset, part, dies_at):
            return offset
        offset += len(part)


def _sent(server: processes.Process, upload: str, offset: int, part: bytes, dies_at: int) -> bool:
    """Whether the part was acknowledged; the server dies once so many bytes are on their way."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        said = {**TUS, **PART, "Upload-Offset": str(offset), "Content-Length": str(len(part))}
        connection.sendall(head("PATCH", upload, said))
        for start in range(0, len(part), AT_ONCE):
            connection.sendall(part[start : start + AT_ONCE])
            if offset + start + AT_ONCE > dies_at:
                server.kill()
                return False
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 204 ")
    return True


def _offset(port: int, upload: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("HEAD", upload, headers={"Tus-Resumable": "1.0.0"})
        return int(connection.getresponse().headers["Upload-Offset"])
    finally:
        connection.close()
