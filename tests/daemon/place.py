"""A server with artifacts and the folders of one attempt, for the tests of staging."""

import hashlib
import os
from functools import partial
from pathlib import Path

import msgspec

from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.emx2 import Emx2
from cableferry.client.http import Content
from cableferry.daemon.staging import inputs
from cableferry.daemon.staging.desk import Desk, Order, Site
from cableferry.daemon.staging.verified import Verified
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody

LONG_AGO = 1_000_000_000


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
