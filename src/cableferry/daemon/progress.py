"""Reads what a command says of its progress, line by line and never a line twice."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cableferry.schedulers import shared

FILE = ".hpc_progress.jsonl"
MOST_BYTES = 256 * 1024
_BEFORE_BYTES = 256


class Line(msgspec.Struct, frozen=True):
    """One line a command wrote; what is too long or out of range is cut to what the protocol takes."""

    phase: str | None = None
    message: str | None = None
    progress: float | None = None


class Mark(msgspec.Struct, frozen=True):
    """How far the file was read, and what stood there, so that another file of its name is not taken for it."""

    offset: int = 0
    before: str = ""


class Read(msgspec.Struct, frozen=True):
    """The new lines, and where the next ones begin."""

    lines: tuple[Line, ...]
    mark: Mark


def read(output_dir: Path, mark: Mark) -> Read:
    """The whole lines behind a mark; half a line waits for its other half."""
    with _opened(output_dir / FILE) as descriptor:
        mark = _valid(descriptor, mark)
        content = _content(descriptor, mark.offset)
        end = content.rfind(b"\n") + 1
        if not end and len(content) == MOST_BYTES:
            # nothing of this length is progress
            end = MOST_BYTES
        parsed = (_parse(text) for text in content[:end].splitlines())
        lines = tuple(line for line in parsed if line is not None)
        return Read(lines, _mark(descriptor, mark.offset + end) if end else mark)


def rest(output_dir: Path, mark: Mark, is_over: bool) -> Read:
    """All the new lines; of a job that is over, half a line is a line too."""
    lines: list[Line] = []
    if is_over:
        # of the many that run none is in a hurry; of one that is over, this is the last look
        shared.look_anew(output_dir)
    while (found := read(output_dir, mark)).mark != mark:
        lines += found.lines
        mark = found.mark
    if is_over:
        with _opened(output_dir / FILE) as descriptor:
            half = _content(descriptor, mark.offset)
            if (line := _parse(half)) is not None:
                lines.append(line)
                mark = _mark(descriptor, mark.offset + len(half))
    return Read(tuple(lines), mark)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """The file, if it is one."""
    try:
        descriptor = shared.opened_if_known(path)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _valid(descriptor: int | None, mark: Mark) -> Mark:
    """The mark, or the beginning when a command wrote its file anew; one that is empty is about to be written."""
    if descriptor is None or not os.fstat(descriptor).st_size or _mark(descriptor, mark.offset) == mark:
        return mark
    return Mark()


def _mark(descriptor: int | None, offset: int) -> Mark:
    length = min(offset, _BEFORE_BYTES)
    before = b"" if descriptor is None else os.pread(descriptor, length, offset - length)
    return Mark(offset, hashlib.sha256(before).hexdigest()[:32] if before else "")


def _content(descriptor: int | None, offset: int) -> bytes:
    return b"" if descriptor is None else os.pread(descriptor, MOST_BYTES, offset)


def _parse(text: bytes) -> Line | None:
    try:
        line = msgspec.json.decode(text, type=Line, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if line == Line():
        return None
    return Line(
        None if line.phase is None else _clean(line.phase)[:100],
        None if line.message is None else _clean(line.message)[:500],
        None if line.progress is None else min(1.0, max(0.0, line.progress)),
    )


def _clean(text: str) -> str:
    return text.replace("\0", "")
