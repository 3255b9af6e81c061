"""One connection as uvicorn serves it; what never becomes a request is refused here, in the words of all refusals."""

import asyncio
import ssl
from http import HTTPStatus
from typing import cast

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from cableferry.core.errors import Invalid, Refusal
from cableferry.dialects import emx2
from cableferry.dialects.denials import TooSlow
from cableferry.dialects.endpoint import Asking
from cableferry.server import exchange, presenting
from cableferry.server.exchange import Reply
from cableferry.server.lines import Line
from cableferry.server.settings import ServerSection

log = structlog.get_logger()

_LINGERING_SECONDS = 1
# a body that brings less while the patience lasts is not meant to come to its end
LEAST_BODY_BYTES = 1024
# how much more is taken of a body after its answer, so that a client that listens late keeps its connection
MOST_UNWANTED_BYTES = 128 * 1024 * 1024
_NO_HTTP = "this is not HTTP/1.1 as the server reads it: look at the method, the address, each header and the length"


class Connection(HttpToolsProtocol):
    """Says who is at the other end, by address and certificate, and reads no head without an end."""

    most_head_bytes = 0
    patience_seconds = 0.0
    _head_bytes = 0
    _unwanted_bytes = 0
    _brought_bytes = 0
    _kept_waiting = False
    _is_in_head = False
    _is_in_body = False
    _is_refused = False
    _later: Refusal | None = None
    _running: RequestResponseCycle | None = None
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._set_alarm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_alarm()
        # uvicorn tells only the newest of several requests that nobody waits for its answer any more
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        head = self.headers
        super().data_received(data)
        # what one piece holds besides the rest of this head is no part of it
        if self._is_in_head and self.headers is head:
            self._head_bytes += len(data)
            if self._head_bytes > self.most_head_bytes:
                self._refuse(exchange.too_large_head(self.most_head_bytes))
        self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes, self._unwanted_bytes, self._is_in_head = 0, 0, True
        self._kept_waiting = self.flow.read_paused
        scope = cast(dict[str, object], self.scope)
        scope["peer"] = self.client[0] if self.client else None
        if self.scheme == "https":
            tls: ssl.SSLObject = self.transport.get_extra_info("ssl_object")
            scope["client_certificate"] = tls.getpeercert(binary_form=True)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()
        # an address that is none never gets this far, and has no body
        self._is_in_body, self._brought_bytes = True, 0
        self._stop_alarm()
        if not self.pipeline:
            self._running = self.cycle
        cast(dict[str, object], self.scope)["line"] = Line(self.cycle)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._brought_bytes += len(body)
        self._kept_waiting |= self.flow.read_paused
        if self.cycle.response_complete:
            self._unwanted_bytes += len(body)
            if self._unwanted_bytes > MOST_UNWANTED_BYTES:
                self._linger()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()

    def eof_received(self) -> bool:  # type: ignore[override]  # as asyncio has it
        """Whoever ends what he says in the middle of a body may still hear that; TLS has no such end."""
        if not self._is_in_body or self._is_refused or self.scheme == "https":
            return False
        self._refuse_in_turn(Invalid("the connection ended before the body was as long as Content-Length says"))
        return True

    def on_response_complete(self) -> None:
        if self.pipeline:
            self._running, _ = self.pipeline[-1]
        super().on_response_complete()
        if self._later is not None and not self._owes_an_answer():
            self._refuse(self._later)
        # whoever was to be asked for the body will not send it, and what comes next would be taken for it
        if self._is_in_body and self.expect_100_continue:
            self._linger()

    def _linger(self) -> None:
        """Take no more of a body that nobody wants; the answer has time to arrive."""
        if not self._is_refused:
            self._is_refused = True
            self._stop_alarm()
            self.transport.pause_reading()
            self.loop.call_later(_LINGERING_SECONDS, self.transport.close)

    def _watch(self) -> None:
        """A head has its time to come in full, a body so long for each of its kibibytes."""
        if not self._is_in_head and not self._is_in_body:
            self._stop_alarm()
        elif self._alarm is None and not self._is_refused:
            self._set_alarm()

    def _set_alarm(self) -> None:
        self._alarm = self.loop.call_later(self.patience_seconds, self._lose_patience)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _lose_patience(self) -> None:
        """Nobody keeps a place here for ever by saying next to nothing."""
        if self._kept_waiting or (self._is_in_body and self._brought_bytes >= LEAST_BODY_BYTES):
            self._kept_waiting, self._brought_bytes = self.flow.read_paused, 0
            self._set_alarm()
        elif self._is_in_head or self._is_in_body:
            self._refuse(TooSlow(f"the request did not come within {self.patience_seconds:g} s: send it again"))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse_in_turn(Invalid(_NO_HTTP))

    def _refuse_in_turn(self, refusal: Refusal) -> None:
        """Whoever asked something before hears the answer to that first."""
        if self._is_in_body and self.pipeline:
            self.pipeline.popleft()  # the newest, which is the one that makes no sense
        if self._owes_an_answer():
            self._is_refused, self._later = True, refusal
            self._stop_alarm()
        else:
            self._refuse(refusal)

    def _owes_an_answer(self) -> bool:
        """Whether a request before the one that comes now is still to be answered."""
        cycle = self._running
        if cycle is None or (self._is_in_body and cycle is self.cycle):
            return False
        return not cycle.response_complete or bool(self.pipeline)

    def _unsupported_upgrade_warning(self) -> None:
        """A wish for another protocol may be ignored; there is nothing to install."""

    def _refuse(self, refusal: Refusal) -> None:
        """Nothing more can be understood; whoever is still sending hears the answer before the end."""
        self._is_refused = True
        self._stop_alarm()
        if self._is_in_body:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        trace_id = exchange.new_trace_id()
        reply = presenting.rendered(emx2.DIALECT.render, refusal, Asking(None))
        log.info("connection refused", kind=reply.kind, status=reply.status, trace=trace_id)
        given = (b"%s: %s" % pair for pair in self.server_state.default_headers)
        self.transport.write(_as_http(reply, [*given, b"x-trace-id: " + trace_id.encode()]))
        self.loop.call_later(_LINGERING_SECONDS, self.transport.close)


def reading(section: ServerSection) -> type[Connection]:
    """Connections within these limits; uvicorn asks for a class and leaves no other way to tell it."""
    limits = {"most_head_bytes": section.header_limit_bytes, "patience_seconds": float(section.patience_seconds)}
    return type("Connection", (Connection,), limits)


def _as_http(reply: Reply, headers: list[bytes]) -> bytes:
    status = HTTPStatus(reply.status)
    lines = [
        b"HTTP/1.1 %d %s" % (status, status.phrase.encode()),
        *headers,
        b"content-type: " + reply.content_type,
        b"content-length: %d" % len(reply.body),
        b"connection: close",
    ]
    return b"\r\n".join([*lines, b"", reply.body])
