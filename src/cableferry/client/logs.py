"""The logs of jobs, as a Python client: chunks out, windows and events in."""

import contextlib
from collections.abc import Iterator, Sequence

import msgspec

from cableferry.client import verbs
from cableferry.client.errors import BadAnswer
from cableferry.client.http import Streaming
from cableferry.client.verbs import Verbs
from cableferry.wire.emx2 import logs as wire

_LONGEST_LINE = 1024 * 1024


class Log(msgspec.Struct, frozen=True):
    """One log of one attempt of a job; without `is_kept` only its artifact is left."""

    stream: str
    attempt: int = 1
    size_bytes: int = 0
    is_cut: bool = False
    is_kept: bool = True
    updated_at: str | None = None


class LogList(msgspec.Struct, frozen=True):
    items: list[Log]
    log_artifact_id: str | None = None
    status: str = ""


class Event(msgspec.Struct, frozen=True):
    """What a follower is told; `id` leads back to the place behind it. One without a name is a sign of life."""

    name: str
    id: str
    attempt: int = 0
    offset: int = 0
    content: bytes = b""
    status: str | None = None


class _Said(msgspec.Struct, frozen=True):
    attempt: int = 0
    offset: int = 0
    content: bytes = b""
    status: str | None = None


class Logs:
    """The logs of one server's jobs."""

    def __init__(self, ask: Verbs) -> None:
        self._ask = ask

    def find(self, job_id: str) -> LogList:
        return verbs.read(self._ask.get(_at(job_id)), LogList)

    def append(self, worker_id: str, chunks: Sequence[wire.NamedChunk]) -> list[wire.ChunkResult]:
        """Send chunks of several logs; sending the same ones again changes nothing, so this needs no key."""
        target = f"/workers/{verbs.part(worker_id)}/logs"
        answer = self._ask.tell(target, wire.ChunksBody(list(chunks)))
        return verbs.read(answer, wire.ChunkResults).chunks

    def read(self, job_id: str, stream: str, offset: int = 0, limit: int | None = None) -> bytes:
        """The bytes from an offset on, as many as the server gives at a time."""
        return self._window(job_id, stream, {"offset": offset, "limit": limit})

    def tail(self, job_id: str, stream: str, lines: int) -> bytes:
        return self._window(job_id, stream, {"tail": lines, "limit": 4 * 1024 * 1024})

    def whole(self, job_id: str, stream: str) -> Iterator[bytes]:
        """All there is so far, piece by piece."""
        offset = 0
        while piece := self.read(job_id, stream, offset):
            yield piece
            offset += len(piece)

    @contextlib.contextmanager
    def following(
        self, job_id: str, stream: str, tail: int | None = None, after: str | None = None
    ) -> Iterator[Iterator[Event]]:
        """What comes, until the connection or the job ends; `after` is the id of the last event that was seen."""
        query = verbs.query({"form": "base64", "tail": tail if after is None else None})
        headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": after})
        with self._ask.reading(f"{_at(job_id)}/{verbs.part(stream)}/events{query}", headers) as streaming:
            yield _events(streaming)

    def _window(self, job_id: str, stream: str, fields: dict[str, str | int | None]) -> bytes:
        return self._ask.get(f"{_at(job_id)}/{verbs.part(stream)}{verbs.query(fields)}").body


def _at(job_id: str) -> str:
    return f"/jobs/{verbs.part(job_id)}/logs"


def _events(streaming: Streaming) -> Iterator[Event]:
    fields: dict[str, bytes] = {}
    for line in _lines(streaming):
        name, _, value = line.partition(b": ")
        if line and not name:
            yield Event("", "")
        elif line:
            fields[name.decode("latin-1")] = value
        elif "event" in fields:
            yield _event(fields)
            fields = {}


def _lines(streaming: Streaming) -> Iterator[bytes]:
    rest = b""
    for piece in streaming.pieces():
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise BadAnswer("the server's stream of events has a line that is longer than any event")
        yield from lines


def _event(fields: dict[str, bytes]) -> Event:
    try:
        said = msgspec.json.decode(fields.get("data", b"{}"), type=_Said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(f"the server's stream of events is not one of logs: {error}") from error
    name, id_ = (fields.get(field, b"").decode("utf-8", "replace") for field in ("event", "id"))
    return Event(name, id_, **msgspec.structs.asdict(said))
