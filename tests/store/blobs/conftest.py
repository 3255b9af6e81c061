"""Every test with `blobs` gets an empty store of bytes of each kind."""

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.store.blobs import Blobs
from cableferry.store.blobs.opening import open_blobs
from cableferry.testing import s3

S3 = pytest.param("s3", marks=pytest.mark.xdist_group("s3"))


@pytest.fixture(params=["folder", "memory", S3])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    match request.param:
        case "folder":
            opened = open_blobs(tmp_path / "artifacts")
        case "memory":
            opened = open_blobs("memory:///")
        case _:
            server: s3.Server = request.getfixturevalue("s3_server")
            opened = open_blobs(server.url(secrets.token_hex(4)), server.config)
    yield opened
    asyncio.run(opened.close())
