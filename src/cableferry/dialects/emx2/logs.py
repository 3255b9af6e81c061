"""The logs of jobs: chunks in from their workers, bytes and events out to whoever reads along."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cableferry.core import logs
from cableferry.core.access import Need
from cableferry.core.errors import Invalid, Kind, NotFound, Refusal
from cableferry.core.logs import Chunk
from cableferry.dialects import denials
from cableferry.dialects.emx2 import speakers
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Answer, Call, Course, Endpoint, Event, Feed, Plain, Tidings
from cableferry.engine import logs as engine
from cableferry.engine.logs import Said, Window
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX
from cableferry.wire.emx2 import logs as wire
from cableferry.wire.emx2.bodies import Link

MOST_BYTES = 4 * 1024 * 1024
EVENT_BYTES = 64 * 1024

_Lines = Annotated[int, Meta(ge=1, le=100_000)]


class WindowQuery(msgspec.Struct, frozen=True):
    """Which bytes: from `offset` on, at most `limit`, or the last `tail` lines; of which attempt."""

    offset: wire.Offset = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_BYTES)] = 1024 * 1024
    tail: _Lines | None = None
    attempt: Annotated[int, Meta(ge=1, le=10**6)] | None = None


class EventsQuery(msgspec.Struct, frozen=True):
    """Where to begin: at `offset`, or at the last `tail` lines; bytes come as text, or as base64."""

    offset: wire.Offset = 0
    tail: _Lines | None = None
    form: Literal["text", "base64"] = "text"


class Place(msgspec.Struct, frozen=True):
    """How far a follower has come: in which attempt, behind which byte, and whether it knows that the log was cut."""

    attempt: int
    offset: int
    knows_cut: bool = False

    def __str__(self) -> str:
        return f"{self.attempt}:{self.offset}{':cut' if self.knows_cut else ''}"


def append(tx: Tx, call: Call) -> wire.LogItem:
    body: wire.ChunkBody = call.body
    worker = speakers.speaker(tx, call, body.worker_id).worker
    job_id = call.path["job_id"]
    said = Said(job_id, worker, body.epoch, call.path["stream"], Chunk(body.offset, body.content))
    return wire.item(job_id, engine.append(tx, _contract(call).rules, said, _contract(call).log_limit_bytes))


def append_many(tx: Tx, call: Call) -> wire.ChunkResults:
    chunks: list[wire.NamedChunk] = call.body.chunks
    worker = speakers.speaker(tx, call, call.path["worker_id"]).worker
    said = [_said(worker, chunk) for chunk in chunks]
    outcomes = engine.append_many(tx, _contract(call).rules, said, _contract(call).log_limit_bytes)
    return wire.ChunkResults([_result(chunk, outcome) for chunk, outcome in zip(chunks, outcomes, strict=True)])


def _said(worker: str, chunk: wire.NamedChunk) -> Said | Refusal:
    if chunk.worker_id not in (None, worker):
        return Invalid(f"the chunk names worker {chunk.worker_id}, not {worker}", Kind.WORKER_MISMATCH)
    return Said(chunk.job_id, worker, chunk.epoch, chunk.stream, Chunk(chunk.offset, chunk.content))


def _result(chunk: wire.NamedChunk, outcome: logs.Log | Refusal) -> wire.ChunkResult:
    if isinstance(outcome, Refusal):
        code, offset = int(denials.status_of(outcome)), outcome.facts.get("offset")
        expected = offset if isinstance(offset, int) else None
        return wire.ChunkResult(chunk.job_id, chunk.stream, code, expected, False, outcome.kind, outcome.detail)
    return wire.ChunkResult(chunk.job_id, chunk.stream, 200, outcome.size_bytes, outcome.is_cut)


def find(tx: Tx, call: Call) -> wire.LogList:
    job, known = engine.find(tx, _contract(call).rules, call.path["job_id"])
    items = [wire.item(job.id, log) for log in known]
    href = f"{PREFIX}/jobs/{job.id}"
    links = {"self": Link(f"{href}/logs", "GET"), "job": Link(href, "GET")}
    return wire.LogList(items, len(items), wire.status(job.state), job.log_artifact_id, links)


def get(tx: Tx, call: Call) -> Plain:
    query: WindowQuery = call.query
    job_id, stream = call.path["job_id"], call.path["stream"]
    window = engine.read(tx, _contract(call).rules, job_id, stream, query.attempt)
    if window.log is None:
        raise NotFound(f"job {job_id} has no log {stream} so far", Kind.UNKNOWN_LOG)
    seen = _seen(tx, window, query)
    headers = {
        "X-Log-Offset": str(seen.start),
        "X-Log-Size": str(window.log.size_bytes),
        "X-Log-Attempt": str(window.log.attempt),
        "X-Log-Cut": "true" if window.log.is_cut else "false",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Plain(seen.content, "application/octet-stream", headers)


def _seen(tx: Tx, window: Window, query: WindowQuery) -> Window:
    if query.tail is not None:
        return engine.tail_of(tx, window, query.tail, query.limit)
    return engine.bytes_of(tx, window, query.offset, query.limit)


def follow(tx: Tx, call: Call) -> Course | Answer:
    """Where a follower begins; one that has everything of a job that is over need not come back."""
    place = _begun(tx, call)
    seen = _look(tx, call, place)
    if b"last-event-id" in call.headers and seen.job.is_final and not _events(call, place, seen):
        return Answer(None, status=204)
    return Course(str(place))


def _begun(tx: Tx, call: Call) -> Place:
    query: EventsQuery = call.query
    window = engine.read(tx, _contract(call).rules, call.path["job_id"], call.path["stream"])
    known = call.headers.get(b"last-event-id")
    if known is not None:
        return _place(known.decode("latin-1"), window.job.attempt)
    if query.tail is not None:
        return Place(window.job.attempt, engine.tail_of(tx, window, query.tail, MOST_BYTES).start)
    return Place(window.job.attempt, query.offset)


def _place(text: str, attempt: int) -> Place:
    """What an event's id said, or the plain offset of a client that counts by itself."""
    numbers, _, said = text.partition(":cut")
    parts = numbers.split(":")
    if said or len(parts) > 2 or not all(part.isascii() and part.isdigit() and len(part) < 17 for part in parts):
        raise Invalid("Last-Event-ID must be the id of an event of this log, or an offset", Kind.BAD_HEADER)
    return Place(int(parts[0]) if len(parts) == 2 else attempt, int(parts[-1]), text.endswith(":cut"))


