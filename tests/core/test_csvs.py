"""The shape of CSV files, with a slow reader of whole files and pyarrow as second opinions."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cableferry.core import cells, csvs
from cableferry.core.cells import Kind
from cableferry.core.schemas import Column, Schema, SchemaError


def _described(data: bytes, size: int = 2**20) -> Schema:
    return csvs.describe(data[start : start + size] for start in range(0, len(data), size))


def _told(data: bytes) -> tuple[list[tuple[str, str, bool]], int]:
    described = _described(data)
    return [(column.name, column.type, column.nullable) for column in described.columns], described.rows


def test_a_description_says_what_there_is() -> None:
    data = (
        b"id,name,score,ok,day,at\n1,a,,true,2024-01-01,2024-01-01T10:00Z\n2,b,1.5,false,2024-01-02,2024-01-02 10:00\n"
    )

    assert Schema(
        format="csv",
        columns=(
            Column("id", "integer", nullable=False),
            Column("name", "string", nullable=False),
            Column("score", "number", nullable=True),
            Column("ok", "boolean", nullable=False),
            Column("day", "date", nullable=False),
            Column("at", "timestamp", nullable=False),
        ),
        rows=2,
        delimiter=",",
        has_header=True,
    ) == _described(data)


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        pytest.param(b"a,b\n", [("a", "string", False), ("b", "string", False)], 0, id="a header alone"),
        pytest.param(b"a,b", [("a", "string", False), ("b", "string", False)], 0, id="a header without a line end"),
        pytest.param(b"a,b\n1,\n2,", [("a", "integer", False), ("b", "string", True)], 2, id="a column without values"),
        pytest.param(b"\xef\xbb\xbfa\n1\n", [("a", "integer", False)], 1, id="a byte order mark"),
        pytest.param(b"a,b\r\n1,2\r\n", [("a", "integer", False), ("b", "integer", False)], 1, id="CRLF"),
        pytest.param(b"a,b\r1,2\r", [("a", "integer", False), ("b", "integer", False)], 1, id="CR"),
        pytest.param(b'a,b\n"1\n2",x\n', [("a", "string", False), ("b", "string", False)], 1, id="a line end quoted"),
        pytest.param(b'a,b\n"1\r2",x\n', [("a", "string", False), ("b", "string", False)], 1, id="a CR quoted"),
        pytest.param(b'a,b\n"1",""""\n', [("a", "integer", False), ("b", "string", False)], 1, id="quotes in quotes"),
        pytest.param(b'a,b\n"x,y",\n', [("a", "string", False), ("b", "string", True)], 1, id="a delimiter in quotes"),
        pytest.param(b'a,b\n5" disk,1\n', [("a", "string", False), ("b", "integer", False)], 1, id="a quote inside"),
        pytest.param(b"\n\na,b\n\n1,2\n\n\n", [("a", "integer", False), ("b", "integer", False)], 1, id="empty lines"),
        pytest.param(b'a\n1\n\n""\n', [("a", "integer", True)], 2, id="empty lines in one column"),
        pytest.param(b",x\n1,2\n", [("column_1", "integer", False), ("x", "integer", False)], 1, id="no name"),
        pytest.param("é,日本\nü,1\n".encode(), [("é", "string", False), ("日本", "integer", False)], 1, id="UTF-8"),
        pytest.param(b"a,a\n1,x\n", [("a", "integer", False), ("a", "string", False)], 1, id="a name twice"),
        pytest.param(b"a,b\n\0,1\n", [("a", "string", False), ("b", "integer", False)], 1, id="a NUL"),
        pytest.param(b"a\x0b,c\n1\x1c,2\n", [("a\x0b", "string", False), ("c", "integer", False)], 1, id="separators"),
    ],
)  # fmt: skip
def test_a_table_is_what_its_text_says(data: bytes, columns: list[tuple[str, str, bool]], rows: int) -> None:
    assert (columns, rows) == _told(data)


@pytest.mark.parametrize(
    ("data", "delimiter"),
    [
        (b"a,b\n1,2\n", ","),
        (b"a;b\n1,5;2,5\n", ";"),
        (b"a\tb\n1,5;3\t2,5;4\n", "\t"),
        (b"a|b\nx,y;z|1\n", "|"),
        (b"a\n1\n", ","),
        (b'"a;b",c\n1,2\n', ","),
        (b'"a";"b"\n"1";"2"\n', ";"),
        (b"one;two words, and more\nx;y\n", ";"),
    ],
)
def test_the_delimiter_is_found(data: bytes, delimiter: str) -> None:
    assert delimiter == _described(data).delimiter


