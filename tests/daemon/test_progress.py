"""Lines of progress as commands write them, the ugly ones too."""

import os
from pathlib import Path

import pytest

from cableferry.daemon import progress
from cableferry.daemon.progress import FILE, Line, Mark, Read

START = Mark()


def _write(folder: Path, content: bytes) -> None:
    (folder / FILE).write_bytes(content)


def test_no_file_is_no_progress(tmp_path: Path) -> None:
    assert progress.read(tmp_path, START) == Read((), START)


def test_every_whole_line_is_read_once(tmp_path: Path) -> None:
    _write(tmp_path, b'{"phase": "a", "progress": 0.5}\n{"message": "b"}\n{"mess')
    first = progress.read(tmp_path, START)
    _write(tmp_path, b'{"phase": "a", "progress": 0.5}\n{"message": "b"}\n{"message": "c"}\n')
    second = progress.read(tmp_path, first.mark)

    assert first.lines == (Line("a", None, 0.5), Line(None, "b"))
    assert second.lines == (Line(None, "c"),)
    assert progress.read(tmp_path, second.mark).lines == ()


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b'{"progress": NaN}', b'{"phase": []}', b"\xff", b"{}", b"[" * 9999]
)
def test_a_line_that_says_nothing_is_passed_over(tmp_path: Path, line: bytes) -> None:
    _write(tmp_path, line + b'\n{"phase": "b"}\n')

    assert progress.read(tmp_path, START).lines == (Line("b"),)


def test_what_is_too_much_is_cut(tmp_path: Path) -> None:
    _write(tmp_path, b'{"phase": "%s", "message": "%s", "progress": 7}\n' % (b"p" * 200, b"m" * 600))

    assert progress.read(tmp_path, START).lines == (Line("p" * 100, "m" * 500, 1.0),)


def test_an_endless_line_does_not_hold_up_the_next(tmp_path: Path) -> None:
    _write(tmp_path, b"x" * progress.MOST_BYTES + b'\n{"phase": "b"}\n')

    assert progress.read(tmp_path, progress.read(tmp_path, START).mark).lines == (Line("b"),)


def test_a_pipe_or_a_link_in_its_place_is_no_progress(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).symlink_to("/etc/passwd")

    assert progress.read(tmp_path, START) == progress.read(tmp_path / "other", START) == Read((), START)


@pytest.mark.parametrize(
    "after", [b'{"phase": "b"}\n', b'{"phase": "bb"}\n', b'{"phase": "b", "message": "a longer one"}\n']
)
def test_a_file_that_was_written_anew_is_read_from_its_beginning(tmp_path: Path, after: bytes) -> None:
    _write(tmp_path, b'{"phase": "a"}\n{"phase": "a", "progress": 0.5}\n')
    first = progress.read(tmp_path, START)
    _write(tmp_path, b"")
    emptied = progress.read(tmp_path, first.mark)
    _write(tmp_path, after)

    assert emptied == Read((), first.mark)
    assert [line.phase for line in progress.read(tmp_path, emptied.mark).lines] in (["b"], ["bb"])


def test_a_file_that_was_written_anew_with_its_old_lines_tells_only_the_new_ones(tmp_path: Path) -> None:
    lines = [b'{"phase": "%d"}\n' % number for number in range(40)]
    _write(tmp_path, b"".join(lines[:30]))
    first = progress.read(tmp_path, START)
    (tmp_path / "new").write_bytes(b"".join(lines))
    (tmp_path / "new").replace(tmp_path / FILE)

    assert [line.phase for line in progress.read(tmp_path, first.mark).lines] == [
        str(number) for number in range(30, 40)
    ]


def test_the_last_line_of_a_job_that_is_over_needs_no_end(tmp_path: Path) -> None:
    _write(tmp_path, b'{"phase": "a"}\n{"phase": "b"}')
    found = progress.rest(tmp_path, START, is_over=True)

    assert [line.phase for line in found.lines] == ["a", "b"]
    assert progress.rest(tmp_path, found.mark, is_over=True) == Read((), found.mark)
