"""A server with endpoints that take and give files, as a dialect would have them, and a client that speaks bytes."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from cableferry.core.access import Need
from cableferry.core.errors import Conflict
from cableferry.dialects.endpoint import Answer, Arrived, Call, Content, Endpoint, Landing
from cableferry.server.settings import ArtifactsSection, AuthSection, Settings
from cableferry.store.tx import Tx
from cableferry.testing import servers
from cableferry.testing.servers import Client, Running

FILES = "/api/hpc/files"
PLAIN = {"Content-Type": "application/octet-stream"}
LIMIT = 1_000_000
SECONDS = 20
TAKEN = (Need.CREATE, "Keep a file.", None, "write")


class Told(msgspec.Struct):
    """What a JSON body to the same path says."""

    size_bytes: int


class Kept(msgspec.Struct):
    sha256: str
    size_bytes: int


class Shelf:
    """What came, by its path; nothing of it outlives the test."""

    def __init__(self) -> None:
        self.files: dict[str, Arrived] = {}
        self.contents: dict[str, Content] = {}
        self.told: dict[str, Told] = {}
        self.asked: list[str] = []
        self.landing: Callable[[], Landing | None] = Landing

    def takes(self, tx: Tx, call: Call) -> Landing | None:
        self.asked.append(call.path["path"])
        if call.path["path"] == "closed":
            raise Conflict("nothing comes in here: take another path")
        return self.landing()

    def takes_form(self, tx: Tx, call: Call) -> Landing:
        self.asked.append("form")
        return Landing(form="multipart")

    def put(self, tx: Tx, call: Call) -> Kept | Told:
        path = call.path["path"]
        if call.arrived is None:
            self.told[path] = call.body
            return call.body  # type: ignore[no-any-return]  # the typed body
        if path == "too late":
            raise Conflict("it was closed meanwhile: take another path")
        return self._keep(path, call.arrived)

    def post(self, tx: Tx, call: Call) -> Answer:
        arrived = call.arrived
        assert arrived is not None
        return Answer(self._keep(arrived.fields.get("path") or arrived.file_name or "", arrived), status=201)

    def _keep(self, path: str, arrived: Arrived) -> Kept:
        self.files[path] = arrived
        return Kept(arrived.stored.sha256, arrived.stored.size_bytes)

    def get(self, tx: Tx, call: Call) -> Content:
        return self.contents[call.path["path"]]

    def endpoints(self) -> list[Endpoint]:
        path = f"{FILES}/{{path:path}}"
        return [
            Endpoint("PUT", path, self.put, *TAKEN, body=Told, takes=self.takes, needs_protocol_headers=False),
            Endpoint("POST", FILES, self.post, *TAKEN, takes=self.takes_form, needs_protocol_headers=False),
            Endpoint("GET", path, self.get, Need.READ, "A file.", Content, needs_protocol_headers=False),
        ]


class Place(msgspec.Struct, frozen=True):
    """The running server, what came to it, and the folder of its bytes."""

    running: Running
    shelf: Shelf
    folder: Path

    @property
    def client(self) -> Client:
        return self.running.client(PLAIN)

    def blobs(self) -> list[Path]:
        """Every file in the store of bytes."""
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.running.port), timeout=20)


def settings_in(folder: Path, auth: AuthSection = AuthSection(), **server: object) -> Settings:  # noqa: B008  # frozen
    usual = servers.settings_in(folder)
    section = msgspec.structs.replace(usual.server, **server)
    artifacts = ArtifactsSection(upload_limit_bytes=LIMIT)
    return msgspec.structs.replace(usual, server=section, auth=auth, artifacts=artifacts)


@contextlib.contextmanager
def streaming(settings: Settings) -> Iterator[Place]:
    shelf = Shelf()
    with servers.running(settings, extra=shelf.endpoints()) as running:
        yield Place(running, shelf, settings.database.data_dir / "blobs")


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def until(is_so: Callable[[], bool]) -> bool:
    """Wait for what is about to be so."""
    deadline = time.monotonic() + SECONDS
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()
