"""A read that waits for its answer to be worth telling."""

import asyncio
import re
from collections.abc import Hashable, Mapping

import msgspec

from cableferry.core.errors import Invalid, Kind
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.server.exchange import Disconnected, Receive, Reply, Request
from cableferry.server.live import Live, Waiter
from cableferry.server.presenting import Value, present, with_headers
from cableferry.store.tx import Store, Tx

LONGEST_SECONDS = 55
_WAIT = re.compile(r"(?:^|,)\s*wait\s*(?:=\s*(\"?)([^\s;,\"]*)\1)?\s*(?=$|[;,])", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,9}")


class Poll(msgspec.Struct, frozen=True):
    """One waiting read: its endpoint, the request and how long it may wait."""

    endpoint: Endpoint
    request: Request
    call: Call
    seconds: int

    def work(self, tx: Tx) -> Value:
        return self.endpoint.run(tx, self.call)

    @property
    def likeness(self) -> Hashable:
        """Two polls that are alike have the same answer at the same time."""
        return (self.endpoint.path, self.request.path, self.request.query)


def seconds_asked(request: Request, fields: Mapping[str, str]) -> int | None:
    """How long the client would wait, by `?wait=` or `Prefer: wait=`; None when it did not say."""
    text = fields.get("wait")
    name = "the query field wait"
    if text is None:
        prefer = request.header(b"prefer")
        found = _WAIT.search(prefer) if prefer is not None else None
        if found is None:
            return None
        text, name = found[2] or "", "Prefer: wait"
    if not _SECONDS.fullmatch(text):
        raise Invalid(f"{name} must be a whole number of seconds from 0 to {LONGEST_SECONDS}", Kind.BAD_HEADER)
    return int(text)


class Polls:
    """Parks reads on news; polls that are alike share one look at the database."""

    def __init__(self, store: Store, live: Live, longest_seconds: int) -> None:
        self._store = store
        self._live = live
        self._looks: dict[Hashable, asyncio.Task[Value]] = {}
        self.longest_seconds = longest_seconds

    async def wait(self, poll: Poll, receive: Receive) -> Reply:
        """The answer as soon as it is worth telling, at the latest when the time is up."""
        seconds = min(poll.seconds, self.longest_seconds)
        waiter = self._live.register(_topics(poll))
        gone = asyncio.ensure_future(receive())
        gone.add_done_callback(lambda _: waiter.leave())
        try:
            reply = await self._look_until(poll, waiter, asyncio.get_running_loop().time() + seconds)
        finally:
            gone.cancel()
            self._live.forget(waiter)
        return with_headers(reply, [(b"preference-applied", b"wait=%d" % seconds)])

    async def _look_until(self, poll: Poll, waiter: Waiter, deadline: float) -> Reply:
        value = await self._look(poll)
        first = _etag(value)
        while not self._is_worth_telling(poll, value, first):
            is_in_time = await waiter.until(deadline)
            if waiter.is_gone:
                raise Disconnected
            waiter.park_again()
            value = await self._look(poll)
            if not is_in_time or self._live.is_closing:
                break
        return present(poll.endpoint, poll.request, value)

    def _is_worth_telling(self, poll: Poll, value: Value, first: str | None) -> bool:
        waits = poll.endpoint.waits
        if waits is None or self._live.is_closing:
            return True
        body = value.body if isinstance(value, Answer) else value
        return _is_new(poll.request, _etag(value), first) or waits.is_worth_telling(poll.call, body)

    async def _look(self, poll: Poll) -> Value:
        look = self._looks.get(poll.likeness)
        if look is None:
            look = asyncio.ensure_future(self._fresh_look(poll))
            self._looks[poll.likeness] = look
        return await asyncio.shield(look)

    async def _fresh_look(self, poll: Poll) -> Value:
        """Nobody joins once it has begun, or they would miss what was committed since."""
        del self._looks[poll.likeness]
        return await self._store.aread(poll.work)


def _topics(poll: Poll) -> tuple[str, ...]:
    return poll.endpoint.waits.topics(poll.call) if poll.endpoint.waits else ()


def _is_new(request: Request, etag: str | None, first: str | None) -> bool:
    """Whether this is not the version that the client has, or, when it says of none, not the one it came upon."""
    if b"if-none-match" in request.headers and etag is not None:
        return not request.knows(etag)
    return etag != first


def _etag(value: Value) -> str | None:
    return value.headers.get("ETag") if isinstance(value, Answer) else None
