"""Clients that bring files to a server until it dies, and remember exactly what it acknowledged."""

import base64
import contextlib
import hashlib
import http.client
import json
import random
import time
import uuid
from collections.abc import Container, Generator, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.crash.load import connected

HOME = "/api/hpc/artifacts"
BOUNDARY = "between-the-parts"
# some bytes come again and again, so that what is collected is often what somebody else is just bringing
SHARED = 8
SMALL, LARGE = 5_000, 7_000_000


class Ask(NamedTuple):
    """A request, what makes it happen only once, and which statuses say that it was done."""

    method: str
    target: str
    content: bytes = b""
    kind: str = "application/octet-stream"
    more: Mapping[str, str] = {}
    done: tuple[int, ...] = (200, 201, 204)


class Answer(NamedTuple):
    """What came back, header names in lower case."""

    status: int
    body: Any
    headers: Mapping[str, str]


Steps = Generator[Ask, Answer, None]
_TUS = {"Tus-Resumable": "1.0.0"}


class Bringer:
    """One client with one connection; nobody else touches its artifacts."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._artifact = ""
        self._files: dict[str, str] = {}
        self.committed: dict[str, dict[str, str]] = {}
        self.unanswered: Ask | None = None
        self.repeats = 0
        self._life = self._live()

    def live(self, port: int, repeated: Container[int] = ()) -> Iterator[None]:
        """Go on where the last server died: what was not answered is sent again first; yields with every answer.

        So is what was answered by a status that asks for it.
        """
        with contextlib.closing(connected(port)) as connection:
            ask = self.unanswered or next(self._life)
            while True:
                self.unanswered = ask
                reply = sent(connection, ask)
                while reply.status in repeated:
                    self.repeats += 1
                    reply = sent(connection, ask)
                assert reply.status in ask.done, (ask.method, ask.target, reply)
                self.unanswered = None
                yield
                ask = self._life.send(reply)

    def _live(self) -> Steps:
        """Fill one artifact after the other; each request is made again until it is answered."""
        while True:
            body = json.dumps({"type": "dataset", "residence": "managed"}).encode()
            reply = yield Ask("POST", HOME, body, "application/json", {"Idempotency-Key": str(uuid.uuid4())})
            self._artifact, self._files = reply.body["id"], {}
            for _ in range(self._chance.randrange(1, 6)):
                yield from self._file()
            if self._chance.random() < 0.2:
                yield from self._removal()
            yield Ask("POST", f"{HOME}/{self._artifact}/commit", b"{}", "application/json")
            self.committed[self._artifact] = dict(self._files)
            if self._chance.random() < 0.5:
                yield from self._deletion()

    def _file(self) -> Steps:
        path = self._chance.choice(["a", "b/c", "d e#f?.bin", "\u00fc"])
        content = self._content()
        manner = self._chance.random()
        if manner < 0.2:
            yield Ask("POST", f"{HOME}/{self._artifact}/files", _form(path, content), _FORM)
        elif manner < 0.5:
            yield from self._resumed(path, content)
        else:
            yield Ask("PUT", f"{HOME}/{self._artifact}/files/{quote(path)}", content)
        self._files[path] = hashlib.sha256(content).hexdigest()

    def _resumed(self, path: str, content: bytes) -> Steps:
        """By tus: an answer that was lost is looked for, and what was acknowledged never has to be sent again."""
        named = base64.b64encode(path.encode()).decode()
        said = {**_TUS, "Upload-Length": str(len(content)), "Upload-Metadata": f"path {named}"}
        begun = yield Ask("POST", f"{HOME}/{self._artifact}/uploads", more=said)
        address, offset = begun.headers["location"], 0
        while offset < len(content):
            piece = content[offset : offset + self._chance.randrange(1, max(2, len(content)))]
            step = {**_TUS, "Upload-Offset": str(offset)}
            # where the answer was lost, what was sent again begins in the wrong place
            patched = yield Ask("PATCH", address, piece, "application/offset+octet-stream", step, (204, 409))
            acknowledged = int(patched.headers["upload-offset"]) if patched.status == 204 else offset
            looked = yield Ask("HEAD", address, more=_TUS)
            offset = int(looked.headers["upload-offset"])
            assert acknowledged <= offset <= len(content)

    def _removal(self) -> Steps:
        """Done before, if the answer was lost."""
        path = next(iter(self._files))
        yield Ask("DELETE", f"{HOME}/{self._artifact}/files/{quote(path)}", done=(204, 404))
        del self._files[path]
        yield Ask("PUT", f"{HOME}/{self._artifact}/files/last", b"x")
        self._files["last"] = hashlib.sha256(b"x").hexdigest()

    def _deletion(self) -> Steps:
        gone = self._chance.choice(sorted(self.committed))
        # while it is being deleted, nobody knows whether it is there
        del self.committed[gone]
        yield Ask("DELETE", f"{HOME}/{gone}", done=(204, 404))

    def _content(self) -> bytes:
        if self._chance.random() < 0.4:
            number = self._chance.randrange(SHARED)
            return noise(number, SMALL if number % 2 else 300_000)
        size = self._chance.randrange(LARGE) if self._chance.random() < 0.15 else self._chance.randrange(SMALL)
        return noise(self._chance.randrange(2**40), size)


_FORM = f"multipart/form-data; boundary={BOUNDARY}"


def noise(seed: int, size: int) -> bytes:
    return hashlib.shake_128(seed.to_bytes(8, "big")).digest(size)


def _form(path: str, content: bytes) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="path"\r\n\r\n{path}\r\n--{BOUNDARY}\r\n'
    head += 'Content-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def sent(connection: http.client.HTTPConnection, ask: Ask) -> Answer:
    connection.request(ask.method, ask.target, ask.content or None, _headers(ask))
    answer = connection.getresponse()
    content = answer.read()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    is_json = headers.get("content-type", "").endswith("json")
    return Answer(answer.status, json.loads(content) if is_json and content else content, headers)


def _headers(ask: Ask) -> Mapping[str, str]:
    return {
        "X-EMX2-API-Version": "2025-01",
        "X-Request-Id": str(uuid.uuid4()),
        "X-Timestamp": str(int(time.time())),
        "Content-Type": ask.kind,
        **ask.more,
    }


def collect(port: int) -> Any:
    """What a collection did."""
    with contextlib.closing(connected(port)) as connection:
        reply = sent(connection, Ask("POST", f"{HOME}/collect", b"{}", "application/json"))
    assert 200 == reply.status, reply
    return reply.body
