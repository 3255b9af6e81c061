"""A real server for one test, on a free port of this machine, and requests to it as plain as they come."""

import contextlib
import http.client
import itertools
import json
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cableferry.core import signing
from cableferry.core.access import Role
from cableferry.engine import credentials, tokens, users
from cableferry.server import authenticate, serve
from cableferry.server.app import create_app
from cableferry.server.settings import AuthSection, DatabaseSection, ServerSection, Settings
from cableferry.store.tx import Store
from cableferry.testing import stores

_nonces = itertools.count()
Headers = Mapping[str, str]


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return str(self.json["type"]).rpartition(":")[2]


class Server(NamedTuple):
    """Where a server listens and what it keeps its things in."""

    port: int
    store: Store
    settings: Settings
    tls: ssl.SSLContext | None = None

    def call(self, method: str, target: str, body: bytes = b"", headers: Headers | None = None) -> Reply:
        connection = self._connection()
        try:
            connection.request(method, target, body or None, protocol() | dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)


def settings(folder: Path, auth: AuthSection = AuthSection(), **server: Any) -> Settings:  # noqa: B008  # a frozen value
    section = ServerSection(port=0, **server)
    return Settings(server=section, database=DatabaseSection(data_dir=folder), auth=auth)


@contextlib.contextmanager
def serving(
    wanted: Settings,
    url: str | None = None,
    tls: ssl.SSLContext | None = None,
    clock: Callable[[], datetime] = stores.wall_clock,
) -> Iterator[Server]:
    """Serve until the block ends; the store under it is the test's to look into."""
    with stores.opened(url or wanted.database_url, clock) as store:
        app = create_app(wanted, store)
        listening = serve.listen(wanted.server)
        server = serve.server(wanted, app)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield Server(listening.getsockname()[1], store, wanted, tls)
        finally:
            server.should_exit = True
            thread.join()


def protocol() -> dict[str, str]:
    return {
        "X-EMX2-API-Version": "2025-01",
        "X-Request-Id": str(uuid.uuid4()),
        "X-Timestamp": str(int(time.time())),
    }


def signed(
    secret: str,
    method: str,
    target: str,
    body: bytes = b"",
    *,
    worker: str | None = "w1",
    **changed: str,
) -> dict[str, str]:
    """The headers of a signed request; `changed` replaces a part before it is signed."""
    timestamp = changed.get("timestamp", str(int(time.time())))
    nonce = changed.get("nonce", f"nonce-{next(_nonces)}")
    body_hash = changed.get("body_hash", signing.body_hash(body))
    message = signing.canonical(method, target, body_hash, timestamp, nonce)
    signature = signing.sign(secret.encode(), message)
    named = {"X-Worker-Id": worker} if worker else {}
    return {"X-Timestamp": timestamp, "X-Nonce": nonce, "Authorization": f"HMAC-SHA256 {signature}"} | named


def issued(server: Server, worker: str = "w1") -> str:
    """The secret of a new credential."""
    vault = authenticate.open_vault(server.settings)
    wanted = credentials.Wanted(worker, "test")
    return server.store.write(lambda tx: credentials.issue(tx, vault.seal, wanted)).secret


def token(server: Server, role: Role, name: str | None = None) -> str:
    """The text of an API token of a new user with that role."""
    user = name or role.name.lower()
    server.store.write(lambda tx: users.create(tx, user, role, None))
    return server.store.write(lambda tx: tokens.grant(tx, user, tokens.Wanted(role))).text


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)
