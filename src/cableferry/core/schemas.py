"""What a table holds, as its file says: the columns, their types, and how many rows there are.

`parquet.describe` reads it from the footer of a file, `csvs.describe` from a stream of text.
"""

from collections.abc import Iterable

import msgspec

MOST_COLUMNS = 20_000
MOST_CHARACTERS = 2**21


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """One column; of a nested column each leaf, under its path: `tags.list.element`."""

    name: str
    type: str
    nullable: bool
    repeated: bool = False
    physical: str | None = None


class Schema(msgspec.Struct, frozen=True, omit_defaults=True):
    """The columns in their order, and what a file tells about itself besides."""

    format: str
    columns: tuple[Column, ...]
    rows: int
    row_groups: int | None = None
    created_by: str | None = None
    keys: tuple[str, ...] = ()
    delimiter: str | None = None
    has_header: bool | None = None


class SchemaError(Exception):
    """Why a file cannot be described, in words for whoever made it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def bounded(columns: Iterable[Column]) -> tuple[Column, ...]:
    """All of them, unless they are too many: a description is kept with its artifact, so it stays small."""
    kept: list[Column] = []
    characters = 0
    for column in columns:
        kept.append(column)
        check_width(len(kept))
        characters += len(column.name)
        if characters > MOST_CHARACTERS:
            raise SchemaError(f"the names of the columns together have more than {MOST_CHARACTERS} characters")
    return tuple(kept)


def check_width(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise SchemaError(f"the table has more than {MOST_COLUMNS} columns")
