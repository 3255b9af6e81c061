"""Reads what a command says of its progress, line by line and never a line twice."""

import os
from pathlib import Path

import msgspec

from cableferry.schedulers import shared

FILE = ".hpc_progress.jsonl"
MOST_BYTES = 256 * 1024


class Line(msgspec.Struct, frozen=True):
    """One line a command wrote; what is too long or out of range is cut to what the protocol takes."""

    phase: str | None = None
    message: str | None = None
    progress: float | None = None


class Read(msgspec.Struct, frozen=True):
    """The new lines, and the offset behind the last of them."""

    lines: tuple[Line, ...]
    offset: int


def read(output_dir: Path, offset: int) -> Read:
    """The whole lines behind an offset; half a line waits for its other half."""
    content = _behind(output_dir / FILE, offset)
    end = content.rfind(b"\n") + 1
    if not end and len(content) == MOST_BYTES:
        # nothing of this length is progress
        end = MOST_BYTES
    parsed = (_parse(text) for text in content[:end].splitlines())
    return Read(tuple(line for line in parsed if line is not None), offset + end)


def rest(output_dir: Path, offset: int, is_over: bool) -> Read:
    """All the new lines; of a job that is over, half a line is a line too."""
    lines: list[Line] = []
    while (found := read(output_dir, offset)).offset > offset:
        lines += found.lines
        offset = found.offset
    if is_over and (half := _parse(_behind(output_dir / FILE, offset))) is not None:
        lines.append(half)
        offset += len(_behind(output_dir / FILE, offset))
    return Read(tuple(lines), offset)


def _behind(path: Path, offset: int) -> bytes:
    try:
        descriptor = shared.opened(path)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset)
        return file.read(MOST_BYTES)


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
