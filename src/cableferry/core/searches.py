"""What somebody looks for among many rows, in which order, and from where on."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime

import msgspec

from cableferry.core.errors import Invalid

LONGEST_CURSOR = 4096

Place = tuple[str | int, ...]
"""Where a row stands in an order: the values that it is ordered by."""


class Match(msgspec.Struct, frozen=True):
    """What is asked of one column: to be one of these, to contain one of these, to lie between."""

    equals: tuple[str, ...] | None = None
    contains: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None


class Search(msgspec.Struct, frozen=True):
    """Which rows, by column; no order means that of age. `text` is sought in all that a person reads of a row."""

    matches: Mapping[str, Match] = {}
    order: str | None = None
    is_descending: bool = False
    limit: int = 100
    offset: int = 0
    behind: Place | None = None
    text: str | None = None


_PLACES = msgspec.json.Decoder(tuple[str, Place])


def cursor(order: str, place: Place) -> str:
    """A text from which the next page of this order can go on."""
    return base64.urlsafe_b64encode(msgspec.json.encode((order, place))).decode()


def behind(text: str, order: str) -> Place:
    """The place that a cursor stands for."""
    try:
        if len(text) > LONGEST_CURSOR:
            raise ValueError
        named, place = _PLACES.decode(base64.b64decode(text.encode("ascii"), b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise Invalid("after must hold the cursor of a row, as an earlier answer gave it") from None
    if named != order:
        raise Invalid(f"after holds a cursor of the order {named[:40]}, and this list is in the order {order}")
    return place
