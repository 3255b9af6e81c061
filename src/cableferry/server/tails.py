"""Sends a body that may still grow: what there is, and then what comes, until nothing more will."""

import asyncio

from cableferry.dialects.endpoint import Tail
from cableferry.server import downloads, exchange
from cableferry.server.exchange import Disconnected, Exchange, Reply
from cableferry.store.tx import Store

LOOK_SECONDS = 0.5


class Tails:
    """Answers that are read on as they grow."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def respond(self, to: Exchange, reply: Reply, tail: Tail) -> None:
        first = await asyncio.to_thread(tail.read, 0)
        await exchange.begin(to.send, to.request, reply)
        gone = asyncio.ensure_future(to.receive())
        try:
            await downloads.tell(to, first, more=True)
            await self._go_on(to, tail, len(first), gone)
            await downloads.tell(to, b"", more=False)
        finally:
            gone.cancel()

    async def _go_on(self, to: Exchange, tail: Tail, offset: int, gone: asyncio.Future[exchange.Message]) -> None:
        is_last = False
        while not gone.done():
            chunk = await asyncio.to_thread(tail.read, offset)
            if chunk:
                offset += len(chunk)
                await downloads.tell(to, chunk, more=True)
            elif is_last:
                return
            else:
                # what was written before the end is read once more after it
                is_last = tail.goes_on is None or not await self._store.aread(tail.goes_on)
                if not is_last:
                    await asyncio.wait((gone,), timeout=LOOK_SECONDS)
        raise Disconnected
