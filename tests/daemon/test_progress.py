"""Lines of progress as commands write them, the ugly ones too."""

import os
from pathlib import Path

import pytest

from cableferry.daemon import progress
from cableferry.daemon.progress import FILE, Line, Read


def _write(folder: Path, content: bytes) -> None:
    (folder / FILE).write_bytes(content)


def test_no_file_is_no_progress(tmp_path: Path) -> None:
    assert progress.read(tmp_path, 0) == Read((), 0)


def test_every_whole_line_is_read_once(tmp_path: Path) -> None:
    _write(tmp_path, b'{"phase": "a", "progress": 0.5}\n{"message": "b"}\n{"mess')
    first = progress.read(tmp_path, 0)
    _write(tmp_path, b'{"phase": "a", "progress": 0.5}\n{"message": "b"}\n{"message": "c"}\n')
    second = progress.read(tmp_path, first.offset)

    assert first.lines == (Line("a", None, 0.5), Line(None, "b"))
    assert second.lines == (Line(None, "c"),)
    assert progress.read(tmp_path, second.offset).lines == ()


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b'{"progress": NaN}', b'{"phase": []}', b"\xff", b"{}", b"[" * 9999]
)
def test_a_line_that_says_nothing_is_passed_over(tmp_path: Path, line: bytes) -> None:
    _write(tmp_path, line + b'\n{"phase": "b"}\n')

    assert progress.read(tmp_path, 0).lines == (Line("b"),)


def test_what_is_too_much_is_cut(tmp_path: Path) -> None:
    _write(tmp_path, b'{"phase": "%s", "message": "%s", "progress": 7}\n' % (b"p" * 200, b"m" * 600))

    assert progress.read(tmp_path, 0).lines == (Line("p" * 100, "m" * 500, 1.0),)


def test_an_endless_line_does_not_hold_up_the_next(tmp_path: Path) -> None:
    _write(tmp_path, b"x" * progress.MOST_BYTES + b'\n{"phase": "b"}\n')

    assert progress.read(tmp_path, progress.read(tmp_path, 0).offset).lines == (Line("b"),)


def test_a_pipe_or_a_link_in_its_place_is_no_progress(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).symlink_to("/etc/passwd")

    assert progress.read(tmp_path, 0) == progress.read(tmp_path / "other", 0) == Read((), 0)
