"""Runs an admitted call in its one transaction, keeps its answer when asked to, or lets it wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import msgspec

from cableferry.core.errors import Refusal
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.server import following, idempotence, presenting
from cableferry.server.exchange import Receive, Reply, Request
from cableferry.server.idempotence import Guard, Keeper, Vault
from cableferry.server.polls import Poll, Polls
from cableferry.server.presenting import Value
from cableferry.server.routes import Route
from cableferry.store.tx import Store, Tx

MOST_BRIEF_BYTES = 16_384
# so many works of minutes go on at once; the next ones wait, and nobody else does
LONG_AT_ONCE = 4

# what a pure endpoint gets: it has no transaction
NO_TX = cast(Tx, None)


class Admission(msgspec.Struct, frozen=True):
    """A call that may be run, and what must be written before it whatever becomes of it.

    What admitted it out of memory may `confirm` in the transaction of the work that this still counts.
    """

    request: Request
    route: Route
    call: Call
    guard: Guard | None
    seconds: int | None = None
    confirm: Callable[[Tx], None] | None = None

    @property
    def endpoint(self) -> Endpoint:
        return self.route.endpoint

    @property
    def is_brief(self) -> bool:
        """Whether it may run on the event loop: what is brief by itself is not so with a big body."""
        return self.endpoint.is_brief and len(self.request.body) <= MOST_BRIEF_BYTES

    def check(self, tx: Tx) -> None:
        if self.confirm is not None:
            self.confirm(tx)

    def work(self, tx: Tx) -> Value:
        self.check(tx)
        return self.endpoint.run(tx, self.call)

    def work_and_present(self, tx: Tx) -> Reply:
        return self.present(self.work(tx))

    def present(self, value: Value) -> Reply:
        return presenting.present(self.endpoint, self.request, value)


class Runner:
    """Turns admitted calls into answers."""

    def __init__(self, store: Store, polling: Polls, vault: Vault | None) -> None:
        self._store = store
        self._polls = polling
        self._vault = vault
        self._long = ThreadPoolExecutor(LONG_AT_ONCE, "long")

    async def run(self, admission: Admission, receive: Receive) -> Reply:
        endpoint = admission.endpoint
        key = idempotence.key_of(admission.request)
        if endpoint.prepare is not None and (endpoint.prepares is None or endpoint.prepares(admission.call)):
            admission = await self._prepared(admission)
        match endpoint.mode:
            case "pure":
                return admission.present(endpoint.run(NO_TX, admission.call))
            case "read":
                return await self._read(admission, receive)
            case "write":
                return await self.write(admission, key)

    async def _prepared(self, admission: Admission) -> Admission:
        """Slow work runs in a thread, before the transaction and outside it; not for whoever counts no more."""
        prepare = admission.endpoint.prepare
        assert prepare is not None  # noqa: S101  # asked by the caller
        if admission.confirm is not None:
            await self._store.aread(admission.check)
        if admission.endpoint.is_long:
            prepared = await asyncio.get_running_loop().run_in_executor(self._long, prepare, admission.call)
        else:
            prepared = await asyncio.to_thread(prepare, admission.call)
        return msgspec.structs.replace(admission, call=msgspec.structs.replace(admission.call, prepared=prepared))

    async def write(self, admission: Admission, key: str | None) -> Reply:
        """One write transaction, and only one for all requests with this key."""
        if key is not None:
            return await self._write_once(admission, key)
        write = self._store.awrite_briefly if admission.is_brief else self._store.awrite
        return admission.present(await write(admission.work, admission.guard))

    async def _read(self, admission: Admission, receive: Receive) -> Reply:
        if admission.guard is not None:
            await self._store.awrite_briefly(_nothing, admission.guard)
        if admission.endpoint.waits is None or admission.seconds is None:
            read = self._store.aread_briefly if admission.is_brief else self._store.aread
            value = await read(admission.work)
            return following.begun(admission.endpoint, admission.call, value) or admission.present(value)
        poll = Poll(admission.endpoint, admission.request, admission.call, admission.seconds)
        return await self._polls.wait(poll, receive)

    async def _write_once(self, admission: Admission, key: str) -> Reply:
        vault = self._vault if admission.endpoint.keeps_secret else None
        keeper = Keeper(admission.call.caller.actor, key, admission.request, vault)
        store = self._store
        try:
            return await idempotence.run_once(store, keeper, admission.work_and_present, admission.guard)
        except Refusal as refusal:
            if not idempotence.is_kept(refusal):
                raise
            reply = presenting.refuse(admission.route, refusal, admission.request.asking)
        return await idempotence.keep_refusal(store, keeper, reply)


def _nothing(tx: Tx) -> None:
    """Only the guard is to be written."""
