"""The way of a request: find, check, admit, decode, run, answer; the order is part of the contract."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec
import structlog

from cableferry.core import access
from cableferry.core.access import Anyone, Caller, Need
from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.dialects.denials import (
    Bug,
    Denial,
    InsufficientStorage,
    NoCredentials,
    Unauthorized,
    Unavailable,
)
from cableferry.dialects.endpoint import Call, Dialect
from cableferry.server import decoding, exchange, networks, polls, presenting, throttle, uploads
from cableferry.server.downloads import Downloads
from cableferry.server.envelope import Admitted, Authenticator, Envelope
from cableferry.server.exchange import Disconnected, Exchange, Receive, Reply, Request, Scope, Send
from cableferry.server.following import Followings
from cableferry.server.networks import Networks
from cableferry.server.routes import Route, Routes
from cableferry.server.running import Admission, Runner
from cableferry.server.tails import Tails
from cableferry.server.throttle import Buckets
from cableferry.server.uploads import Uploads
from cableferry.store import failures

log = structlog.get_logger()

# what a worker does, and nothing that changes what others asked for
_GUESTS_MAY = frozenset({Need.READ, Need.WORK})


class Limits(msgspec.Struct, frozen=True):
    """How much of a request is read, what a proxy has taken off its path, and which headers are never repeated."""

    body_bytes: int
    header_bytes: int
    root_path: str = ""
    single_headers: frozenset[bytes] = exchange.SINGLE


class Parts(msgspec.Struct, frozen=True):
    """What the edge is made of; a dialect may have a door of its own, `fallback` answers where none is at home.

    `guests` are, by dialect, the networks whose workers need no credentials.
    """

    routes: Routes
    runner: Runner
    uploads: Uploads
    downloads: Downloads
    followings: Followings
    tails: Tails
    authenticator: Authenticator
    doors: Mapping[str, Authenticator]
    buckets: Buckets
    services: Mapping[str, object]
    fallback: Dialect
    limits: Limits
    record: Callable[[Request, Reply], None]
    guests: Mapping[str, Networks] = {}


class Edge:
    """Serves every endpoint of every dialect."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = exchange.arrive(scope)
        try:
            reply = await self._answer(scope, request, receive)
            reply = await self._deliver(Exchange(scope, request, receive, send), reply)
        except Disconnected:
            reply = Reply(499)
        self._parts.record(request, reply)

    async def _deliver(self, to: Exchange, reply: Reply) -> Reply:
        """What the client was told in the end."""
        if reply.tail is not None and to.request.method != "HEAD":
            await self._parts.tails.respond(to, reply, reply.tail)
            return reply
        if reply.streamed is not None and to.request.method != "HEAD":
            try:
                await self._parts.downloads.respond(to, reply, reply.streamed)
                return reply
            except failures.BlobFailure as failure:
                reply = self._without_bytes(to.request, failure)
        if reply.followed is not None and to.request.method != "HEAD":
            await self._parts.followings.respond(to, reply, reply.followed)
            return reply
        await exchange.respond(to.send, to.request, reply)
        return reply

    async def _answer(self, scope: Scope, request: Request, receive: Receive) -> Reply:
        try:
            return await self._serve(scope, request, receive)
        except Refusal as refusal:
            return self._refuse(request, refusal)
        except (failures.Unavailable, failures.Unknown) as failure:
            log.error("database failed", detail=str(failure), trace=request.trace_id)
            return self._refuse(request, _unavailable(failure))
        except failures.BlobFailure as failure:
            return self._without_bytes(request, failure)
        except Disconnected:
            raise
        except Exception:
            log.exception("request failed", request=request.request_id, trace=request.trace_id)
            return self._refuse(request, Bug(f"the server failed; its log tells more under {request.trace_id}"))

    def _without_bytes(self, request: Request, failure: failures.BlobFailure) -> Reply:
        log.error("store of bytes failed", detail=str(failure), trace=request.trace_id)
        return self._refuse(request, _no_bytes(failure, request.trace_id))

    def _refuse(self, request: Request, refusal: Refusal) -> Reply:
        if request.route is not None:
            return presenting.refuse(request.route, refusal, request.asking)
        return presenting.rendered(self._home(request).render, refusal, request.asking)

    def _home(self, request: Request) -> Dialect:
        path = request.path.removeprefix(self._parts.limits.root_path)
        return self._parts.routes.home(path) or self._parts.fallback

    async def _serve(self, scope: Scope, request: Request, receive: Receive) -> Reply:
        parts = self._parts
        path = request.path.removeprefix(parts.limits.root_path)
        route, request.params = parts.routes.find(request.method, path, request.query)
        request.route = route
        exchange.check_headers(scope, request, parts.limits.header_bytes, parts.limits.single_headers)
        if route.endpoint.needs_protocol_headers:
            route.dialect.check_headers(request.headers)
        request.is_stream = uploads.is_stream(route.endpoint, request.headers)
        if not request.is_stream:
            request.body = await exchange.read_body(request, receive, parts.limits.body_bytes)
        admitted = await self._admit(scope, request, route)
        request.caller = admitted.caller
        parts.buckets.check(throttle.payer(admitted.caller, request.address))
        access.check(admitted.caller, route.endpoint.need)
        access.check_may_write(admitted.may_write, route.endpoint.need)
        call, seconds = self._call(request, route, admitted.caller)
        call = msgspec.structs.replace(call, is_secure=scope["scheme"] == "https", signed=admitted.signed)
        run = parts.uploads.run if request.is_stream else parts.runner.run
        admission = Admission(request, route, call, admitted.guard, seconds, admitted.confirm)
        reply = await run(admission, receive)
        if await parts.uploads.settled(admission):
            reply = await run(msgspec.structs.replace(admission, guard=None), receive)
        return presenting.with_headers(reply, exchange.pairs(admitted.headers))

    async def _admit(self, scope: Scope, request: Request, route: Route) -> Admitted:
        """Who calls; whoever needs no right is not asked for any."""
        if route.endpoint.need is Need.NOTHING:
            return Admitted(Anyone())
        try:
            door = self._parts.doors.get(route.dialect.name, self._parts.authenticator)
            return await door.admit(_envelope(scope, request))
        except Unauthorized as refusal:
            if isinstance(refusal, NoCredentials) and self._is_guest(request, route):
                return Admitted(Anyone())
            self._parts.buckets.check(throttle.payer(Anyone(), request.address))
            raise

    def _is_guest(self, request: Request, route: Route) -> bool:
        """Whether a worker may do this from where it is, whoever it says it is."""
        allowed = self._parts.guests.get(route.dialect.name, ())
        return route.endpoint.need in _GUESTS_MAY and networks.hold(allowed, request.address)

    def _call(self, request: Request, route: Route, caller: Caller) -> tuple[Call, int | None]:
        """The typed request, and how long it would wait for its answer."""
        query, fields = decoding.query(route.decoding, request.query)
        call = Call(
            caller=caller,
            path=request.params,
            query=query,
            body=None if request.is_stream else decoding.body(route.decoding, request.body, request.headers),
            worker=_name(request, b"x-worker-id"),
            session=_name(request, b"x-worker-session"),
            request_id=request.request_id,
            service=self._parts.services.get(route.dialect.name),
            headers=request.headers,
            address=request.address,
        )
        request.worker = call.worker
        return call, polls.seconds_asked(request, fields) if route.endpoint.waits else None


