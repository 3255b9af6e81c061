"""Requests whose body is a file: asked about first, then streamed to the store of bytes, then recorded."""

import msgspec
from msgspec.structs import replace

from cableferry.core.errors import Refusal
from cableferry.dialects.endpoint import Arrived, Endpoint, Headers, Landing
from cableferry.server import decoding, digests, exchange, idempotence, multipart
from cableferry.server.exchange import Disconnected, Receive, Reply, Request
from cableferry.server.intake import Hearsay, Intake, Stream
from cableferry.server.running import Admission, Runner
from cableferry.store import failures
from cableferry.store.blobs import Blobs, Sink
from cableferry.store.tx import Store, Tx

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

    async def run(self, admission: Admission, receive: Receive) -> Reply:
        request = admission.request
        key = idempotence.key_of(request)
        promised = digests.promises(request.headers)
        landing, is_repeated = await self._ask(admission, key)
        # the guard has written what it had to
        admission = replace(admission, guard=None)
        if landing is None:
            return await self._read_instead(admission, key, receive)
        most = self._reading.file_bytes if landing.most_bytes is None else landing.most_bytes
        stream = Stream(request, receive, landing, most, promised)
        sink = Hearsay() if is_repeated else self._blobs.sink(landing.hasher, stream.with_md5)
        return await self._take(admission, key, Intake(stream, sink), sink)

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

    async def _take(self, admission: Admission, key: str | None, intake: Intake, sink: Sink) -> Reply:
        arrived = await intake.land()
        try:
            intake.check(arrived)
            admission.request.fingerprint = _fingerprint(arrived)
            reply = await self._runner.write(_told(admission, arrived=arrived), key)
            if idempotence.is_replay(reply):
                await sink.abandon()
        except (Refusal, failures.Unavailable):
            # nothing was recorded; after any other failure something may have been
            await sink.abandon()
            raise
        finally:
            sink.release()
        if not arrived.is_whole:
            raise Disconnected
        return reply


def is_stream(endpoint: Endpoint, headers: Headers) -> bool:
    """Whether a body is to be streamed; where JSON is possible too, it is a file only when its hash is told."""
    if endpoint.takes is None:
        return False
    return endpoint.body is None or b"content-sha256" in headers or not decoding.is_json(headers.get(b"content-type"))


def _told(admission: Admission, **more: object) -> Admission:
    return replace(admission, call=replace(admission.call, **more))


def _as_before(request: Request) -> Landing:
    """How to read the bytes of a request that was answered, only to see that they are the same."""
    return Landing(form="multipart" if multipart.is_form(request.headers.get(b"content-type")) else "raw")


def _fingerprint(arrived: Arrived) -> bytes:
    """What makes two streams the same request, whatever the boundary of its form."""
    return _ENCODER.encode([arrived.stored.sha256, arrived.file_name, arrived.content_type, arrived.fields])
