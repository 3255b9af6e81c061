"""Puts the logs of jobs that are over away: into an artifact, and after a while out of the database."""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import msgspec
import structlog

from cableferry.core import logs
from cableferry.core.errors import Refusal
from cableferry.core.logs import Log
from cableferry.core.policy import Rules
from cableferry.engine import logs as engine
from cableferry.engine.logs import SETTLED_AT_ONCE, Settled
from cableferry.store import failures
from cableferry.store import logs as rows
from cableferry.store.blobs import Blobs, Sink, Stored
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Store

log = structlog.get_logger()

SECONDS = 5.0
_PIECE_BYTES = 1024 * 1024
_CUT = b"\n[cableferry: the log was cut here, more came than is kept]\n"


class Stowing(msgspec.Struct, frozen=True):
    """How long after a job's end nothing more is waited for, and how long its logs are kept after that."""

    settle: timedelta
    keep: timedelta


async def run(store: Store, blobs: Blobs, rules: Rules, how: Stowing) -> None:
    """Again and again, until cancelled; what fails is tried again the next time."""
    while True:
        pause = min(SECONDS, how.settle.total_seconds())
        await asyncio.sleep(pause * (0.8 + 0.4 * random.random()))  # noqa: S311  # no secret
        try:
            while await once(store, blobs, rules, how) >= SETTLED_AT_ONCE:
                pass
        except failures.StoreFailure as failure:
            log.warning("logs not put away", job=None, detail=str(failure))


async def once(store: Store, blobs: Blobs, rules: Rules, how: Stowing) -> int:
    """Of how many jobs the logs were put away."""
    done = 0
    found = await store.aread(lambda tx: engine.settled(tx, rules, how.settle))
    for settled in found:
        try:
            await _put_away(store, blobs, rules, settled)
            done += 1
        except Refusal as refusal:
            log.info("log not put away", job=settled.job.id, detail=refusal.detail)
        except failures.BlobFailure as failure:
            # its rows stay, and may find room the next time
            log.warning("logs not put away", job=settled.job.id, detail=str(failure))
    while await store.awrite(lambda tx: engine.purge(tx, how.keep)):
        pass  # a whole portion: there is more than one transaction should do
    return done


async def _put_away(store: Store, blobs: Blobs, rules: Rules, settled: Settled) -> None:
    if settled.job.log_artifact_id is not None or not settled.logs:
        await store.awrite(lambda tx: engine.seal(tx, settled))
        return
    sinks: list[Sink] = []
    is_used = False
    try:
        stored = [await _stored(store, blobs, each, settled.job.attempt, sinks) for each in settled.logs]
        artifact = await store.awrite(lambda tx: engine.put_away(tx, rules, settled, stored))
        is_used = artifact is not None
    except failures.Unknown:
        is_used = True  # the rows may stand: bytes that nothing refers to are found as orphans
        raise
    finally:
        for sink in sinks:
            if not is_used:
                await sink.abandon()
            sink.release()
    log.info("log put away", job=settled.job.id, artifact=artifact.id if artifact else None)


async def _stored(store: Store, blobs: Blobs, each: Log, attempt: int, sinks: list[Sink]) -> tuple[str, Blob]:
    sink = blobs.sink()
    sinks.append(sink)
    async for piece in _pieces(store, each):
        await sink.write(piece)
    stored: Stored = await sink.finish()
    blob = Blob(stored.sha256, stored.size_bytes, (Piece(stored.place, stored.size_bytes),))
    return logs.file_of(each, attempt), blob


async def _pieces(store: Store, each: Log) -> AsyncIterator[bytes]:
    """The log in pieces of bounded size, and a mark where it was cut."""
    for start in range(0, each.size_bytes, _PIECE_BYTES):
        found = await store.aread(partial(rows.chunks, log_key=each.key, start=start, most=_PIECE_BYTES))
        yield logs.joined(found, start, _PIECE_BYTES)
    if each.is_cut:
        yield _CUT
