"""From what an endpoint returned, or what was refused, to an answer in bytes."""

from collections.abc import Callable, Iterable

import msgspec
import structlog
from msgspec.structs import replace

from cableferry.core.errors import Refusal
from cableferry.dialects.denials import Denial, status_of
from cableferry.dialects.endpoint import Answer, Asking, Content, Endpoint, Plain, Rendered, Tail
from cableferry.server import contents, exchange
from cableferry.server.exchange import Reply, Request
from cableferry.server.routes import Route

log = structlog.get_logger()

_ASKING = frozenset({"GET", "HEAD"})
_ENCODER = msgspec.json.Encoder()

Value = object
Render = Callable[[Refusal, Asking], Rendered]


def present(endpoint: Endpoint, request: Request, value: Value) -> Reply:
    """The endpoint's answer; one that the client has already is told by its ETag alone."""
    if isinstance(value, Content):
        return contents.answer(request, value)
    if isinstance(value, Plain):
        return Reply(endpoint.status, value.content, value.content_type.encode(), exchange.pairs(value.headers))
    if isinstance(value, Tail):
        return Reply(endpoint.status, content_type=value.content_type.encode(), tail=value)
    if not isinstance(value, Answer):
        return Reply(endpoint.status, _encoded(value))
    headers = exchange.pairs(value.headers)
    if request.method in _ASKING and request.knows(value.headers.get("ETag")):
        return Reply(304, headers=headers)
    status = value.status or endpoint.status
    return Reply(status, _encoded(value.body), value.content_type.encode(), headers)


def _encoded(value: Value) -> bytes:
    return b"" if value is None else _ENCODER.encode(value)


def refuse(route: Route, refusal: Refusal, asking: Asking) -> Reply:
    """A refusal by an endpoint; for clients that would die of it only a header tells that there was one."""
    quiet = route.endpoint.quiet_status
    if quiet is None:
        return rendered(route.dialect.render, refusal, asking)
    log.error("refused quietly", route=route.template, kind=refusal.kind, detail=refusal.detail)
    headers = ((b"x-refusal", refusal.kind.value.encode()),)
    return Reply(quiet, headers=headers, kind=refusal.kind.value)


def rendered(render: Render, refusal: Refusal, asking: Asking) -> Reply:
    """A refusal in a dialect's words."""
    said = render(refusal, asking)
    headers = exchange.pairs({**said.headers, **(refusal.headers() if isinstance(refusal, Denial) else {})})
    return Reply(said.status or int(status_of(refusal)), said.body, said.content_type, headers, kind=refusal.kind.value)


def with_headers(reply: Reply, headers: Iterable[tuple[bytes, bytes]]) -> Reply:
    added = tuple(headers)
    return replace(reply, headers=reply.headers + added) if added else reply
