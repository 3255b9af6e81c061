"""What the texts of a column are: each kind by examples, and many at once as one by one."""

import re
from datetime import datetime
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import cells
from cableferry.core.cells import Kind

EXAMPLES = {
    Kind.BOOLEAN: ["true", "false", "True", "False", "TRUE", "FALSE"],
    Kind.INTEGER: ["0", "-0", "7", "-12", "9" * 40],
    Kind.NUMBER: ["0.5", "-.5", "5.", "1e9", "1.5E-3", "-2e+4", "nan", "NaN", "inf", "-Inf", "Infinity"],
    Kind.DATE: ["2024-02-29", "0001-01-01", "9999-12-31"],
    Kind.TIMESTAMP: [
        "2024-02-29T23:59", "2024-02-29 23:59:59", "2024-02-29T23:59:59.123456789Z", "2024-02-29 01:02:03.5+01:00",
        "2024-02-29T01:02:03+0100", "2024-02-29T01:02:03-01",
    ],
    Kind.STRING: [
        "x", " ", "tRUE", "yes", "007", "+5", "1 ", " 1", "1_000", "1,5", "0x1f", "--1", "-", ".", "1e", "e5", "NA",
        "null", "²", "\u0665", "1\n2", "\n", "2023-02-29", "2024-13-01", "2024-1-1", "0000-01-01", "2024-W01-1",
        "2024-01-01T24:00", "2024-01-01T23:59:60", "2024-01-01T1:00", "2024-01-01T10", "10:00", "2024-01-01T10:00 Z",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in EXAMPLES.items() for text in texts])
def test_a_text_has_its_narrowest_kind(kind: Kind, text: str) -> None:
    assert kind is cells.widened(Kind.EMPTY, [text])


@pytest.mark.parametrize("kind", list(Kind))
def test_empty_texts_fit_every_kind(kind: Kind) -> None:
    assert kind is cells.widened(kind, ["", "", ""])
    assert kind is cells.widened(kind, [])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2.5", "3"], Kind.NUMBER),
        (["2.5", "1"], Kind.NUMBER),
        (["2024-01-01", "2024-01-01T10:00"], Kind.TIMESTAMP),
        (["2024-01-01T10:00Z", "2024-01-01"], Kind.TIMESTAMP),
        (["true", "1"], Kind.STRING),
        (["1", "2024-01-01"], Kind.STRING),
        (["2024-01-01T10:00", "2023-02-29"], Kind.STRING),
        (["1", "", "x", "2"], Kind.STRING),
    ],
)
def test_a_column_is_as_wide_as_its_texts_need(texts: list[str], expected: Kind) -> None:
    assert expected is cells.widened(Kind.EMPTY, texts)


def _is_number(text: str) -> bool:
    if not text.isascii() or re.search(r"[_\s+]|^-?0\d", re.sub(r"[eE]\+", "e", text)):
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


@given(text=st.text("0123456789.eE+-_ nainfty\u0665", max_size=7))
def test_a_number_is_what_can_be_read_as_one(text: str) -> None:
    kind = cells.widened(Kind.EMPTY, [text])

    assert _is_number(text) == (kind in (Kind.INTEGER, Kind.NUMBER))


@given(moment=st.datetimes())
def test_every_moment_is_a_timestamp_and_its_day_a_date(moment: datetime) -> None:
    assert Kind.TIMESTAMP is cells.widened(Kind.EMPTY, [moment.isoformat()])
    assert Kind.TIMESTAMP is cells.widened(Kind.EMPTY, [moment.isoformat(" ", "minutes")])
    assert Kind.DATE is cells.widened(Kind.EMPTY, [moment.date().isoformat()])


texts = st.lists(st.sampled_from(["", *(text for some in EXAMPLES.values() for text in some)]) | st.text(max_size=3))


@given(texts=texts, cut=st.integers(0, 5))
def test_a_column_may_be_looked_at_in_parts(texts: list[str], cut: int) -> None:
    together = cells.widened(Kind.EMPTY, texts)

    assert together is cells.widened(cells.widened(Kind.EMPTY, texts[:cut]), texts[cut:])
    assert together is reduce(lambda kind, text: cells.widened(kind, [text]), texts, Kind.EMPTY)
