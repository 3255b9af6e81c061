"""Which artifacts the inputs of a job name, in every shape that servers and their users write."""

import re
from collections.abc import Iterator

import msgspec

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BadInputs(Exception):
    """Inputs that name nothing we could look for."""


class Reference(msgspec.Struct, frozen=True):
    """One artifact, and what the job calls it if that can be the name of a file."""

    id: str
    name: str | None = None


def references(inputs: bytes) -> list[Reference]:
    """Each artifact once, in order; the whole may stand inside a JSON string."""
    try:
        value = msgspec.json.decode(inputs or b"null")
        if isinstance(value, str):
            value = msgspec.json.decode(value)
        found = list(_named(value, None))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputs(f"the inputs are no JSON: {error}") from error
    known: dict[str, Reference] = {}
    for each in found:
        first = known.setdefault(each.id, each)
        if first.name is None:
            known[each.id] = each
    return list(known.values())


def _named(value: object, name: str | None) -> Iterator[Reference]:
    match value:
        case None:
            return
        case str():
            yield Reference(_safe(value), name)
        case {"artifact_id": inner}:
            yield from _named(inner, name)
        # what some servers make of an id: its name, type and status are no ids
        case {"id": str(inner), "status": _}:
            yield Reference(_safe(inner), name)
        case list():
            for each in value:
                yield from _named(each, name if len(value) == 1 else None)
        case dict():
            for key, inner in value.items():
                yield from _named(inner, key if _NAME.fullmatch(str(key)) else None)
        case _:
            raise BadInputs(f"the inputs hold {str(value)[:40]!r}, which names no artifact")


def _safe(text: str) -> str:
    """An id that can be the name of a folder."""
    if not _ID.fullmatch(text):
        raise BadInputs(f"the inputs name {text[:100]!r}, which is no id of an artifact")
    return text
