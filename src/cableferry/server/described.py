"""The settings as a table: key, type, default and meaning, read off the typed sections."""

from collections.abc import Iterator
from enum import EnumMeta
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from cableferry.server.settings import Secret, Settings

Section = type[msgspec.Struct]


class Described(msgspec.Struct, frozen=True):
    """One setting as the settings page shows it."""

    key: str
    type: str
    default: str
    meaning: str

    @property
    def variable(self) -> str:
        return "CABLEFERRY_" + self.key.upper().replace(".", "__")


def sections() -> list[tuple[str, str]]:
    """Every section with the sentence that says what it is about."""
    return [(item.name, (item.type.__doc__ or "").strip()) for item in msgspec.structs.fields(Settings)]


def settings(section: Section = Settings, prefix: str = "") -> Iterator[Described]:
    """Every setting in the order in which it is written."""
    hints = get_type_hints(section, include_extras=True)
    for item in msgspec.structs.fields(section):
        kind, meaning = _parts(hints[item.name])
        key = f"{prefix}{item.name}"
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from settings(kind, f"{key}.")
        else:
            yield Described(key, _name(kind), _default(item), meaning)


def _parts(hint: object) -> tuple[object, str]:
    """A type without its annotations, and the description among them."""
    if get_origin(hint) is not Annotated:
        return hint, ""
    kind, *marks = get_args(hint)
    inner, meaning = _parts(kind)
    texts = [mark.description for mark in marks if isinstance(mark, msgspec.Meta) and mark.description]
    return inner, texts[-1] if texts else meaning


def _name(kind: object) -> str:
    kind, _ = _parts(kind)
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is Literal:
            return " or ".join(str(argument) for argument in arguments)
        case origin if origin in (Union, UnionType):
            return " or ".join(_name(argument) for argument in arguments if argument is not NoneType)
        case origin if origin is list:
            return f"list of {_name(arguments[0])}"
        case origin if origin is dict:
            return f"table of {_name(arguments[1])}"
        case _ if isinstance(kind, EnumMeta):
            return " or ".join(kind)
        case _ if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return "such settings"
        case _:
            return _WORDS.get(kind, getattr(kind, "__name__", str(kind)).lower())


_WORDS: dict[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Secret: "secret",
}


def _default(item: msgspec.structs.FieldInfo) -> str:
    value = item.default_factory() if callable(item.default_factory) else item.default
    if value is None or value is msgspec.NODEFAULT:
        return ""
    return msgspec.json.encode(value, enc_hook=str).decode()
