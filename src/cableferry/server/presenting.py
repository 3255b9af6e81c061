"""From what an endpoint returned, or what was refused, to an answer in bytes."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from cableferry.core.errors import Refusal
from cableferry.dialects.denials import Denial, status_of
from cableferry.dialects.endpoint import Answer, Endpoint, Rendered
from cableferry.server.exchange import Reply, Request

_ENCODER = msgspec.json.Encoder()

Value = object
Render = Callable[[Refusal, str | None], Rendered]


def present(endpoint: Endpoint, request: Request, value: Value) -> Reply:
    """The endpoint's answer; one that the client has already is told by its ETag alone."""
    if not isinstance(value, Answer):
        return Reply(endpoint.status, _encoded(value))
    headers = pairs(value.headers)
    if request.knows(value.headers.get("ETag")):
        return Reply(304, headers=headers)
    return Reply(value.status or endpoint.status, _encoded(value.body), headers=headers)


def _encoded(value: Value) -> bytes:
    return b"" if value is None else _ENCODER.encode(value)


def pairs(headers: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items())


def refuse(render: Render, refusal: Refusal, request_id: str | None) -> Reply:
    rendered = render(refusal, request_id)
    headers = refusal.headers() if isinstance(refusal, Denial) else {}
    return Reply(int(status_of(refusal)), rendered.body, rendered.content_type, pairs(headers), kind=refusal.kind.value)


def with_headers(reply: Reply, headers: Iterable[tuple[bytes, bytes]]) -> Reply:
    added = tuple(headers)
    return msgspec.structs.replace(reply, headers=reply.headers + added) if added else reply
