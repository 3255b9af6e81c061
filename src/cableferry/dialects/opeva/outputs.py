"""What a job's container wrote: its log, its progress and its result, read from the shared folder."""

import json
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
import structlog
from msgspec import Meta, Raw

from cableferry.core.access import Need
from cableferry.core.errors import Kind, NotFound
from cableferry.dialects.denials import Unavailable
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Tail
from cableferry.dialects.opeva import contract
from cableferry.dialects.opeva.contract import Contract
from cableferry.engine import jobs
from cableferry.store.tx import Tx
from cableferry.wire.opeva import bodies, places
from cableferry.wire.opeva.places import Place

log = structlog.get_logger()

T = TypeVar("T")

TEXT = "text/plain; charset=utf-8"
PIECE_BYTES = 256 * 1024
MOST_JSON_BYTES = 64 * 1024 * 1024
NOT_YET = "Logs not available yet. Job is still initializing or running."
NO_PROGRESS = {"progress": "No updates yet."}
NO_RESULT = {"status": "pending", "message": "Result not ready yet."}


class LogsQuery(msgspec.Struct, frozen=True):
    """Whether to go on for as long as the job does."""

    follow: bool = False


class ChunkQuery(msgspec.Struct, frozen=True):
    """From where on, or else how many of the last lines; and how much at most."""

    offset: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    tail_lines: Annotated[int, Meta(ge=1, le=5000)] = 200
    max_bytes: Annotated[int, Meta(ge=1024, le=2 * 1024 * 1024)] = PIECE_BYTES


class Piece(msgspec.Struct, frozen=True):
    """Bytes of a log, where they begin, and how large the log is."""

    content: bytes
    start: int
    size: int


def find_log(call: Call) -> Place | None:
    """Where a job's log lies: under its own name, or else the newest one that holds something."""
    id_ = call.path["job_id"]
    return _from_share(call, lambda ours: _log_of(ours, id_)) if places.is_job_id(id_) else None


def logs(tx: Tx, call: Call) -> Tail | Answer:
    job = contract.job(tx, call, "Logs not available for this job")
    if call.prepared is not None:
        return _tail(call, call.prepared, is_followed=call.query.follow)
    if job.is_final:
        raise NotFound("Logs not available for this job", Kind.UNKNOWN_FILE)
    return Tail(lambda offset: f"{NOT_YET}\n".encode()[offset:], TEXT)


def file_logs(tx: Tx, call: Call) -> Tail:
    contract.job(tx, call, "Log file not found")
    if call.prepared is None:
        raise NotFound("Log file not found", Kind.UNKNOWN_FILE)
    return _tail(call, call.prepared, is_followed=call.query.follow)


def read_chunk(call: Call) -> Piece | None:
    place = find_log(call)
    return None if place is None else _from_share(call, lambda ours: _piece(ours, place, call.query))


def logs_chunk(tx: Tx, call: Call) -> bodies.LogsChunk:
    job = contract.job(tx, call)
    piece: Piece | None = call.prepared
    if piece is None:
        message = "Logs not available for this job" if job.is_final else NOT_YET
        return bodies.LogsChunk(job.id, "", call.query.offset or 0, False, False, message)
    content = piece.content
    if piece.start + len(content) < piece.size:
        content = _whole_letters(content)
    end = piece.start + len(content)
    is_cut = end < piece.size if call.query.offset is not None else piece.start > 0
    return bodies.LogsChunk(job.id, content.decode("utf-8", "replace"), end, is_cut, True, None)


def read_progress(call: Call) -> Raw | None:
    return _document(call, "progress", "progress.json")


def progress(tx: Tx, call: Call) -> object:
    contract.job(tx, call)
    return NO_PROGRESS if call.prepared is None else call.prepared


def read_result(call: Call) -> Raw | None:
    return _document(call, "results", "result.json")


def result(tx: Tx, call: Call) -> object:
    contract.job(tx, call)
    return NO_RESULT if call.prepared is None else call.prepared


def _tail(call: Call, place: Place, *, is_followed: bool) -> Tail:
    ours, id_ = contract.of(call), call.path["job_id"]
    return Tail(
        lambda offset: _more(ours, place, offset),
        TEXT,
        (lambda tx: jobs.is_going(tx, ours.rules, id_)) if is_followed else None,
    )


