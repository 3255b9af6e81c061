"""Which chunk continues a log, how it lies in rows, and where a tail begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cableferry.core import logs
from cableferry.core.errors import Conflict, Invalid, Kind
from cableferry.core.logs import ROW_BYTES, SMALL_ROW_BYTES, Chunk, Fit, Log
from tests.core.specimens import NOW


def a_log(size: int = 0, **said: object) -> Log:
    return replace(Log(1, 17, 1, "stdout", size, False, NOW), **said)


@pytest.mark.parametrize(
    ("log", "chunk", "room", "fit"),
    [
        (a_log(), Chunk(0, b"abc"), 9, Fit(Chunk(0, b""), b"abc", False)),
        (a_log(3), Chunk(3, b"def"), 9, Fit(Chunk(3, b""), b"def", False)),
        (a_log(3), Chunk(0, b"abc"), 9, Fit(Chunk(0, b"abc"), b"", False)),
        (a_log(3), Chunk(1, b"bcdef"), 9, Fit(Chunk(1, b"bc"), b"def", False)),
        (a_log(3), Chunk(3, b""), 9, Fit(Chunk(3, b""), b"", False)),
        (a_log(3), Chunk(3, b"def"), 2, Fit(Chunk(3, b""), b"de", True)),
        (a_log(3), Chunk(3, b"def"), 3, Fit(Chunk(3, b""), b"def", False)),
        (a_log(3), Chunk(3, b"def"), -1, Fit(Chunk(3, b""), b"", True)),
        (a_log(3, is_cut=True), Chunk(3, b"def"), 9, Fit(Chunk(3, b""), b"", True)),
        (a_log(3, is_cut=True), Chunk(9, b"def"), 9, Fit(Chunk(9, b""), b"", True)),
    ],
)
def test_a_chunk_continues_a_log(log: Log, chunk: Chunk, room: int, fit: Fit) -> None:
    assert fit == logs.fit(log, chunk, room)


def test_a_gap_is_refused_and_the_end_named() -> None:
    with pytest.raises(Conflict) as caught:
        logs.fit(a_log(3), Chunk(4, b"x"), 9)

    assert (Kind.LOG_GAP, 3) == (caught.value.kind, caught.value.facts["offset"])


def test_a_sealed_log_takes_nothing() -> None:
    with pytest.raises(Conflict) as caught:
        logs.fit(a_log(3, sealed_at=NOW), Chunk(3, b"x"), 9)

    assert Kind.LOG_CLOSED is caught.value.kind


def test_other_bytes_name_the_end() -> None:
    refusal = logs.differs(a_log(3), Chunk(0, b"x"))

    assert (Kind.LOG_DIFFERS, 3) == (refusal.kind, refusal.facts["offset"])


@pytest.mark.parametrize("name", ["", ".x", "a/b", "a b", "x" * 65, "..", "-x"])
def test_a_stream_has_a_plain_name(name: str) -> None:
    with pytest.raises(Invalid, match="the name of a log"):
        logs.check_stream(name)


def test_usual_names_are_taken() -> None:
    for name in ("stdout", "stderr", "batch", "slurm-17.out", "A_b"):
        logs.check_stream(name)


def test_an_attempt_has_so_many_streams() -> None:
    known = [a_log(stream=f"s{number}") for number in range(logs.MOST_STREAMS)]
    logs.check_more(known[1:], 1, "j17")
    logs.check_more(known, 2, "j17")

    with pytest.raises(Conflict, match="job j17 has 16 logs already"):
        logs.check_more(known, 1, "j17")


@given(st.lists(st.binary(max_size=3 * SMALL_ROW_BYTES) | st.just(bytes(ROW_BYTES + 7)), max_size=8))
def test_rows_hold_what_came_and_are_of_bounded_size(pieces: list[bytes]) -> None:
    kept: list[Chunk] = []
    size = 0
    for piece in pieces:
        grown, added = logs.rows(size, kept[-1] if kept else None, piece)
        kept = [*kept[:-1], grown] if grown else kept
        kept += added
        size += len(piece)

    assert b"".join(pieces) == logs.joined(kept, 0, size)
    assert all(len(chunk.content) <= ROW_BYTES for chunk in kept)
    assert [sum(len(c.content) for c in kept[:at]) for at in range(len(kept))] == [chunk.start for chunk in kept]


def test_small_pieces_share_a_row() -> None:
    assert (Chunk(0, b"ab"), []) == logs.rows(1, Chunk(0, b"a"), b"b")
    big = Chunk(0, bytes(SMALL_ROW_BYTES))
    assert (None, [Chunk(SMALL_ROW_BYTES, b"b")]) == logs.rows(SMALL_ROW_BYTES, big, b"b")


def test_a_window_may_begin_inside_a_row() -> None:
    kept = [Chunk(4, b"efgh"), Chunk(8, b"ij")]

    assert b"ghi" == logs.joined(kept, 6, 3)
    assert b"" == logs.joined([], 6, 3)


@pytest.mark.parametrize(
    ("content", "lines", "start"),
    [
        (b"a\nb\nc\n", 1, 4),
        (b"a\nb\nc\n", 2, 2),
        (b"a\nb\nc", 1, 4),
        (b"a\nb\nc\n", 3, None),
        (b"", 1, None),
        (b"\n\n", 1, 1),
    ],
)
def test_a_tail_begins_behind_a_line(content: bytes, lines: int, start: int | None) -> None:
    assert start == logs.tail_start(content, lines)


@given(st.text(max_size=40), st.integers(0, 200))
def test_a_text_is_cut_between_characters(text: str, at: int) -> None:
    content = text.encode()
    first = logs.whole_text(content[:at])

    assert text.startswith(first.decode())
    assert len(content[:at]) - len(first) < 4


@pytest.mark.parametrize("content", [b"\xff", b"\x80\x80\x80\x80", b"\x80", b"", b"a\x80"])
def test_what_is_no_text_is_not_held_back(content: bytes) -> None:
    assert logs.whole_text(content) in (content, content[:-1])


def test_a_log_is_a_file_of_its_artifact() -> None:
    assert "stdout.log" == logs.file_of(a_log(), 1)
    assert "attempt-1/stdout.log" == logs.file_of(a_log(), 2)
    assert "slurm-1.out" == logs.file_of(a_log(stream="slurm-1.out"), 1)
