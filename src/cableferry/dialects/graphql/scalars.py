"""The leaves of the schema that GraphQL does not know by itself."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition

Moment = NewType("Moment", datetime)
Long = NewType("Long", int)
Json = NewType("Json", object)
Key = NewType("Key", str)

KEY_NAMES = ("name", "id", "worker_id")


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _moment(value: object) -> datetime:
    """A time without a zone is UTC, as everywhere in the protocol."""
    try:
        if not isinstance(value, str):
            raise ValueError
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("a time must be a text like 2026-02-21T10:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _key(value: object) -> str:
    """`"COMMITTED"`, or an object as the key of a row is written: `{name: "COMMITTED"}`."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in KEY_NAMES:
        value = next(iter(value.values()))
    if not isinstance(value, str):
        raise ValueError(f"a key must be a text, or an object of one text named {' or '.join(KEY_NAMES)}")
    return value


def _as_it_is(value: object) -> object:
    return value


SCALARS: Mapping[object, ScalarDefinition] = {
    Moment: strawberry.scalar(
        name="DateTime", description="An ISO-8601 time in UTC.", serialize=_written, parse_value=_moment
    ),
    Long: strawberry.scalar(name="Long", description="A whole number of up to 64 bits.", serialize=_as_it_is),
    Json: strawberry.scalar(name="JSON", description="Any JSON value, as it was sent.", serialize=_as_it_is),
    Key: strawberry.scalar(
        name="Key", description="What names a row: a text, or an object like {name: …} or {id: …}.",
        serialize=_as_it_is, parse_value=_key,
    ),
}  # fmt: skip
