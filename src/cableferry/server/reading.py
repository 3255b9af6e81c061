"""The OpenAPI document as one page for people, which asks nothing of anywhere else."""

from collections.abc import Iterator
from html import escape

import msgspec

from cableferry.server.openapi import Document

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
details{border:1px solid #ccc;border-radius:6px;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}code,pre{font:13px ui-monospace,monospace}pre{background:#f6f6f6;padding:.6rem;overflow:auto}
b{display:inline-block;min-width:4.5rem}td,th{text-align:left;padding:.1rem .8rem .1rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#222}details{border-color:#444}}
"""


def page(document: Document) -> str:
    info = _table(document["info"])
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_text(info['title'])} API</title>",
        f"<style>{_STYLE}</style><h1>{_text(info['title'])} {_text(info['version'])}</h1>",
        "<p>The same as <a href=openapi.json>OpenAPI 3.1</a>.</p>",
        *_operations(_table(document["paths"])),
        "<h2>Schemas</h2>",
        *_schemas(_table(_table(document["components"])["schemas"])),
    ]
    return "".join(parts)


def _operations(paths: Document) -> Iterator[str]:
    for path, methods in paths.items():
        for method, found in _table(methods).items():
            operation = _table(found)
            head = f"<b>{method.upper()}</b> <code>{_text(path)}</code> {_text(operation['summary'])}"
            yield f"<details><summary>{head}</summary>{''.join(_operation(operation))}</details>"


def _operation(operation: Document) -> Iterator[str]:
    yield "<table><tr><th>parameter<th>in<th>what</tr>"
    for parameter in map(_table, _list(operation["parameters"])):
        word = " (required)" if parameter["required"] else ""
        what = _text(parameter.get("description", "")) or f"<code>{_json(parameter['schema'])}</code>"
        yield f"<tr><td><code>{_text(parameter['name'])}</code>{word}<td>{_text(parameter['in'])}<td>{what}</tr>"
    yield "</table>"
    if "requestBody" in operation:
        yield f"<p>Body:</p><pre>{_json(operation['requestBody'])}</pre>"
    yield "<table><tr><th>answer<th>what</tr>"
    for status, answer in _table(operation["responses"]).items():
        yield f"<tr><td>{status}<td>{_text(_table(answer)['description'])}</tr>"
    yield "</table>"


def _schemas(schemas: Document) -> Iterator[str]:
    for name, schema in schemas.items():
        head = f"<summary><code>{_text(name)}</code></summary>"
        yield f"<details id={_text(name)}>{head}<pre>{_json(schema)}</pre></details>"


def _table(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return escape(str(value))


def _json(value: object) -> str:
    return escape(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
