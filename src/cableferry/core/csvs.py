"""Reads from a CSV file what its table holds: one pass over all of it, in memory that does not grow with it."""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cableferry.core import cells, schemas
from cableferry.core.cells import Kind
from cableferry.core.schemas import Column, Schema, SchemaError

FORMAT: Final = "csv"
DELIMITERS: Final = ",;\t|"
LONGEST_FIELD: Final = 2**17  # what Python's csv module takes
LONGEST_RECORD: Final = 2**22
_SAMPLE: Final = 2**16  # the first bytes, which tell the shape
_BLOCK: Final = 2**19  # and as many at once of all others
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")

Row = list[str]


def describe(chunks: Iterable[bytes]) -> Schema:
    """The schema of a file that comes in pieces of any size.

    - Text is UTF-8, with or without a mark in front. Lines end in LF, CRLF or CR, and empty ones count for nothing.
    - Fields are quoted as in RFC 4180, and blanks belong to them. An empty field is a missing value; no word is.
    - The delimiter is the one that cuts all of the first rows into equally many fields, and into most of them.
    - The first row is the header if no field of it reads as a value, or if one is a text above a column of values.
    - The type of a column holds for each of its rows; `cells` tells which types there are.
    - A column is nullable if some row has nothing there.

    Raises SchemaError if it cannot be described, and lets through what `chunks` raises. Where it names a row, the first
    row of the file is row 1, be it a header or not.
    """
    table: _Table | None = None
    rest = ""
    for text, is_last in _texts(chunks):
        rest = rest + text if table else (rest + text).lstrip("\r\n")
        cut = len(rest) if is_last else _whole_lines(rest)
        table = table or _begun(rest[:cut], is_last)
        if table is not None:
            rest = table.take(rest[:cut], is_last) + rest[cut:]
        if len(rest) > LONGEST_RECORD:
            raise SchemaError(f"a row is longer than {LONGEST_RECORD} characters, or a quoted field never ends")
    if table is None:
        raise SchemaError("the file has no row, not even a header")
    return table.schema()


class _Table:
    """What is known of a table after some of its rows."""

    def __init__(self, delimiter: str, first: Row, has_header: bool) -> None:
        self._delimiter = delimiter
        self._header = first if has_header else None
        self._rows = 0
        self._kinds = [Kind.EMPTY] * len(first)
        self._gaps = [False] * len(first)

    def take(self, text: str, is_last: bool) -> str:
        """Look at whole lines; what is given back is the beginning of a row that goes on in the next one."""
        columns = _unquoted(text, self._delimiter, len(self._kinds)) if self._rows else None
        if columns is not None:
            self._rows += len(columns[0])
            self._add(columns)
            return ""
        rows, rest = _records(text, self._delimiter, is_last, self._rows)
        self._check_widths(rows)
        is_first, self._rows = self._rows == 0, self._rows + len(rows)
        values = rows[1:] if is_first and self._header else rows
        self._add(list(zip(*values, strict=True)))
        return rest

    def schema(self) -> Schema:
        names = self._header or [""] * len(self._kinds)
        kinds = [Kind.STRING if kind is Kind.EMPTY else kind for kind in self._kinds]
        columns = (
            Column(name=name or f"column_{number}", type=kind.value, nullable=gap)
            for number, (name, kind, gap) in enumerate(zip(names, kinds, self._gaps, strict=True), 1)
        )
        return Schema(
            format=FORMAT,
            columns=schemas.bounded(columns),
            rows=self._rows - (self._header is not None),
            delimiter=self._delimiter,
            has_header=self._header is not None,
        )

    def _add(self, columns: Sequence[Sequence[str]]) -> None:
        for place, texts in enumerate(columns):
            self._kinds[place] = cells.widened(self._kinds[place], texts)
            self._gaps[place] = self._gaps[place] or "" in texts

    def _check_widths(self, rows: list[Row]) -> None:
        width = len(self._kinds)
        if set(map(len, rows)) - {width}:
            place, row = next((place, row) for place, row in enumerate(rows) if len(row) != width)
            raise SchemaError(f"row {self._rows + place + 1} has {len(row)} fields, and the first has {width}")


