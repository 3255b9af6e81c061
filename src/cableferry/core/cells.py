r"""What the texts of one column are, decided for many of them at once.

empty ──▶ boolean ───────────────────┐
      ├─▶ integer ──▶ number ────────┼─▶ string
      └─▶ date ─────▶ timestamp ─────┘

A column begins empty and moves right as soon as one text in it does not fit.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from enum import StrEnum
from itertools import chain


class Kind(StrEnum):
    """A boolean is spelled true or false; an integer has no needless zeros in front, so 007 stays a string."""

    EMPTY = "empty"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    TIMESTAMP = "timestamp"
    STRING = "string"


_WIDER: dict[Kind, tuple[Kind, ...]] = {
    Kind.EMPTY: (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP),
    Kind.BOOLEAN: (Kind.BOOLEAN,),
    Kind.INTEGER: (Kind.INTEGER, Kind.NUMBER),
    Kind.NUMBER: (Kind.NUMBER,),
    Kind.DATE: (Kind.DATE, Kind.TIMESTAMP),
    Kind.TIMESTAMP: (Kind.TIMESTAMP,),
    Kind.STRING: (),
}


def _column(shape: str) -> re.Pattern[str]:
    """A column of such texts, a line each, some of them empty; possessive, so that it never tries twice."""
    return re.compile(rf"(?:(?:{shape})?\n)*+", re.ASCII)


_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,9}+)?)?"
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)?"

_SHAPES = {
    Kind.BOOLEAN: _column(r"true|false|True|False|TRUE|FALSE"),
    Kind.INTEGER: _column(r"-?(?:0|[1-9]\d*+)"),
    Kind.NUMBER: _column(r"-?(?:(?:0|[1-9]\d*+)(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?|(?i:nan|-?inf(?:inity)?)"),
    Kind.DATE: _column(_DAY),
    Kind.TIMESTAMP: _column(rf"{_DAY}(?:[T ]{_CLOCK}{_ZONE})?"),
}

# a shape does not know how long a month is
_CALENDARS: dict[Kind, Callable[[str], object]] = {
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
}


def widened(kind: Kind, texts: Sequence[str]) -> Kind:
    """The narrowest kind that holds these texts besides those that were seen before; an empty text fits all."""
    if kind is Kind.STRING:
        return kind
    lines = "\n".join(chain(texts, ("",)))
    if len(lines) == len(texts):
        return kind
    if lines.count("\n") != len(texts):
        return Kind.STRING
    return next((wider for wider in _WIDER[kind] if _fits(wider, lines, texts)), Kind.STRING)


def _fits(kind: Kind, lines: str, texts: Iterable[str]) -> bool:
    if not _SHAPES[kind].fullmatch(lines):
        return False
    if kind not in _CALENDARS:
        return True
    try:
        deque(map(_CALENDARS[kind], filter(None, texts)), maxlen=0)
    except ValueError:
        return False
    return True