@pytest.mark.parametrize(
    ("data", "has_header"),
    [
        pytest.param(b"a,b\nc,d\n", True, id="texts above texts"),
        pytest.param(b"a,b\n1,2\n", True, id="texts above values"),
        pytest.param(b"id,2020,2021\nx,1.5,2\n", False, id="a number among texts, above a text"),
        pytest.param(b"id,name,2020\n1,x,1.5\n", True, id="a number among texts, above a value"),
        pytest.param(b"1,x\n2,y\n", False, id="values above values"),
        pytest.param(b"1,2,3\n", False, id="a single row of values"),
        pytest.param(b"2024-01-01,x\n2024-01-02,y\n", False, id="a date"),
        pytest.param(b"true\nfalse\n", False, id="a boolean"),
    ],
)
def test_a_header_is_told_from_a_row(data: bytes, has_header: bool) -> None:
    described = _described(data)

    assert has_header is described.has_header
    assert len(data.splitlines()) - has_header == described.rows
    assert has_header or described.columns[0].name == "column_1"


FILLER = b"".join(b"%d,text %d,%d.5\n" % (row, row, row) for row in range(6000))
QUOTED = FILLER.replace(b",text", b',"text').replace(b",", b'",', 2).replace(b'text 0",', b"text 0,")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1000, 65_537, 10**7])
def test_a_file_of_many_blocks_is_read_to_its_last_row(end: bytes, size: int) -> None:
    data = (b"id,name,value\n" + FILLER * 5 + b"7,,x").replace(b"\n", end)

    described = _described(data, size)

    assert 30_001 == described.rows
    assert [("integer", False), ("string", True), ("string", False)] == [
        (c.type, c.nullable) for c in described.columns
    ]


@pytest.mark.parametrize("odd", [b'"8","a\nb",9.5\n', b"\n\n8,a,9.5\n", b'8,"' + b"long " * 20_000 + b'",9\n'])
def test_what_is_not_simple_may_come_late(odd: bytes) -> None:
    data = b"id,name,value\n" + FILLER * 3 + odd + FILLER * 3

    described = _described(data)

    assert 36_001 == described.rows
    assert ["integer", "string", "number"] == [column.type for column in described.columns]


def test_a_quoted_field_may_span_blocks() -> None:
    long = "\n".join(f"line {number}" for number in range(12_000))
    data = f'id,text\n1,"{long}"\n2,"{long}"\n'.encode()

    assert ([("id", "integer", False), ("text", "string", False)], 2) == _told(data)


def test_a_single_column_of_many_blocks_skips_empty_lines() -> None:
    data = b"n\n" + b"12345\n\n" * 20_000

    assert ([("n", "integer", False)], 20_000) == _told(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "no row, not even a header", id="an empty file"),
        pytest.param(b"\xef\xbb\xbf", "no row, not even a header", id="a byte order mark alone"),
        pytest.param(b"\r\n\n\r" * 50_000, "no row, not even a header", id="empty lines alone"),
        pytest.param(b"a,b\n1,2\n3\n", "row 3 has 1 fields, and the first has 2", id="a row too short"),
        pytest.param(b"a,b\n1,2\n\n3,4\n5,6,7\n", "row 4 has 3 fields", id="a row too long"),
        pytest.param(b"a;b;c\n1;2\n", "row 2 has 2 fields, and the first has 3", id="a row too short for ;"),
        pytest.param(b"1,2\n3\n", "row 2 has 1 fields", id="a row too short without a header"),
        pytest.param(b"a,b,c\n" + FILLER + b"1,2\n1,2,3,4\n", "row 6002 has 2 fields", id="rows that only balance"),
        pytest.param(b"a\n\xff\n", "not UTF-8: the byte at 2", id="Latin-1"),
        pytest.param(b"\xff\xfea\0\n\0", "not UTF-8: the byte at 0", id="UTF-16"),
        pytest.param(b"a,b,c\n" + FILLER + b"\xe9,2,3", f"the byte at {len(FILLER) + 6} ", id="Latin-1 late"),
        pytest.param(b"a\n\xe2\x82", "not UTF-8: the byte at 2", id="half a character at the end"),
        pytest.param(b'a,b\n1,"x\n2,y\n', "row 2 cannot be read: unexpected end of data", id="an open quote"),
        pytest.param(b'"', "row 1 cannot be read: unexpected end of data", id="a quote alone"),
        pytest.param(b'a,b\n1,2\n"x"y,2\n3,4\n', "row 3 cannot be read: ',' expected after '\"'", id="a quote ended"),
        pytest.param(b'a,b\n1,"' + b"x\n" * 70_000, "larger than field limit", id="a quoted field of many lines"),
        pytest.param(b"a,b,c\n" + FILLER + b"x" * 140_000 + b",2,3\n", "row 6002 cannot be read: field", id="a field"),
        pytest.param(b"x" * 5_000_000, "a row is longer than 4194304 characters", id="a line without an end"),
        pytest.param(b"," * 20_000 + b"\n", "more than 20000 columns", id="too many columns"),
        pytest.param(b",".join([b"n" * 2000] * 1500), "more than 2097152 characters", id="too long names"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(reason)):
        _described(data)


