"""The OpenAPI document of every endpoint, read off the endpoints themselves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

import msgspec

from cableferry import __version__, dialects
from cableferry.core.access import Need
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Content, Course, Dialect, Endpoint, Plain, Tail
from cableferry.server import parameters
from cableferry.wire.emx2.bodies import Problem

Document = dict[str, object]

_DESCRIPTION = (
    "Runs work on compute that accepts no inbound connection: the EMX2 HPC protocol, the worker contract,"
    " and the accounts of this server. Refusals are problem documents (RFC 9457), unless a contract has its own form."
)
_REF = "#/components/schemas/{name}"
_PROBLEM: Document = {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}}
# answers that are no JSON
_MEDIA = {Content: "*/*", Plain: "application/octet-stream", Course: "text/event-stream", Tail: "text/plain"}
_BYTES: Document = {"schema": {"type": "string", "format": "binary"}}
_SECURITY: Document = {
    "hmac": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`HMAC-SHA256 <hex>` over method, target, SHA-256 of the body, X-Timestamp and X-Nonce.",
    },
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API token of a user, or a worker's JWT."},
    "token": {"type": "apiKey", "in": "header", "name": "x-molgenis-token"},
    "session": {"type": "apiKey", "in": "cookie", "name": "cableferry_session"},
    "certificate": {"type": "mutualTLS"},
}
_SAID_OF_ALL = (400, 413, 429, 503)
_SAID_OF_THE_ADMITTED = (401, 403)


def document(served: Iterable[Dialect] | None = None) -> Document:
    """OpenAPI 3.1 for these dialects, or for all there are."""
    known = tuple(served) if served is not None else tuple(each.DIALECT for each in dialects.ROLL_CALL)
    endpoints = [(dialect, endpoint) for dialect in known if dialect.is_described for endpoint in dialect.endpoints]
    schemas, components = _schemas(endpoints)
    paths: dict[str, dict[str, object]] = {}
    names: Counter[str] = Counter()
    for dialect, endpoint in endpoints:
        operation = _operation(dialect, endpoint, schemas)
        operation["operationId"] = _unique(names, f"{dialect.name}_{_name(endpoint)}")
        paths.setdefault(endpoint.template, {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cableferry", "version": __version__, "description": _DESCRIPTION},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }


Schemas = Mapping[object, Document]


def _schemas(endpoints: Sequence[tuple[Dialect, Endpoint]]) -> tuple[Schemas, Document]:
    types = [kind for _, each in endpoints for kind in (each.body, each.answer) if _is_described(kind)]
    refused = [dialect.refused for dialect, _ in endpoints if dialect.refused is not None]
    unique = list(dict.fromkeys([*types, *refused, Problem]))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    return dict(zip(unique, schemas, strict=True)), components


def _is_described(kind: object) -> bool:
    return kind is not None and kind not in _MEDIA


def _operation(dialect: Dialect, endpoint: Endpoint, schemas: Schemas) -> Document:
    operation: Document = {
        "summary": endpoint.summary,
        "tags": [dialect.name],
        "parameters": list(parameters.of(endpoint)),
        "responses": dict(_responses(dialect, endpoint, schemas)),
        "security": [] if endpoint.need is Need.NOTHING else [{name: []} for name in _SECURITY],
    }
    if endpoint.body is not None or endpoint.takes is not None:
        operation["requestBody"] = {
            "required": not endpoint.has_optional_body and endpoint.takes is None,
            "content": dict(_bodies(endpoint, schemas)),
        }
    return operation


def _name(endpoint: Endpoint) -> str:
    return f"{endpoint.run.__module__.rpartition('.')[2]}_{endpoint.run.__name__}"


def _unique(names: Counter[str], name: str) -> str:
    """What is served at several addresses is counted."""
    names[name] += 1
    return name if names[name] == 1 else f"{name}_{names[name]}"


def _bodies(endpoint: Endpoint, schemas: Schemas) -> Iterator[tuple[str, Document]]:
    if endpoint.body is not None:
        yield "application/json", {"schema": schemas[endpoint.body]}
    if endpoint.takes is not None:
        yield "application/octet-stream", _BYTES


def _responses(dialect: Dialect, endpoint: Endpoint, schemas: Schemas) -> Iterator[tuple[str, Document]]:
    success: Document = {
        "description": denials.phrase(endpoint.status),
        "headers": parameters.answered(endpoint),
    }
    if endpoint.answer is Content:
        success["content"] = {"*/*": _BYTES}
        yield "206", success | {"description": HTTPStatus(206).phrase}
    elif endpoint.answer in _MEDIA:
        success["content"] = {_MEDIA[endpoint.answer]: _BYTES}
    elif endpoint.answer is not None:
        success["content"] = _json(schemas[endpoint.answer])
    yield str(endpoint.status), success
    if endpoint.quiet_status is not None:
        yield (
            str(endpoint.quiet_status),
            {"description": HTTPStatus(endpoint.quiet_status).phrase, "headers": parameters.ANSWERED},
        )
    if endpoint.waits is not None or endpoint.answer is Content:
        yield "304", {"description": "Not Modified", "headers": parameters.ANSWERED}
    for status in sorted(_refused(endpoint)):
        yield (
            str(status),
            {
                "description": denials.phrase(status),
                "headers": parameters.refused(status),
                "content": _PROBLEM | _own(dialect, schemas),
            },
        )


def _own(dialect: Dialect, schemas: Schemas) -> Document:
    """What a dialect says no with; before it is known which one was meant, a problem document is said."""
    return {} if dialect.refused is None else _json(schemas[dialect.refused])


def _json(schema: Document) -> Document:
    return {"application/json": {"schema": schema}}


def _refused(endpoint: Endpoint) -> set[int]:
    if endpoint.quiet_status is not None:
        return set()
    admitted = () if endpoint.need is Need.NOTHING else _SAID_OF_THE_ADMITTED
    once = (422,) if endpoint.method == "POST" and endpoint.mode == "write" else ()
    streams = (507,) if endpoint.takes is not None else ()
    parts = (412, 416) if endpoint.answer is Content else ()
    return {*_SAID_OF_ALL, *admitted, *once, *streams, *parts, *endpoint.refusals}
