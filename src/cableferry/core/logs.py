"""What a running job writes, as it comes in chunks: which chunk fits, how much is kept, where a tail begins."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from cableferry.core.errors import Conflict, Invalid, Kind

STREAM = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
MOST_CHUNK_BYTES = 256 * 1024
MOST_STREAMS = 16
# one row of a log holds at most this, and a row that holds less than the second number still grows
ROW_BYTES = 64 * 1024
SMALL_ROW_BYTES = 4 * 1024

_STREAM = re.compile(STREAM)


class Log(msgspec.Struct, frozen=True, gc=False):
    """One stream of one attempt of a job; of a log that is cut, more came than is kept.

    A sealed log takes nothing more; of a purged one nothing is kept here.
    """

    key: int
    job_key: int
    attempt: int
    stream: str
    size_bytes: int
    is_cut: bool
    touched_at: datetime
    sealed_at: datetime | None = None
    purged_at: datetime | None = None


class Chunk(msgspec.Struct, frozen=True):
    """Bytes of a log and where they begin in it."""

    start: int
    content: bytes


class Fit(msgspec.Struct, frozen=True):
    """What of a chunk is there already and must be the same, what is new and kept, and whether more came."""

    known: Chunk
    new: bytes
    is_cut: bool


def check_stream(name: str) -> None:
    if not _STREAM.fullmatch(name):
        raise Invalid("the name of a log holds 1 to 64 letters, digits and . _ -, and begins with a letter or digit")


def check_more(logs: Collection[Log], attempt: int, job: str) -> None:
    """Refuse one stream too many of an attempt."""
    if sum(log.attempt == attempt for log in logs) >= MOST_STREAMS:
        raise Conflict(f"job {job} has {MOST_STREAMS} logs already: write to one of them", Kind.TOO_MANY_LOGS)


def fit(log: Log, chunk: Chunk, room: int) -> Fit:
    """How a chunk continues a log of which so many more bytes may be kept."""
    if log.sealed_at is not None:
        raise Conflict(
            f"log {log.stream} is closed since the job is over: bring an artifact of type log instead", Kind.LOG_CLOSED
        )
    if chunk.start > log.size_bytes and not log.is_cut:
        raise Conflict(
            f"log {log.stream} has {log.size_bytes} bytes, so nothing can stand at {chunk.start}: go on from there",
            Kind.LOG_GAP,
            offset=log.size_bytes,
        )
    known = chunk.content[: max(0, log.size_bytes - chunk.start)]
    fresh = b"" if log.is_cut else chunk.content[len(known) :]
    return Fit(Chunk(chunk.start, known), fresh[: max(0, room)], log.is_cut or len(fresh) > max(0, room))


def differs(log: Log, chunk: Chunk) -> Conflict:
    return Conflict(
        f"log {log.stream} has other bytes from {chunk.start} on than these: go on behind its {log.size_bytes} bytes",
        Kind.LOG_DIFFERS,
        offset=log.size_bytes,
    )


def rows(start: int, last: Chunk | None, new: bytes) -> tuple[Chunk | None, list[Chunk]]:
    """New bytes as rows: what becomes of the last row if it is small, and those behind it."""
    grown = None
    if last is not None and len(last.content) < SMALL_ROW_BYTES:
        grown = Chunk(last.start, (last.content + new)[:ROW_BYTES])
        taken = len(grown.content) - len(last.content)
        start, new = start + taken, new[taken:]
    return grown, [Chunk(start + at, new[at : at + ROW_BYTES]) for at in range(0, len(new), ROW_BYTES)]


def joined(chunks: Sequence[Chunk], start: int, most: int) -> bytes:
    """The bytes from `start` on, of rows that hold them and maybe some before."""
    content = b"".join(chunk.content for chunk in chunks)
    first = start - chunks[0].start if chunks else 0
    return content[first : first + most]


def tail_start(content: bytes, lines: int) -> int | None:
    """Where the last so many lines begin in what ends a log; None when they begin before it."""
    end = len(content) - content.endswith(b"\n")
    for _ in range(lines):
        end = content.rfind(b"\n", 0, end)
        if end < 0:
            return None
    return end + 1


def whole_text(content: bytes) -> bytes:
    """Without the beginning of a character whose rest has yet to come."""
    for back in range(1, min(4, len(content) + 1)):
        byte = content[-back]
        if byte & 0xC0 != 0x80:
            is_begun = byte >= 0xC0 and back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)
            return content[:-back] if is_begun else content
    return content


def file_of(log: Log, attempt: int) -> str:
    """The path of a log in the artifact that it becomes; those of earlier attempts lie in folders."""
    name = log.stream if "." in log.stream else f"{log.stream}.log"
    return name if log.attempt == attempt else f"attempt-{log.attempt}/{name}"