def go_on(tx: Tx, call: Call, cursor: str) -> Tidings:
    """What is new behind a place, and whether more can come."""
    place = _place(cursor, 0)
    seen = _look(tx, call, place)
    events = _events(call, place, seen)
    if events:
        return Tidings(tuple(events), events[-1].id)
    if seen.job.attempt > place.attempt:
        again = Place(seen.job.attempt, 0)
        return Tidings((_event("attempt", again, wire.LogEvent(again.attempt, 0)),), str(again))
    if seen.job.is_final:
        end = wire.LogEvent(place.attempt, place.offset, status=wire.status(seen.job.state))
        return Tidings((_event("end", place, end),), cursor, is_over=True)
    return Tidings((), cursor)


def _look(tx: Tx, call: Call, place: Place) -> Window:
    window = engine.read(tx, _contract(call).rules, call.path["job_id"], call.path["stream"], place.attempt or None)
    return engine.bytes_of(tx, window, place.offset, EVENT_BYTES)


def _events(call: Call, place: Place, seen: Window) -> list[Event]:
    """New bytes; behind the last that is kept, that there were more."""
    query: EventsQuery = call.query
    content, log = seen.content, seen.log
    is_last = seen.job.is_final or seen.job.attempt > place.attempt
    if query.form == "text" and not (is_last and log is not None and seen.end == log.size_bytes):
        content = logs.whole_text(content)
    if content:
        then = Place(place.attempt, place.offset + len(content))
        said = wire.LogEvent(place.attempt, place.offset, size_bytes=len(content))
        told = {"text": content.decode("utf-8", "replace")} if query.form == "text" else {"content": content}
        return [_event("log", then, msgspec.structs.replace(said, **told))]
    if log is not None and log.is_cut and not place.knows_cut and place.offset >= log.size_bytes:
        then = Place(place.attempt, place.offset, True)
        return [_event("cut", then, wire.LogEvent(place.attempt, place.offset))]
    return []


def _event(name: str, place: Place, said: wire.LogEvent) -> Event:
    return Event(name, str(place), msgspec.json.encode(said))


def _topics(call: Call) -> tuple[str, ...]:
    job_id = call.path["job_id"]
    return (f"log:{job_id}/{call.path['stream']}", f"job:{job_id}")


def _attend(tx: Tx, call: Call) -> None:
    engine.watch(tx, _contract(call).rules, call.path["job_id"])


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


_LOGS = f"{PREFIX}/jobs/{{job_id}}/logs"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", _LOGS, find, Need.READ, "List the logs of a job",
        answer=wire.LogList, refusals=(404,),
    ),
    Endpoint(
        "GET", f"{_LOGS}/{{stream}}", get, Need.READ, "Read a log, or its end",
        answer=Plain, query=WindowQuery, refusals=(404,),
    ),
    Endpoint(
        "POST", f"{_LOGS}/{{stream}}", append, Need.WORK, "Continue a log by a chunk",
        answer=wire.LogItem, mode="write", is_brief=True, body=wire.ChunkBody, refusals=(404, 409),
    ),
    Endpoint(
        "GET", f"{_LOGS}/{{stream}}/events", follow, Need.READ, "Follow a log as server-sent events",
        answer=Course, query=EventsQuery, refusals=(404,), needs_protocol_headers=False,
        feed=Feed(_topics, go_on, _attend),
    ),
    Endpoint(
        "POST", f"{PREFIX}/workers/{{worker_id}}/logs", append_many, Need.WORK, "Continue several logs by chunks",
        answer=wire.ChunkResults, mode="write", body=wire.ChunksBody,
    ),
)  # fmt: skip
