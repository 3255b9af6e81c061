"""Reads from the footer of a Parquet file what its table holds."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Final

import msgspec

from cableferry.core import schemas, thrift
from cableferry.core.schemas import Column, Schema, SchemaError
from cableferry.core.thrift import Wanted

FORMAT: Final = "parquet"
LONGEST_FOOTER: Final = 2**24
LONGEST_CREATOR: Final = 200
LONGEST_PATH: Final = 4096
MOST_KEYS: Final = 1000
_TAIL: Final = 2**16  # most footers fit, so one read is enough
_END: Final = 8  # how long the footer is, and the magic

# the format's own description of a footer, with the names of the structs below
_UNIT: Wanted = {1: ("ms", {}), 2: ("us", {}), 3: ("ns", {})}
_CLOCK: Wanted = {1: ("is_utc", {}), 2: ("unit", _UNIT)}
_MEANING: Wanted = {
    1: ("string", {}),
    2: ("map", {}),
    3: ("list", {}),
    4: ("enum", {}),
    5: ("decimal", {1: ("scale", {}), 2: ("precision", {})}),
    6: ("date", {}),
    7: ("time", _CLOCK),
    8: ("timestamp", _CLOCK),
    10: ("integer", {1: ("bits", {}), 2: ("is_signed", {})}),
    11: ("null", {}),
    12: ("json", {}),
    13: ("bson", {}),
    14: ("uuid", {}),
    15: ("float16", {}),
    16: ("variant", {}),
    17: ("geometry", {}),
    18: ("geography", {}),
}
_ELEMENT: Wanted = {
    1: ("physical", {}),
    2: ("length", {}),
    3: ("repetition", {}),
    4: ("name", {}),
    5: ("children", {}),
    6: ("converted", {}),
    7: ("scale", {}),
    8: ("precision", {}),
    10: ("meaning", _MEANING),
}
_FOOTER: Wanted = {
    2: ("elements", _ELEMENT),
    3: ("rows", {}),
    4: ("row_groups", {3: ("rows", {})}),
    5: ("pairs", {1: ("key", {})}),
    6: ("created_by", {}),
}

_PHYSICAL: Final = (
    ("BOOLEAN", "boolean"),
    ("INT32", "int32"),
    ("INT64", "int64"),
    ("INT96", "timestamp(ns)"),
    ("FLOAT", "float32"),
    ("DOUBLE", "float64"),
    ("BYTE_ARRAY", "binary"),
    ("FIXED_LEN_BYTE_ARRAY", "binary"),
)
_FIXED: Final = 7
_DECIMAL: Final = 5
_OPTIONAL: Final = 1
_REPEATED: Final = 2

# what older writers say instead of a meaning, by its number
_CONVERTED: Final = (
    "string", "map", "map entry", "list", "enum", "decimal", "date", "time(ms, UTC)", "time(us, UTC)",
    "timestamp(ms, UTC)", "timestamp(us, UTC)", "uint8", "uint16", "uint32", "uint64",
    "int8", "int16", "int32", "int64", "json", "bson", "interval",
)  # fmt: skip

Read = Callable[[int, int], bytes]
Count = Annotated[int, msgspec.Meta(ge=0)]


class _Meaning(msgspec.Struct, frozen=True):
    """What the bits of a value stand for; which of these it has depends on what it is."""

    scale: int = 0
    precision: int = 0
    is_utc: bool = False
    unit: dict[str, dict[str, int]] = {}
    bits: int = 0
    is_signed: bool = True


class _Element(msgspec.Struct, frozen=True):
    """A column, or a group of those that follow it."""

    name: bytes
    physical: Annotated[int, msgspec.Meta(ge=0, lt=len(_PHYSICAL))] | None = None
    length: Count = 0
    repetition: Annotated[int, msgspec.Meta(ge=0, le=2)] = 0
    children: Count = 0
    converted: int | None = None
    scale: int = 0
    precision: int = 0
    meaning: dict[str, _Meaning] = {}


class _RowGroup(msgspec.Struct, frozen=True):
    rows: Count


class _Pair(msgspec.Struct, frozen=True):
    key: bytes


class _Footer(msgspec.Struct, frozen=True):
    elements: list[_Element]
    rows: Count
    row_groups: list[_RowGroup]
    pairs: list[_Pair] = []
    created_by: bytes | None = None


class _Group(msgspec.Struct):
    """A group on the way to a column, and how many of its children are still to come."""

    path: str
    is_nullable: bool
    is_repeated: bool
    children: int


def describe(read: Read, size_bytes: int) -> Schema:
    """The schema of a file of this size, of which `read(start, stop)` gives a part; only its end is read.

    Raises SchemaError if it cannot be described, and lets through what `read` raises.
    """
    footer = _decoded(_footer(read, size_bytes))
    _check_rows(footer)
    return Schema(
        format=FORMAT,
        columns=schemas.bounded(_columns(footer.elements)),
        rows=footer.rows,
        row_groups=len(footer.row_groups),
        created_by=None if footer.created_by is None else _text(footer.created_by)[:LONGEST_CREATOR],
        keys=_keys(footer.pairs),
    )


def _footer(read: Read, size_bytes: int) -> bytes:
    """The bytes of the footer, from one read of the file's end, or from two if it is long."""
    if size_bytes < _END + 4:
        raise SchemaError(f"the file is too short for Parquet: {size_bytes} bytes")
    tail = _exactly(read, max(0, size_bytes - _TAIL), size_bytes)
    if tail[-4:] == b"PARE":
        raise SchemaError("the footer is encrypted, so only who has its key can tell what the table holds")
    if tail[-4:] != b"PAR1":
        raise SchemaError("the file does not end as Parquet does: it is something else, or was cut off")
    length = int.from_bytes(tail[-_END:-4], "little")
    if length > size_bytes - _END - 4:
        raise SchemaError(f"the footer claims {length} bytes, and the file has {size_bytes}")
    if length > LONGEST_FOOTER:
        raise SchemaError(f"the footer has {length} bytes; up to {LONGEST_FOOTER} are read")
    if length > len(tail) - _END:
        return _exactly(read, size_bytes - _END - length, size_bytes - _END)
    return tail[-_END - length : -_END]