def _texts(chunks: Iterable[bytes]) -> Iterator[tuple[str, bool]]:
    """The text, some hundred thousand characters at a time, each with whether it is the last."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    taken = 0
    for block, is_last in _blocks(chunks):
        taken += len(block)
        try:
            yield decoder.decode(block, is_last), is_last
        except UnicodeDecodeError as error:
            place = taken - len(error.object) + error.start
            raise SchemaError(f"the file is not UTF-8: the byte at {place} does not belong there") from None


def _blocks(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    held = bytearray()
    size = _SAMPLE
    for chunk in chunks:
        held += chunk
        while len(held) > size:
            yield bytes(held[:size]), False
            del held[:size]
            size = _BLOCK
    yield bytes(held), True


def _whole_lines(text: str) -> int:
    """Where the last line that certainly ended ends; a CR at the end may be half of a CRLF."""
    return text.rfind("\n") + 1 or text.rfind("\r", 0, -1) + 1


def _begun(text: str, is_last: bool) -> _Table | None:
    """A table of which only the shape is known, once the text holds a row."""
    cuts = {delimiter: _sampled(text, delimiter, is_last) for delimiter in DELIMITERS}
    delimiter = _best(cuts)
    rows = cuts[delimiter] or _records(text, delimiter, is_last)[0]
    if rows:
        schemas.check_width(len(rows[0]))
        return _Table(delimiter, rows[0], _has_header(rows))
    return None


def _sampled(sample: str, delimiter: str, is_all: bool) -> list[Row]:
    try:
        return _records(sample, delimiter, is_all)[0]
    except SchemaError:
        return []


def _best(cuts: dict[str, list[Row]]) -> str:
    """Better even rows than wide ones; what cuts nothing is as good as a comma."""
    widths = {delimiter: [len(row) for row in rows] or [1] for delimiter, rows in cuts.items()}
    even = [delimiter for delimiter, found in widths.items() if set(found) == {found[0]} != {1}]
    return max(even or widths, key=lambda delimiter: widths[delimiter][0])


def _has_header(rows: list[Row]) -> bool:
    first = [cells.widened(Kind.EMPTY, [text]) for text in rows[0]]
    if not set(first) - {Kind.EMPTY, Kind.STRING}:
        return True
    below = [cells.widened(Kind.EMPTY, texts) for texts in zip(*rows[1:], strict=False)]
    return any(
        kind is Kind.STRING and values not in (Kind.EMPTY, Kind.STRING)
        for kind, values in zip(first, below, strict=False)
    )


def _records(text: str, delimiter: str, is_last: bool, before: int = 0) -> tuple[list[Row], str]:
    """The rows in whole lines, and the beginning of one whose quoted field goes on after them."""
    lines: list[str] = _LINE.findall(text)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[Row] = []
    whole = 0
    try:
        for row in reader:
            whole = reader.line_num
            if row:
                rows.append(row)
    except csv.Error as error:
        if is_last or reader.line_num < len(lines):
            raise SchemaError(f"row {before + len(rows) + 1} cannot be read: {error}") from None
    return rows, "".join(lines[whole:])


def _unquoted(text: str, delimiter: str, width: int) -> list[list[str]] | None:
    """The columns of lines without quotes, much faster than row by row; None if it is not so simple."""
    if not text or '"' in text:
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n"):
        text += "\n"
    if not _has_short_lines(text):
        return None
    rows = text.count("\n")
    # with a field of its own for each line end, the lines have that width if the line ends are evenly spaced
    fields = text.replace("\n", f"{delimiter}\n{delimiter}").split(delimiter)
    if len(fields) != rows * (width + 1) + 1 or fields[width :: width + 1].count("\n") != rows:
        return None
    columns = [fields[place : -1 : width + 1] for place in range(width)]
    return None if width == 1 and "" in columns[0] else columns


def _has_short_lines(text: str) -> bool:
    """Whether no field can be too long, since half of that length always holds the end of a line."""
    half = LONGEST_FIELD // 2
    return all("\n" in text[start : start + half] for start in range(0, len(text) - half, half))
