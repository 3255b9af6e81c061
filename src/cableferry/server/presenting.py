"""From what an endpoint returned, or what was refused, to an answer in bytes."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from cableferry.core.errors import Refusal
from cableferry.dialects.denials import Denial, status_of
from cableferry.dialects.endpoint import Answer, Asking, Content, Endpoint, Plain, Rendered, Tail
from cableferry.server import contents, exchange
from cableferry.server.exchange import Reply, Request

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


def refuse(render: Render, refusal: Refusal, asking: Asking) -> Reply:
    rendered = render(refusal, asking)
    headers = exchange.pairs({**rendered.headers, **(refusal.headers() if isinstance(refusal, Denial) else {})})
    status = rendered.status or int(status_of(refusal))
    return Reply(status, rendered.body, rendered.content_type, headers, kind=refusal.kind.value)


def hush(status: int, refusal: Refusal) -> Reply:
    """The same for a client that would die of it: only a header tells that there was something."""
    headers = ((b"x-refusal", refusal.kind.value.encode()),)
    return Reply(status, headers=headers, kind=refusal.kind.value)


def with_headers(reply: Reply, headers: Iterable[tuple[bytes, bytes]]) -> Reply:
    added = tuple(headers)
    return replace(reply, headers=reply.headers + added) if added else reply
