"""Requests whose body is a file: asked about first, then streamed to the store of bytes, then recorded."""

import asyncio
import contextlib
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from cableferry.core.errors import Refusal
from cableferry.dialects.denials import Locked
from cableferry.dialects.endpoint import Arrived, Endpoint, Headers, Landing
from cableferry.server import decoding, digests, exchange, idempotence, multipart
from cableferry.server.exchange import Disconnected, Receive, Reply, Request
from cableferry.server.intake import Hearsay, Intake, Stream
from cableferry.server.running import Admission, Runner
from cableferry.server.streams import Streams
from cableferry.store import failures
from cableferry.store.blobs import Blobs, Hasher, Sink
from cableferry.store.tx import Store, Tx

INTERIM_SECONDS = 0.2
_ENCODER = msgspec.json.Encoder(order="sorted")


class Reading(msgspec.Struct, frozen=True):
    """How much is read of a file, and of a body that turns out to be none."""

    file_bytes: int
    body_bytes: int


class Uploads:
    """Takes streams for the endpoints that want them."""

    def __init__(self, store: Store, blobs: Blobs, runner: Runner, reading: Reading) -> None:
        self._store = store
        self._blobs = blobs
        self._runner = runner
        self._reading = reading
        self._streams = Streams()

    async def run(self, admission: Admission, receive: Receive) -> Reply:
        request = admission.request
        key = idempotence.key_of(request)
        promised = digests.promises(request.headers)
        landing, is_repeated = await self._ask(admission, key)
        # the guard has written what it had to
        admission = replace(admission, guard=None)
        if landing is not None and landing.alone is not None and self._streams.is_going(landing.alone):
            # what the other one brought by then counts
            await self._streams.make_way(landing.alone, is_insisting=landing.takes_over)
            landing, is_repeated = await self._ask(admission, key)
        if landing is None:
            return await self._read_instead(admission, key, receive)
        most = self._reading.file_bytes if landing.most_bytes is None else landing.most_bytes
        stream = Stream(request, receive, landing, most, promised)
        if landing.carries is not None:
            admission = _told(admission, prepared=landing.carries)
        if is_repeated:
            return await self._take(admission, key, Intake(stream), Hearsay(), None)
        if landing.alone is None:
            return await self._take_parts(admission, key, stream)
        with self._streams.alone(landing.alone, request):
            return await self._take_parts(admission, key, stream)

    async def settled(self, admission: Admission) -> bool:
        """Whether a stream was ended for this request, so that its answer is another one now."""
        settles = admission.endpoint.settles
        wanted = None if settles is None else settles(admission.call)
        if wanted is None or not self._streams.is_going(wanted.name):
            return False
        with contextlib.suppress(Locked):
            await self._streams.make_way(wanted.name, is_insisting=wanted.is_insisting)
            return True
        return False

    async def _ask(self, admission: Admission, key: str | None) -> tuple[Landing | None, bool]:
        """What the endpoint says to a stream, and whether this is what was answered before."""

        def ask(tx: Tx) -> tuple[Landing | None, bool]:
            takes, call = admission.endpoint.takes, admission.call
            admission.check(tx)
            if key is not None and idempotence.is_known(tx, call.caller.actor, key):
                return _as_before(admission.request), True
            return (None if takes is None else takes(tx, call)), False

        return await self._store.awrite(ask, admission.guard)

    async def _read_instead(self, admission: Admission, key: str | None, receive: Receive) -> Reply:
        """The endpoint wants no stream after all."""
        request = admission.request
        request.is_stream = False
        request.body = await exchange.read_body(request, receive, self._reading.body_bytes)
        body = decoding.body(admission.route.decoding, request.body, request.headers)
        return await self._runner.write(_told(admission, body=body), key)

    async def _take_parts(self, admission: Admission, key: str | None, stream: Stream) -> Reply:
        """One part after the other, of most streams the only one; the last one's answer counts."""
        landing, line, intake = stream.landing, stream.request.line, Intake(stream)
        if landing.interim is not None and line is not None:
            # whoever has sent everything by then wants no news of it
            asyncio.get_running_loop().call_later(INTERIM_SECONDS, line.inform, landing.interim)
        hasher = None if landing.prior is None else await asyncio.to_thread(landing.prior)
        while True:
            sink = self._blobs.sink(hasher, stream.with_md5)
            reply = await self._take(admission, key, intake, sink, hasher)
            if intake.is_over:
                return reply
            if landing.interim is not None and line is not None:
                line.inform(_told_of(reply))
            # what knows the bytes up to here is kept for whoever goes on from here
            hasher = None if hasher is None else hasher.copy()

    async def _take(
        self, admission: Admission, key: str | None, intake: Intake, sink: Sink, hasher: Hasher | None
    ) -> Reply:
        arrived = await intake.land(sink, hasher)
        try:
            intake.check(arrived)
            admission.request.fingerprint = _fingerprint(arrived)
            reply = await self._runner.write(_told(admission, arrived=arrived), key if intake.is_over else None)
            if idempotence.is_replay(reply):
                await sink.abandon()
        except (Refusal, failures.Unavailable):
            # nothing was recorded; after any other failure something may have been
            await sink.abandon()
            raise
        finally:
            sink.release()
        if intake.is_over and not arrived.is_whole:
            raise Disconnected
        return reply


def is_stream(endpoint: Endpoint, headers: Headers) -> bool:
    """Whether a body is to be streamed; where JSON is possible too, it is a file only when that is told."""
    if endpoint.takes is None:
        return False
    is_told = b"content-sha256" in headers or b"upload-complete" in headers
    return endpoint.body is None or is_told or not decoding.is_json(headers.get(b"content-type"))


def _told(admission: Admission, **more: object) -> Admission:
    return replace(admission, call=replace(admission.call, **more))


def _as_before(request: Request) -> Landing:
    """How to read the bytes of a request that was answered, only to see that they are the same."""
    return Landing(form="multipart" if multipart.is_form(request.headers.get(b"content-type")) else "raw")


def _told_of(reply: Reply) -> Mapping[str, str]:
    """What an interim answer tells of a part that was taken: where the next one begins."""
    return {name.decode(): value.decode() for name, value in reply.headers if name == b"upload-offset"}


def _fingerprint(arrived: Arrived) -> bytes:
    """What makes two streams the same request, whatever the boundary of its form."""
    return _ENCODER.encode([arrived.stored.sha256, arrived.file_name, arrived.content_type, arrived.fields])
