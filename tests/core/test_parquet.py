"""The footer of a Parquet file, with what pyarrow reads and writes as the second opinion."""

import base64
import contextlib
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.parquet import encryption

from cableferry.core import parquet, schemas
from cableferry.core.schemas import Column, Schema, SchemaError
from tests.core import compact

SIMPLE = {
    "bool": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "u8": pa.uint8(),
    "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(), "half": pa.float16(), "float": pa.float32(),
    "double": pa.float64(), "text": pa.string(), "big": pa.large_string(), "view": pa.string_view(), "raw": pa.binary(),
    "fixed": pa.binary(5), "uuid": pa.uuid(), "json": pa.json_(), "day": pa.date32(), "day64": pa.date64(),
    "ms": pa.time32("ms"), "us": pa.time64("us"), "ns": pa.time64("ns"), "at_s": pa.timestamp("s"),
    "at_ms": pa.timestamp("ms"), "at_us": pa.timestamp("us", "UTC"), "at_ns": pa.timestamp("ns", "Europe/Amsterdam"),
    "money": pa.decimal128(12, 2), "small": pa.decimal32(4, 1), "wide": pa.decimal256(60, 9), "nothing": pa.null(),
    "took": pa.duration("us"), "words": pa.dictionary(pa.int8(), pa.string()),
}  # fmt: skip
NESTED = {
    "list": pa.list_(pa.int16()),
    "lists": pa.list_(pa.list_(pa.field("x", pa.string(), nullable=False))),
    "fixed": pa.list_(pa.float32(), 3),
    "struct": pa.struct([pa.field("a", pa.int8(), nullable=False), pa.field("b.c", pa.struct([("d", pa.date32())]))]),
    "map": pa.map_(pa.string(), pa.struct([("é ü", pa.binary(4))])),
}


def _written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def _described(data: bytes) -> Schema:
    return parquet.describe(lambda start, stop: data[start:stop], len(data))


def _oracle(data: bytes) -> list[tuple[str, str, bool, bool]]:
    schema = pq.ParquetFile(io.BytesIO(data)).schema
    columns = [schema.column(place) for place in range(len(schema))]
    return [
        (
            column.path,
            _words(column),
            column.max_definition_level > column.max_repetition_level,
            column.max_repetition_level > 0,
        )
        for column in columns
    ]


def _words(column: Any) -> str:
    meaning = json.loads(column.logical_type.to_json())
    match meaning["Type"]:
        case "None":
            plain = {"FLOAT": "float32", "DOUBLE": "float64", "BYTE_ARRAY": "binary", "INT96": "timestamp(ns)"}
            fixed = f"binary({column.length})"
            return fixed if column.length else plain.get(column.physical_type, column.physical_type.lower())
        case "Int":
            return f"{'int' if meaning['isSigned'] else 'uint'}{meaning['bitWidth']}"
        case "Decimal":
            return f"decimal({meaning['precision']}, {meaning['scale']})"
        case "Time" | "Timestamp" as name:
            unit = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}[meaning["timeUnit"]]
            return f"{name.lower()}({unit}{', UTC' if meaning['isAdjustedToUTC'] else ''})"
        case name:
            return name.lower()


def _told(schema: Schema) -> list[tuple[str, str, bool, bool]]:
    return [(column.name, column.type, column.nullable, column.repeated) for column in schema.columns]


