"""Sends what happens as server-sent events, as it happens and as fast as the client takes it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable

import structlog

from cableferry.core.errors import Refusal
from cableferry.dialects.endpoint import Call, Course, Endpoint, Event, Tidings
from cableferry.server import exchange
from cableferry.server.downloads import STALLED_SECONDS
from cableferry.server.exchange import Disconnected, Exchange, Followed, Reply
from cableferry.server.live import Live, Waiter
from cableferry.store import failures
from cableferry.store.tx import Store, Tx

log = structlog.get_logger()

# a proxy gives a silent connection up after a minute or so; each time we also look ourselves
KEEP_ALIVE_SECONDS = 15.0
# before what `attend` wrote down means nothing any more
ATTEND_SECONDS = 20.0
# then the client comes back and proves anew who it is
LONGEST_SECONDS = 900.0

_HEADERS = ((b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))
_HELLO = b"retry: 1000\n\n"
_STILL_HERE = b": still here\n\n"


def begun(endpoint: Endpoint, call: Call, value: object) -> Reply | None:
    """The answer to a follower, before its first event."""
    if endpoint.feed is None or not isinstance(value, Course):
        return None
    followed = Followed(endpoint.feed, call, value.cursor)
    return Reply(200, content_type=b"text/event-stream", headers=_HEADERS, followed=followed)


class Followings:
    """Everybody who follows something; followers at the same place share one look at the database."""

    def __init__(self, store: Store, live: Live, keep_alive_seconds: float = KEEP_ALIVE_SECONDS) -> None:
        self._store = store
        self._keep_alive_seconds = keep_alive_seconds
        self._live = live
        self._looks: dict[Hashable, asyncio.Task[Tidings]] = {}

    async def respond(self, to: Exchange, reply: Reply, followed: Followed) -> None:
        """Until nothing more can come, the client goes or the server stops."""
        waiter = self._live.register(followed.feed.topics(followed.call))
        gone = asyncio.ensure_future(to.receive())
        gone.add_done_callback(lambda _: waiter.leave())
        attending = asyncio.ensure_future(self._attend(followed.feed.attend, followed.call))
        try:
            await exchange.begin(to.send, to.request, reply)
            await _tell(to, _HELLO)
            async for piece in self._pieces(followed, waiter):
                await _tell(to, piece)
            await _tell(to, b"", more=False)
        except failures.StoreFailure as failure:
            log.error("feed broke off", detail=str(failure), trace=to.request.trace_id)
            raise Disconnected from None
        finally:
            gone.cancel()
            attending.cancel()
            self._live.forget(waiter)

    async def _pieces(self, followed: Followed, waiter: Waiter) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        cursor, until = followed.cursor, clock() + LONGEST_SECONDS
        while not self._live.is_closing and clock() < until:
            try:
                tidings = await self._look(followed, cursor)
            except Refusal as refusal:
                yield _gone(refusal)
                return
            cursor = tidings.cursor
            for event in tidings.events:
                yield _encoded(event)
            if tidings.is_over:
                return
            if tidings.events:
                continue
            if not await waiter.until(clock() + self._keep_alive_seconds):
                yield _STILL_HERE
            if waiter.is_gone:
                raise Disconnected
            waiter.park_again()

    async def _attend(self, attend: Callable[[Tx, Call], None] | None, call: Call) -> None:
        """Say again and again that somebody follows; a time that fails is made up for by the next."""
        while attend is not None:
            try:
                await self._store.awrite_briefly(lambda tx: attend(tx, call))
            except (Refusal, failures.StoreFailure) as failure:
                log.info("follower not noted", detail=str(failure))
            await asyncio.sleep(ATTEND_SECONDS)

    async def _look(self, followed: Followed, cursor: str) -> Tidings:
        call = followed.call
        likeness = (id(followed.feed), tuple(call.path.items()), call.query, cursor)
        look = self._looks.get(likeness)
        if look is None:
            look = asyncio.ensure_future(self._fresh_look(likeness, followed, cursor))
            self._looks[likeness] = look
        return await asyncio.shield(look)

    async def _fresh_look(self, likeness: Hashable, followed: Followed, cursor: str) -> Tidings:
        """Nobody joins once it has begun, or they would miss what was committed since."""
        del self._looks[likeness]
        return await self._store.aread(lambda tx: followed.feed.go_on(tx, followed.call, cursor))


def _encoded(event: Event) -> bytes:
    """JSON has no line breaks of its own, so one data line holds it."""
    return b"event: %s\nid: %s\ndata: %s\n\n" % (event.name.encode(), event.id.encode(), event.data)


def _gone(refusal: Refusal) -> bytes:
    """What was followed is not there any more; there is nothing to come back to."""
    return b'event: end\ndata: {"kind":"%s"}\n\n' % refusal.kind.value.encode()


async def _tell(to: Exchange, piece: bytes, *, more: bool = True) -> None:
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await to.send({"type": "http.response.body", "body": piece, "more_body": more})
    except TimeoutError:
        raise Disconnected from None