def _more(ours: Contract, place: Place, offset: int) -> bytes:
    """What stands behind an offset; a folder in trouble has nothing more to tell."""
    try:
        return ours.share.read(place, offset, PIECE_BYTES) or b""
    except OSError as error:
        log.warning("shared folder not read", place="/".join(place), reason=str(error))
        return b""


def _log_of(ours: Contract, id_: str) -> Place | None:
    folder = ("jobs", id_, "logs")
    own = (*folder, f"{id_}.log")
    if ours.share.size(own) is not None:
        return own
    others = [each for each in ours.share.names(folder) if each.name.endswith(".log") and each.size_bytes]
    newest = max(others, key=lambda each: each.modified_at, default=None)
    return None if newest is None else (*folder, newest.name)


def _piece(ours: Contract, place: Place, query: ChunkQuery) -> Piece:
    size = ours.share.size(place) or 0
    if query.offset is not None:
        return Piece(ours.share.read(place, query.offset, query.max_bytes) or b"", query.offset, size)
    start = max(0, size - query.max_bytes)
    content = ours.share.read(place, start, size - start) or b""
    lines = content.splitlines(keepends=True)
    # of a line whose begin was cut off nothing is shown, unless it is the only one
    whole = lines[1:] if start and len(lines) > 1 else lines
    last = b"".join(whole[-query.tail_lines :])
    return Piece(last, start + len(content) - len(last), size)


def _whole_letters(content: bytes) -> bytes:
    """Without the first bytes of a letter whose rest is still to come."""
    for back in range(1, min(4, len(content)) + 1):
        lead = content[-back]
        if lead & 0xC0 != 0x80:
            needed = 2 if lead >> 5 == 0b110 else 3 if lead >> 4 == 0b1110 else 4 if lead >> 3 == 0b11110 else 1
            return content[:-back] if needed > back and back < len(content) else content
    return content


def _document(call: Call, *below: str) -> Raw | None:
    """A JSON file as it lies there; what is no JSON (yet) is as if it were not there."""
    id_ = call.path["job_id"]
    if not places.is_job_id(id_):
        return None
    content = _from_share(call, lambda ours: ours.share.read(("jobs", id_, *below), 0, MOST_JSON_BYTES + 1))
    if content is None:
        return None
    try:
        return _as_json(content)
    except (ValueError, RecursionError) as error:
        log.warning("file is not JSON", job=id_, place="/".join(below), reason=str(error)[:200])
        return None


def _as_json(content: bytes) -> Raw:
    """The same bytes, or, where a library wrote numbers that JSON does not have, null in their place."""
    if len(content) > MOST_JSON_BYTES:
        raise ValueError("it is too large")
    content.decode()
    try:
        return msgspec.json.decode(content, type=Raw)
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(json.loads(content, parse_constant=lambda name: None)))


def _from_share(call: Call, look: Callable[[Contract], T]) -> T:
    try:
        return look(contract.of(call))
    except OSError as error:
        raise Unavailable(f"the shared folder is in trouble: {error.strerror}") from None


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/logs/{job_id}", logs, Need.READ, "Show a job's log, or what there is of it",
        answer=Tail, query=LogsQuery, refusals=(404, 422), needs_protocol_headers=False, prepare=find_log,
    ),
    Endpoint(
        "GET", "/file-logs/{job_id}", file_logs, Need.READ, "Show the file of a job's log",
        answer=Tail, query=LogsQuery, refusals=(404, 422), needs_protocol_headers=False, prepare=find_log,
    ),
    Endpoint(
        "GET", "/logs-chunk/{job_id}", logs_chunk, Need.READ, "Show a piece of a job's log",
        answer=bodies.LogsChunk, query=ChunkQuery, refusals=(404, 422), needs_protocol_headers=False,
        prepare=read_chunk,
    ),
    Endpoint(
        "GET", "/progress/{job_id}", progress, Need.READ, "Show how far a job is",
        answer=dict, refusals=(404,), needs_protocol_headers=False, prepare=read_progress,
    ),
    Endpoint(
        "GET", "/result/{job_id}", result, Need.READ, "Show what came of a job",
        answer=dict, refusals=(404,), needs_protocol_headers=False, prepare=read_result,
    ),
)  # fmt: skip