def _empty(types: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema([pa.field(name, kind) for name, kind in types.items()]).empty_table()


@pytest.mark.parametrize("name", [*SIMPLE, *NESTED])
def test_every_type_is_told_as_pyarrow_tells_it(name: str) -> None:
    data = _written(_empty({name: (SIMPLE | NESTED)[name]}))

    assert _oracle(data) == _told(_described(data))


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_how_a_file_is_written_does_not_matter(version: str, compression: str) -> None:
    table = pa.table({"n": pa.array([1, None, 3], pa.uint32()), "s": ["a", "b", None], "l": [[1], [], None]})

    data = _written(table, version=version, compression=compression, data_page_version="2.0", use_dictionary=False)

    assert _oracle(data) == _told(_described(data))
    assert 3 == _described(data).rows


def test_a_description_says_what_there_is() -> None:
    table = pa.table({"n": [1, 2, 3, 4, 5]}).replace_schema_metadata({"made by": "us"})

    data = _written(table, row_group_size=2)

    assert Schema(
        format="parquet",
        columns=(Column("n", "int64", nullable=True, physical="INT64"),),
        rows=5,
        row_groups=3,
        created_by=pq.read_metadata(io.BytesIO(data)).created_by,
        keys=("made by", "ARROW:schema"),
    ) == _described(data)


def test_old_timestamps_are_timestamps() -> None:
    data = _written(_empty({"at": pa.timestamp("ns")}), use_deprecated_int96_timestamps=True)

    assert [Column("at", "timestamp(ns)", nullable=True, physical="INT96")] == list(_described(data).columns)


def test_a_column_that_must_have_values_is_not_nullable() -> None:
    data = _written(pa.schema([pa.field("n", pa.int8(), nullable=False)]).empty_table())

    assert [Column("n", "int8", nullable=False, physical="INT32")] == list(_described(data).columns)


def test_a_table_without_columns_has_none() -> None:
    described = _described(_written(pa.table({})))

    assert ((), 0) == (described.columns, described.rows)


def test_many_row_groups_and_columns_need_a_second_read() -> None:
    table = pa.table({f"column {place}": range(20) for place in range(60)})
    data = _written(table, row_group_size=1)
    reads: list[tuple[int, int]] = []

    described = parquet.describe(lambda start, stop: (reads.append((start, stop)), data[start:stop])[1], len(data))

    footer = int.from_bytes(data[-8:-4], "little")
    assert [(len(data) - 2**16, len(data)), (len(data) - 8 - footer, len(data) - 8)] == reads
    assert (20, 20, 60) == (described.rows, described.row_groups, len(described.columns))


def test_a_small_file_is_read_once() -> None:
    data = _written(pa.table({"n": [1]}))
    reads: list[tuple[int, int]] = []

    parquet.describe(lambda start, stop: (reads.append((start, stop)), data[start:stop])[1], len(data))

    assert [(0, len(data))] == reads


fields = st.recursive(
    st.sampled_from([kind for kind in SIMPLE.values() if kind not in (pa.null(), pa.string_view())]),
    lambda inner: (
        inner.map(pa.list_)
        | inner.map(lambda value: pa.map_(pa.string(), value))
        | st.dictionaries(st.sampled_from("abcde"), inner, min_size=1, max_size=3).map(lambda d: pa.struct(d.items()))
    ),
    max_leaves=4,
)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@given(
    types=st.dictionaries(names, st.tuples(fields, st.booleans()), max_size=5),
    rows=st.integers(0, 9),
    group=st.integers(1, 9),
)
@settings(max_examples=60)
def test_generated_tables_are_told_as_pyarrow_tells_them(
    types: dict[str, tuple[pa.DataType, bool]], rows: int, group: int
) -> None:
    schema = pa.schema(
        [pa.field(name, kind, nullable=nullable or rows > 0) for name, (kind, nullable) in types.items()]
    )
    table = pa.Table.from_arrays([pa.nulls(rows, field.type) for field in schema], schema=schema)
    data = _written(table, row_group_size=group)

    described = _described(data)

    metadata = pq.read_metadata(io.BytesIO(data))
    assert _oracle(data) == _told(described)
    assert (metadata.num_rows, metadata.num_row_groups) == (described.rows, described.row_groups)


class Wrapping(encryption.KmsClient):
    """Keeps keys as nobody should, which is enough to have a file encrypted."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def _encrypted(plaintext_footer: bool) -> bytes:
    keys = encryption.EncryptionConfiguration(
        footer_key="foot", column_keys={"column": ["secret"]}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(lambda _: Wrapping())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    table = pa.table({"secret": [1], "open": ["a"]})
    file = io.BytesIO()
    with pq.ParquetWriter(file, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    return file.getvalue()


def test_an_encrypted_footer_is_told_to_be_one() -> None:
    with pytest.raises(SchemaError, match="the footer is encrypted"):
        _described(_encrypted(plaintext_footer=False))


def test_encrypted_columns_under_an_open_footer_are_described() -> None:
    described = _described(_encrypted(plaintext_footer=True))

    assert ["secret", "open"] == [column.name for column in described.columns]


def _file(footer: bytes) -> bytes:
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _tree(*elements: dict[int, Any], rows: int = 0, **more: Any) -> bytes:
    return _file(compact.struct({1: 2, 2: list(elements), 3: rows, 4: []} | {int(n[1:]): v for n, v in more.items()}))


ROOT = {4: "root", 5: 1}
LEAF = {1: 1, 3: 0, 4: "n"}


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        ({1: 6, 6: 0}, "string"),
        ({1: 6, 6: 4}, "enum"),
        ({1: 2, 6: 5, 7: 2, 8: 9}, "decimal(9, 2)"),
        ({1: 1, 6: 6}, "date"),
        ({1: 1, 6: 7}, "time(ms, UTC)"),
        ({1: 2, 6: 10}, "timestamp(us, UTC)"),
        ({1: 1, 6: 11}, "uint8"),
        ({1: 2, 6: 18}, "int64"),
        ({1: 6, 6: 20}, "bson"),
        ({1: 7, 2: 12, 6: 21}, "interval"),
        ({1: 7, 2: 12, 6: 22}, "binary(12)"),
        ({1: 6, 6: -1}, "binary"),
        ({1: 2, 10: {8: {1: True}}}, "timestamp(?, UTC)"),
        ({1: 6, 10: {17: {1: "OGC:CRS84"}}}, "geometry"),
        ({1: 6, 10: {99: {}}}, "binary"),
        ({1: 6, 6: 19, 10: {99: {}}}, "json"),
    ],
)  # fmt: skip
def test_what_older_and_newer_writers_say_is_understood(leaf: dict[int, Any], expected: str) -> None:
    described = _described(_tree(ROOT, {**leaf, 4: "n"}))

    assert [expected] == [column.type for column in described.columns]


def test_the_name_of_a_writer_is_cut() -> None:
    assert "x" * parquet.LONGEST_CREATOR == _described(_tree(ROOT, LEAF, _6="x" * 999)).created_by


DEEP = {4: "g" * 2000, 5: 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "too short for Parquet: 0 bytes", id="an empty file"),
        pytest.param(b"PAR1PAR1", "too short", id="the magic alone"),
        pytest.param(b"a,b\n1,2\n3,4\n5,6\n", "does not end as Parquet does", id="something else"),
        pytest.param(_tree(ROOT, LEAF)[:-1], "does not end as Parquet does", id="a file that was cut off"),
        pytest.param(b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1", "claims 2147483647 bytes", id="a footer too large"),
        pytest.param(_file(b"\x19\x19"), "the footer is damaged: ", id="a footer of nonsense"),
        pytest.param(_file(compact.struct({3: 0, 4: []})), "missing required field `elements`", id="no columns"),
        pytest.param(_file(compact.struct({2: [], 3: 0, 4: []})), "describes no table", id="a footer without a root"),
        pytest.param(_file(compact.struct({2: 7, 3: 0, 4: []})), "Expected `array`", id="columns that are a number"),
        pytest.param(_tree(ROOT, LEAF, rows=-1), "`int` >= 0", id="fewer rows than none"),
        pytest.param(_tree(ROOT, LEAF, rows=9, _4=[{3: 4}, {3: 4}]), "its row groups hold 8", id="lost rows"),
        pytest.param(_tree(ROOT, {**LEAF, 1: 8}), "`int` <= 7", id="a type that does not exist"),
        pytest.param(_tree(ROOT, {**LEAF, 3: 3}), "`int` <= 2", id="a repetition that does not exist"),
        pytest.param(_tree(ROOT, {**LEAF, 4: b"\xff"}), "not UTF-8", id="a name in Latin-1"),
        pytest.param(_tree(ROOT, LEAF, LEAF), "columns outside the table", id="one column too many"),
        pytest.param(_tree(ROOT), "columns that are not there", id="one column too few"),
        pytest.param(_tree({**ROOT, 5: -1}, LEAF), "`int` >= 0", id="fewer columns than none"),
        pytest.param(_tree(ROOT, DEEP, DEEP, DEEP, LEAF), "longer than 4096 characters", id="a path without an end"),
        pytest.param(_tree(ROOT, LEAF, _5=[{1: "k"}] * 1001), "more than 1000 keys", id="too many keys"),
        pytest.param(_tree(ROOT, LEAF, _5=[{1: "k" * 2**20}] * 3), "very long ones", id="too long keys"),
    ],
)  # fmt: skip
def test_what_is_no_description_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(reason)) as raised:
        _described(data)

    assert reason in raised.value.detail


def test_more_columns_than_can_be_kept_are_refused() -> None:
    many = schemas.MOST_COLUMNS + 1

    with pytest.raises(SchemaError, match="more than 20000 columns"):
        _described(_tree({**ROOT, 5: many}, *[LEAF] * many))


def test_names_longer_than_can_be_kept_are_refused() -> None:
    with pytest.raises(SchemaError, match="more than 2097152 characters"):
        _described(_tree({**ROOT, 5: 600}, *[{**LEAF, 4: "n" * 4000}] * 600))


def test_a_footer_of_many_megabytes_is_not_read() -> None:
    size = parquet.LONGEST_FOOTER + 100
    tail = (parquet.LONGEST_FOOTER + 1).to_bytes(4, "little") + b"PAR1"

    with pytest.raises(SchemaError, match="up to 16777216 are read"):
        parquet.describe(lambda start, stop: bytes(stop - start - 8) + tail, size)


def test_a_file_that_is_shorter_than_announced_is_told() -> None:
    data = _written(pa.table({"n": [1]}))

    with pytest.raises(SchemaError, match=f"ends at {len(data)} bytes, and {len(data) + 9} were announced"):
        parquet.describe(lambda start, stop: data[start:stop], len(data) + 9)


def test_what_reading_raises_is_not_the_files_fault() -> None:
    def broken(start: int, stop: int) -> bytes:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        parquet.describe(broken, 100)


REAL = _written(pa.table({"n": [1, 2], "s": ["a", None], "l": [[{"x": 1}], None]}), row_group_size=1)


@st.composite
def _damaged(draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """A real file with some of its footer's bytes replaced, left out or doubled."""
    data = bytearray(REAL)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(start, len(data) - 9))
        data[place : place + draw(st.integers(0, 4))] = draw(st.binary(max_size=6))
    return bytes(data)


@given(data=st.binary(max_size=300) | st.binary(max_size=300).map(_file) | _damaged())
@settings(max_examples=400)
def test_any_bytes_are_described_or_refused(data: bytes) -> None:
    with contextlib.suppress(SchemaError):
        assert _described(data).rows >= 0


def test_a_file_cut_off_anywhere_is_refused() -> None:
    for length in range(len(REAL)):
        with pytest.raises(SchemaError):
            _described(REAL[:length])
