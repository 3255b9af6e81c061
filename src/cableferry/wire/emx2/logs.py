"""The logs of running jobs on the wire: chunks in, windows and events out; bytes stand as base64 in JSON."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core.jobs import State
from cableferry.core.logs import MOST_CHUNK_BYTES, STREAM, Log
from cableferry.wire.emx2 import PREFIX
from cableferry.wire.emx2.bodies import JobId, Link, Links, WorkerId
from cableferry.wire.emx2.words import WORDS

MOST_CHUNKS = 64

Offset = Annotated[int, Meta(ge=0, le=2**53)]
Bytes = Annotated[bytes, Meta(max_length=MOST_CHUNK_BYTES)]


class ChunkBody(msgspec.Struct, frozen=True):
    """Bytes that stand at an offset of a log."""

    offset: Offset
    content: Bytes
    worker_id: WorkerId | None = None
    epoch: Offset | None = None


class NamedChunk(ChunkBody, frozen=True, kw_only=True):
    """The same among others: which job and which stream it belongs to."""

    job_id: JobId
    stream: Annotated[str, Meta(pattern=STREAM)]


class ChunksBody(msgspec.Struct, frozen=True):
    """Chunks of several logs of one worker, in order."""

    chunks: Annotated[list[NamedChunk], Meta(max_length=MOST_CHUNKS)]


class LogItem(msgspec.Struct, frozen=True):
    """One log: how far it has come, and where the next chunk goes; `is_kept` is False once its bytes are gone."""

    job_id: str
    stream: str
    attempt: int
    size_bytes: int
    is_cut: bool
    is_kept: bool
    updated_at: datetime
    links: Links = msgspec.field(name="_links")


class LogList(msgspec.Struct, frozen=True):
    items: list[LogItem]
    count: int
    status: str
    log_artifact_id: str | None
    links: Links = msgspec.field(name="_links")


class ChunkResult(msgspec.Struct, frozen=True):
    """What became of one chunk: the status code it would have had on its own; `offset` is where to go on."""

    job_id: str
    stream: str
    code: int
    offset: int | None = None
    is_cut: bool = False
    kind: str | None = None
    detail: str | None = None


class ChunkResults(msgspec.Struct, frozen=True):
    chunks: list[ChunkResult]


class LogEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a follower is told: bytes as text or as base64, or that something changed."""

    attempt: int
    offset: int
    text: str | None = None
    content: bytes | None = None
    size_bytes: int | None = None
    status: str | None = None


def item(job_id: str, log: Log) -> LogItem:
    href = f"{PREFIX}/jobs/{job_id}/logs/{log.stream}"
    links = {"content": Link(f"{href}?attempt={log.attempt}", "GET"), "events": Link(f"{href}/events", "GET")}
    is_kept = log.purged_at is None
    return LogItem(
        job_id, log.stream, log.attempt, log.size_bytes, log.is_cut, is_kept, log.touched_at, links if is_kept else {}
    )


def status(state: State) -> str:
    return WORDS[state]