def test_what_reading_raises_is_not_the_files_fault() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a,b\n"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        csvs.describe(broken())


def test_an_endless_quoted_record_is_not_kept_in_memory() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        yield b"a,b\n"
        while True:
            taken += 1
            yield b'"' + b"x" * 100_000 + b'",'

    with pytest.raises(SchemaError, match="a row is longer than"):
        csvs.describe(endless())
    assert taken < 60


fields = st.one_of(
    st.sampled_from(["", "1", "-2", "2.5", "true", "2024-01-01", "2024-01-01T10:00", 'a "b"', "a\nb", "c,d"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=4),  # which csv leaves unquoted
)  # fmt: skip


@given(
    width=st.integers(2, 4),
    data=st.data(),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    filler=st.sampled_from([0, 0, 30_000]),
)
@settings(max_examples=80)
def test_a_stream_is_what_a_slow_reader_finds(
    width: int, data: st.DataObject, end: str, quoting: int, filler: int
) -> None:
    rows = data.draw(st.lists(st.lists(fields, min_size=width, max_size=width), max_size=8))
    header = [f"name {place}" for place in range(width)]
    plain = [["1"] * width] * filler
    file = io.StringIO()
    csv.writer(file, lineterminator=end, quoting=quoting).writerows([header, *plain, *rows])

    described = _described(
        file.getvalue().encode(), data.draw(st.sampled_from([3, 100, 10**6] if not filler else [70_000]))
    )

    read = list(csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True))[1:]
    kinds = [cells.widened(Kind.EMPTY, [row[place] for row in read]) for place in range(width)]
    assert len(plain) + len(rows) == described.rows
    assert [Kind.STRING if kind is Kind.EMPTY else kind for kind in kinds] == [c.type for c in described.columns]
    assert ["" in [row[place] for row in rows] for place in range(width)] == [c.nullable for c in described.columns]


words = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=5).map(
    lambda text: f"w{text}"
)
arrow = st.sampled_from(
    [
        (pa.int64(), st.integers(-(2**63), 2**63 - 1), "integer"),
        (pa.float64(), st.floats().filter(lambda number: not float(number).is_integer()), "number"),
        (pa.bool_(), st.booleans(), "boolean"),
        (pa.date32(), st.dates(date(1000, 1, 1)), "date"),
        (pa.timestamp("us"), st.integers(0, 2**52), "timestamp"),
        (pa.string(), words, "string"),
    ]
)


@given(kinds=st.lists(arrow, min_size=1, max_size=4), rows=st.integers(1, 5), data=st.data())
@settings(max_examples=80)
def test_what_pyarrow_writes_has_its_types(
    kinds: list[tuple[pa.DataType, st.SearchStrategy, str]], rows: int, data: st.DataObject
) -> None:
    columns = [data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows)) for _, values, _ in kinds]
    table = pa.table(
        {f"c {n}": pa.array(c, kind) for n, (c, (kind, _, _)) in enumerate(zip(columns, kinds, strict=True))}
    )
    written = io.BytesIO()
    pyarrow.csv.write_csv(table, written)

    columns_told, rows_told = _told(written.getvalue())

    if len(kinds) > 1:  # pyarrow writes a row with nothing in its one column as an empty line
        assert rows == rows_told
    expected = [
        word if any(v is not None for v in c) else "string" for c, (_, _, word) in zip(columns, kinds, strict=True)
    ]
    assert expected == [told for _, told, _ in columns_told]


@given(
    data=st.binary(max_size=200) | st.text('a1",;\t|\r\n\ufeff\0é', max_size=60).map(str.encode),
    size=st.integers(1, 70),
)
@settings(max_examples=400)
def test_any_bytes_are_described_or_refused_however_they_arrive(data: bytes, size: int) -> None:
    assert _outcome(data, 10**6) == _outcome(data, size)


def _outcome(data: bytes, size: int) -> Schema | str:
    try:
        return _described(data, size)
    except SchemaError as error:
        return f"refused: {error.detail}"