def _envelope(scope: Scope, request: Request) -> Envelope:
    return Envelope(
        method=request.method,
        target=request.target,
        headers=request.headers,
        body=request.body,
        now=datetime.now(UTC),
        address=request.address,
        peer=scope.get("peer", request.address),
        path_worker=request.params.get("worker_id"),
        certificate=scope.get("client_certificate"),
        is_secure=scope["scheme"] == "https",
        is_stream=request.is_stream,
    )


def _name(request: Request, header: bytes) -> str | None:
    """A header that names something, as text that a person could have typed."""
    value = request.headers.get(header)
    if value is None:
        return None
    try:
        name = value.decode()
    except UnicodeDecodeError:
        name = ""
    if not 0 < len(name) <= 255 or not name.isprintable():
        raise Invalid(f"{header.decode().title()} must hold 1 to 255 printable characters", Kind.BAD_HEADER)
    return name


def _no_bytes(failure: failures.BlobFailure, trace_id: str) -> Denial:
    match failure:
        case failures.BlobsFull():
            return InsufficientStorage("the server has no room for these bytes and kept none of them: try again later")
        case failures.BlobMissing():
            return Bug(f"these bytes are not where the server left them; its log tells more under {trace_id}")
        case _:
            return Unavailable("the store of bytes does not answer and nothing was changed: try again")


def _unavailable(failure: failures.StoreFailure) -> Unavailable:
    if isinstance(failure, failures.Unknown):
        return Unavailable("the database broke off while writing: look what happened before you try again")
    return Unavailable("the database does not answer and nothing was changed: try again")
