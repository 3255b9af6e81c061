"""What an endpoint takes from its path, its query and its headers, in the words of OpenAPI."""

import re
from collections.abc import Iterator
from typing import get_type_hints

import msgspec

from cableferry.dialects.emx2.headers import VERSIONS
from cableferry.dialects.endpoint import Endpoint
from cableferry.server.polls import LONGEST_SECONDS

Document = dict[str, object]

ANSWERED: Document = {
    "X-Trace-Id": {"schema": {"type": "string"}, "description": "Finds this request in the server's log."},
    "X-Request-Id": {"schema": {"type": "string"}, "description": "The request's own id, when it had one."},
}
_COUNTED: Document = {
    "X-Total-Count": {"schema": {"type": "string"}, "description": "How many there are on all pages."},
}
_PUT_OFF: Document = {
    "Retry-After": {"schema": {"type": "string"}, "description": "Seconds after which it is worth another try."},
}
_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_TIME = (
    r"^([0-9]{1,10}|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])?)$"
)
_PRINTABLE = "^[!-~]+$"


def answered(endpoint: Endpoint) -> Document:
    """The headers of an answer that is no refusal; whatever counts a whole list says so in a header too."""
    fields = getattr(endpoint.answer, "__struct_fields__", ())
    return ANSWERED | _COUNTED if "total_count" in fields else ANSWERED


def refused(status: int) -> Document:
    return ANSWERED | _PUT_OFF if status in (429, 503) else ANSWERED


def of(endpoint: Endpoint) -> Iterator[Document]:
    for name in re.findall(r"{(\w+)}", endpoint.template):
        yield _parameter("path", name, {"type": "string", "minLength": 1}, is_required=True)
    if endpoint.query is not None:
        yield from _query(endpoint.query)
    if endpoint.waits is not None:
        yield _parameter(
            "query", "wait", {"type": "integer", "minimum": 0}, f"Wait so long, at most {LONGEST_SECONDS} s."
        )
    if endpoint.needs_protocol_headers:
        yield from _protocol_headers()
    yield from _extension_headers(endpoint)


def _query(kind: type[msgspec.Struct]) -> Iterator[Document]:
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        schema = {k: v for k, v in msgspec.json.schema(hints[field.name]).items() if k != "default"}
        yield _parameter("query", field.encode_name, _without_null(schema))


def _without_null(schema: Document) -> Document:
    """A query says nothing by leaving the name out, not by null."""
    match schema:
        case {"anyOf": list(choices)}:
            wanted = [choice for choice in choices if choice != {"type": "null"}]
            return wanted[0] if len(wanted) == 1 else {"anyOf": wanted}
        case _:
            return schema


def _protocol_headers() -> Iterator[Document]:
    yield _parameter("header", "X-EMX2-API-Version", {"type": "string", "enum": list(VERSIONS)}, is_required=True)
    yield _parameter("header", "X-Request-Id", {"type": "string", "pattern": _UUID}, is_required=True)
    yield _parameter(
        "header",
        "X-Timestamp",
        {"type": "string", "pattern": _TIME},
        "Unix seconds, or an ISO-8601 time; one without a zone is UTC.",
        is_required=True,
    )
    yield _parameter("header", "X-Worker-Id", {"type": "string", "pattern": _PRINTABLE, "maxLength": 255})
    yield _parameter("header", "X-Nonce", {"type": "string", "pattern": _PRINTABLE, "maxLength": 128})
    yield _parameter("header", "X-Trace-Id", {"type": "string", "pattern": _PRINTABLE, "maxLength": 128})
    yield _parameter("header", "X-Worker-Session", {"type": "string", "pattern": _PRINTABLE, "maxLength": 64})


def _extension_headers(endpoint: Endpoint) -> Iterator[Document]:
    for name, meaning in endpoint.headers.items():
        yield _parameter("header", name, {"type": "string"}, meaning)
    if endpoint.method == "POST":
        yield _parameter(
            "header",
            "Idempotency-Key",
            {"type": "string", "pattern": _PRINTABLE, "maxLength": 255},
            "The same key and request get the same answer, and happen once.",
        )
    if endpoint.waits is not None:
        yield _parameter("header", "Prefer", {"type": "string", "pattern": "^wait=[0-9]{1,2}$"})
        yield _parameter("header", "If-None-Match", {"type": "string", "pattern": '^"[0-9]{1,10}"$'})


def _parameter(
    place: str, name: str, schema: Document, meaning: str | None = None, *, is_required: bool = False
) -> Document:
    described = {} if meaning is None else {"description": meaning}
    return {"in": place, "name": name, "required": is_required, "schema": schema, **described}