def _exactly(read: Read, start: int, stop: int) -> bytes:
    data = read(start, stop)
    if len(data) != stop - start:
        raise SchemaError(f"the file ends at {start + len(data)} bytes, and {stop} were announced")
    return data


def _decoded(footer: bytes) -> _Footer:
    try:
        return msgspec.convert(thrift.read(footer, _FOOTER), _Footer)
    except (thrift.ThriftError, msgspec.ValidationError) as error:
        raise SchemaError(f"the footer is damaged: {error}") from None


def _check_rows(footer: _Footer) -> None:
    rows = sum(group.rows for group in footer.row_groups)
    if footer.row_groups and rows != footer.rows:
        raise SchemaError(f"the footer is damaged: it claims {footer.rows} rows, and its row groups hold {rows}")


def _columns(elements: Sequence[_Element]) -> Iterator[Column]:
    """Each leaf of the tree, which the footer tells with each group before what is in it."""
    if not elements:
        raise SchemaError("the footer is damaged: it describes no table")
    open_groups = [_Group("", False, False, elements[0].children)]
    for element in elements[1:]:
        while open_groups and open_groups[-1].children == 0:
            open_groups.pop()
        if not open_groups:
            raise SchemaError("the footer is damaged: it has columns outside the table")
        inside = _entered(open_groups[-1], element)
        if element.physical is None:
            open_groups.append(inside)
        else:
            yield _column(inside, element, element.physical)
    if any(group.children for group in open_groups):
        raise SchemaError("the footer is damaged: it announces columns that are not there")


def _entered(outer: _Group, element: _Element) -> _Group:
    outer.children -= 1
    path = f"{outer.path}.{_text(element.name)}" if outer.path else _text(element.name)
    if len(path) > LONGEST_PATH:
        raise SchemaError(f"the name of a column is longer than {LONGEST_PATH} characters")
    return _Group(
        path,
        outer.is_nullable or element.repetition == _OPTIONAL,
        outer.is_repeated or element.repetition == _REPEATED,
        element.children,
    )


def _column(leaf: _Group, element: _Element, physical: int) -> Column:
    name, plain = _PHYSICAL[physical]
    length = f"({element.length})" if physical == _FIXED else ""
    return Column(
        name=leaf.path,
        type=_meant(element) or plain + length,
        nullable=leaf.is_nullable,
        repeated=leaf.is_repeated,
        physical=name + length,
    )


def _meant(element: _Element) -> str | None:
    """What the values stand for, in plain words; nothing, if the writer did not say."""
    for name, meaning in element.meaning.items():
        match name:
            case "decimal":
                return f"decimal({meaning.precision}, {meaning.scale})"
            case "time" | "timestamp":
                unit = next(iter(meaning.unit), "?")
                return f"{name}({unit}, UTC)" if meaning.is_utc else f"{name}({unit})"
            case "integer":
                return f"{'int' if meaning.is_signed else 'uint'}{meaning.bits}"
        return name
    if element.converted == _DECIMAL:
        return f"decimal({element.precision}, {element.scale})"
    if element.converted is not None and 0 <= element.converted < len(_CONVERTED):
        return _CONVERTED[element.converted]
    return None


def _keys(pairs: Sequence[_Pair]) -> tuple[str, ...]:
    if len(pairs) > MOST_KEYS or sum(len(pair.key) for pair in pairs) > schemas.MOST_CHARACTERS:
        raise SchemaError(f"the footer has more than {MOST_KEYS} keys, or very long ones")
    return tuple(_text(pair.key) for pair in pairs)


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise SchemaError("the footer is damaged: a name in it is not UTF-8") from None
