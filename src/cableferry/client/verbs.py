"""The verbs of HTTP as every contract of ours uses them, and what is read from their answers."""

import contextlib
import uuid
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from cableferry.client.caller import Ask, Caller
from cableferry.client.errors import BadAnswer, NotFound
from cableferry.client.http import Content, Reply, Streaming

A = TypeVar("A")


class Verbs:
    """Calls below one prefix of one server."""

    def __init__(self, caller: Caller, prefix: str) -> None:
        self._caller = caller
        self._prefix = prefix
        self.session: str | None = None

    @property
    def base_url(self) -> str:
        return self._caller.connection.base_url

    def close(self) -> None:
        self._caller.connection.close()

    def get(self, path: str, wait: int = 0, headers: dict[str, str] | None = None) -> Reply:
        asked = {"Prefer": f"wait={wait}"} if wait else {}
        return self._call(Ask("GET", self._prefix + path, headers={**asked, **(headers or {})}, wait_seconds=wait))

    def post(self, path: str, body: msgspec.Struct | None = None, key: str | None = None) -> Reply:
        """What must happen once, however often it is tried."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return self._call(Ask("POST", self._prefix + path, _encoded(body), headers))

    def tell(self, path: str, body: msgspec.Struct | None = None, wait: int = 0) -> Reply:
        """What may happen again: the server keeps each answer to a key for a day, and this is told all day long."""
        return self._call(Ask("POST", self._prefix + path, _encoded(body), wait_seconds=wait))

    def put(self, path: str, body: Content | msgspec.Struct, headers: dict[str, str] | None = None) -> Reply:
        """What is the same however often it is done; of a stream, the server is told what it must be."""
        return self.send("PUT", path, body if isinstance(body, Content) else _encoded(body), headers)

    def send(self, method: str, path: str, body: bytes | Content = b"", headers: dict[str, str] | None = None) -> Reply:
        """Any other call that may be repeated; of a stream, the server is told what it must be."""
        hashed = {"Content-SHA256": body.sha256} if isinstance(body, Content) and body.sha256 else {}
        return self._call(Ask(method, self._prefix + path, body, {**(headers or {}), **hashed}))

    def reading(self, path: str, headers: dict[str, str]) -> contextlib.AbstractContextManager[Streaming]:
        """An answer whose body is read piece by piece."""
        return self._caller.reading(self._in_session(Ask("GET", self._prefix + path, headers=headers)))

    def delete(self, path: str) -> None:
        """A repeated try may find it gone: the first one did it and its answer was lost."""
        try:
            self._call(Ask("DELETE", self._prefix + path))
        except NotFound as refusal:
            if not refusal.is_repeated:
                raise

    def _call(self, ask: Ask) -> Reply:
        return self._caller.call(self._in_session(ask))

    def _in_session(self, ask: Ask) -> Ask:
        if self.session is None:
            return ask
        return msgspec.structs.replace(ask, headers={**ask.headers, "X-Worker-Session": self.session})


def part(text: str) -> str:
    """One part of a path, whatever characters it holds."""
    return quote(text, safe="")


def query(fields: dict[str, str | int | None]) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return f"?{urlencode(given, quote_via=quote)}" if given else ""


def read(reply: Reply, kind: type[A]) -> A:
    try:
        return msgspec.json.decode(reply.body, type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(f"the server's answer ({reply.status}) is not one of this protocol: {error}") from error


def _encoded(body: msgspec.Struct | None) -> bytes:
    return b"" if body is None else msgspec.json.encode(_said(body))


def _said(body: msgspec.Struct) -> dict[str, object]:
    """Only what is said: not every server takes null for an absent field."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not None}
