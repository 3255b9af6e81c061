"""Sends bytes of the store, as fast as the client takes them and no further ahead."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import structlog
from msgspec.structs import replace

from cableferry.server import exchange
from cableferry.server.exchange import Disconnected, Exchange, Reply, Span, Streamed
from cableferry.store import failures
from cableferry.store.blobs import Blobs

log = structlog.get_logger()

# whoever takes nothing for so long will not take the rest either
STALLED_SECONDS = 300
# copying more than this keeps the loop longer than a thread would
AT_HAND_BYTES = 256 * 1024


class Downloads:
    """Answers whose body is in the store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def respond(self, to: Exchange, reply: Reply, streamed: Streamed) -> None:
        """A store that fails before the first byte is known here raises; what comes later ends the connection."""
        at_hand = self._at_hand(streamed)
        if at_hand is not None:
            await exchange.respond(to.send, to.request, replace(reply, body=at_hand, streamed=None))
            return
        async with contextlib.aclosing(self._chunks(streamed)) as chunks:
            first = await anext(chunks, b"")
            await exchange.begin(to.send, to.request, reply)
            try:
                await _send(to, first, chunks)
            except failures.BlobFailure as failure:
                log.error("download broke off", detail=str(failure), trace=to.request.trace_id)
                raise Disconnected from None

    def _at_hand(self, streamed: Streamed) -> bytes | None:
        """A few bytes that are in memory anyway: threads and pieces would cost more than the bytes."""
        match streamed.parts:
            case (Span() as span,) if span.size_bytes <= AT_HAND_BYTES:
                return self._blobs.read_now(*span)
            case _:
                return None

    async def _chunks(self, streamed: Streamed) -> AsyncGenerator[bytes, None]:
        for part in streamed.parts:
            if isinstance(part, bytes):
                yield part
                continue
            async for chunk in self._blobs.chunks(*part):
                yield chunk


async def _send(to: Exchange, first: bytes, rest: AsyncIterator[bytes]) -> None:
    gone = asyncio.ensure_future(to.receive())
    try:
        await tell(to, first, more=True)
        async for chunk in rest:
            if gone.done():
                raise Disconnected
            await tell(to, chunk, more=True)
        await tell(to, b"", more=False)
    finally:
        gone.cancel()


async def tell(to: Exchange, chunk: bytes, *, more: bool) -> None:
    """Send a piece of a body; a client that takes nothing for too long is gone."""
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await to.send({"type": "http.response.body", "body": chunk, "more_body": more})
    except TimeoutError:
        raise Disconnected from None
