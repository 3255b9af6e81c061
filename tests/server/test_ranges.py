"""Whatever a request asks of a file, and however the file lies in its pieces, it gets those very bytes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.server import ranges
from cableferry.server.ranges import Range

SIZE = 100


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", [(0, 1)]),
        ("bytes=0-99", [(0, 100)]),
        ("bytes=90-", [(90, 100)]),
        ("bytes=90-1000000000000000000000", [(90, 100)]),
        ("bytes=-10", [(90, 100)]),
        ("bytes=-1000", [(0, 100)]),
        ("BYTES = 0-9 , 20-29,, -1", [(0, 10), (20, 30), (99, 100)]),
        ("bytes=50-59,0-9", [(50, 60), (0, 10)]),
        ("bytes=5-9,100-,7-7", [(5, 10), (7, 8)]),
    ],
)
def test_what_a_header_asks_for(header: str, expected: list[tuple[int, int]]) -> None:
    assert ranges.wanted(header, SIZE) == expected


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=200-300,100-"])
def test_what_lies_behind_the_end_is_nowhere(header: str) -> None:
    assert ranges.wanted(header, SIZE) == []


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=a-b",
        "bytes=5",
        "bytes=9-5",
        "bytes=0-1,x",
        "bytes=+0-1",
        "bytes=0x0-1",
        "bytes=\u0660-\u0669",
        "lines=0-1",
        "bytes=0-60,40-99",
        "bytes=" + ",".join(f"{at}-{at}" for at in range(101)),
    ],
)
def test_what_makes_no_sense_or_costs_too_much_gets_the_whole_file(header: str | None) -> None:
    assert ranges.wanted(header, SIZE) is None


@pytest.mark.parametrize(("header", "expected"), [("bytes=0-", []), ("bytes=0-0", []), ("bytes=-5", None)])
def test_the_parts_of_an_empty_file(header: str, expected: object) -> None:
    assert ranges.wanted(header, 0) == expected


@given(
    pieces=st.lists(st.binary(max_size=20), max_size=8),
    wished=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200) | st.none()), min_size=1, max_size=6),
    suffix=st.integers(0, 200) | st.none(),
)
def test_any_ranges_over_any_pieces_are_slices_of_the_whole(
    pieces: list[bytes], wished: list[tuple[int, int | None]], suffix: int | None
) -> None:
    whole = b"".join(pieces)
    asked = [f"{start}-{'' if last is None else last}" for start, last in wished]
    slices = [whole[start : None if last is None else last + 1] for start, last in wished]
    if suffix is not None:
        asked.append(f"-{suffix}")
        slices.append(whole[max(0, len(whole) - suffix) :])

    found = ranges.wanted(f"bytes={','.join(asked)}", len(whole))

    if found is None:
        assert any(last is not None and last < start for start, last in wished) or _costs_more(slices, whole, suffix)
    else:
        assert [_read(pieces, part) for part in found] == [each for each in slices if each]


def _costs_more(slices: Sequence[bytes], whole: bytes, suffix: int | None) -> bool:
    return sum(map(len, slices)) > len(whole) or (not whole and suffix is not None)


def _read(pieces: list[bytes], part: Range) -> bytes:
    named = [(str(number), len(piece)) for number, piece in enumerate(pieces)]
    return b"".join(pieces[int(place)][start:stop] for place, start, stop in ranges.spans(named, part))
