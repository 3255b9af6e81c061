"""One connection as uvicorn serves it; what never becomes a request is refused here, in the words of all refusals."""

import asyncio
import ssl
from http import HTTPStatus
from typing import cast

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cableferry.core.errors import Invalid, Refusal
from cableferry.dialects import emx2
from cableferry.dialects.denials import TooSlow
from cableferry.server import exchange, presenting
from cableferry.server.exchange import Reply
from cableferry.server.settings import ServerSection

log = structlog.get_logger()

_LINGERING_SECONDS = 1
_NO_HTTP = "this is not HTTP/1.1 as the server reads it: look at the method, the address, each header and the length"


class Connection(HttpToolsProtocol):
    """Says who is at the other end, by address and certificate, and reads no head without an end."""

    most_head_bytes = 0
    patience_seconds = 0.0
    _head_bytes = 0
    _is_in_head = False
    _is_in_body = False
    _is_refused = False
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._set_alarm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_alarm()
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
        self._head_bytes, self._is_in_head = 0, True
        scope = cast(dict[str, object], self.scope)
        scope["peer"] = self.client[0] if self.client else None
        if self.scheme == "https":
            tls: ssl.SSLObject = self.transport.get_extra_info("ssl_object")
            scope["client_certificate"] = tls.getpeercert(binary_form=True)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._is_in_body = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()

    def _watch(self) -> None:
        """A head has its time to come in full, a body so long between two pieces."""
        if not self._is_in_head:
            self._stop_alarm()
        if (self._is_in_head or self._is_in_body) and self._alarm is None and not self._is_refused:
            self._set_alarm()

    def _set_alarm(self) -> None:
        self._alarm = self.loop.call_later(self.patience_seconds, self._lose_patience)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _lose_patience(self) -> None:
        """Nobody keeps a place here for ever by saying next to nothing."""
        if self.flow.read_paused:
            self._set_alarm()
        elif self._is_in_head or self._is_in_body:
            self._refuse(TooSlow(f"the request did not come within {self.patience_seconds:g} s: send it again"))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Invalid(_NO_HTTP))

    def _unsupported_upgrade_warning(self) -> None:
        """A wish for another protocol may be ignored; there is nothing to install."""

    def _refuse(self, refusal: Refusal) -> None:
        """Nothing more can be understood; whoever is still sending hears the answer before the end."""
        self._is_refused = True
        self._stop_alarm()
        trace_id = exchange.new_trace_id()
        reply = presenting.refuse(emx2.DIALECT.render, refusal, None)
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
