"""The real server on a free port of this machine, and a client that says exactly what a test tells it to."""

import contextlib
import http.client
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from cableferry.dialects.endpoint import Endpoint
from cableferry.server import serve
from cableferry.server.app import App, create_app
from cableferry.server.settings import DatabaseSection, ServerSection, Settings
from cableferry.store.tx import Store
from cableferry.wire.emx2 import VERSION

Headers = Mapping[str, str | None]

SECONDS = 20


class Reply(msgspec.Struct, frozen=True):
    """What came back, header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        return msgspec.json.decode(self.body, type=dict[str, object])

    @property
    def kind(self) -> str:
        """The last part of a problem's type."""
        return re.split("[:#]", str(self.json.get("type", "")))[-1]


class Client:
    """One caller; each request has the protocol's headers unless a test takes one away by None."""

    def __init__(self, port: int, headers: Headers | None = None) -> None:
        self.port = port
        self._headers = dict(headers or {})

    def call(self, method: str, path: str, body: object = None, headers: Headers | None = None) -> Reply:
        """Bytes are sent as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, content, self._with_protocol(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read())
        finally:
            connection.close()

    def get(self, path: str, headers: Headers | None = None) -> Reply:
        return self.call("GET", path, headers=headers)

    def post(self, path: str, body: object = None, headers: Headers | None = None) -> Reply:
        return self.call("POST", path, body, headers)

    def _with_protocol(self, own: Headers) -> dict[str, str]:
        usual = {
            "X-EMX2-API-Version": VERSION,
            "X-Request-Id": str(uuid.uuid4()),
            "X-Timestamp": str(int(time.time())),
            "Content-Type": "application/json",
        }
        merged = {**usual, **self._headers, **own}
        return {name: value for name, value in merged.items() if value is not None}


class Running(msgspec.Struct, frozen=True):
    """A server that serves until its block ends."""

    app: App
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, headers: Headers | None = None) -> Client:
        return Client(self.port, headers)


def settings_in(folder: Path) -> Settings:
    """A server on a free port whose files are in this folder."""
    return Settings(server=ServerSection(port=0), database=DatabaseSection(data_dir=folder))


@contextlib.contextmanager
def running(settings: Settings, store: Store | None = None, extra: Sequence[Endpoint] = ()) -> Iterator[Running]:
    """The server in a thread of this process; connections wait for it from the first moment."""
    with serve.listen(settings.server) as listening:
        app = create_app(settings, store, extra)
        server = serve.server(settings, app)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield Running(app, listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(SECONDS)
