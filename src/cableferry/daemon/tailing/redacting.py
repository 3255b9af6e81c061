"""Takes secrets out of a log, in such pieces that no border falls into one."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import msgspec

MASK = b"***"
# a line that grows longer is cut, with so much of it held back that a secret of usual length stays whole
MOST_LINE_BYTES = 64 * 1024
HELD_BACK_BYTES = 4 * 1024

Masks = tuple[re.Pattern[bytes], ...]


class BadPattern(Exception):
    """A pattern that cannot be read, with what is wrong."""


class Cut(msgspec.Struct, frozen=True):
    """How many bytes were taken, and what is to be said instead of them."""

    taken: int
    said: bytes


def compiled(patterns: Sequence[str]) -> Masks:
    """Patterns of secrets; of one with a group named `secret` only that group is one."""
    return tuple(map(_compiled, patterns))


def _compiled(pattern: str) -> re.Pattern[bytes]:
    try:
        return re.compile(pattern.encode())
    except re.error as error:
        raise BadPattern(f"the pattern {pattern!r} cannot be read: {error}") from error


def redacted(content: bytes, masks: Masks, is_end: bool) -> Cut:
    """As much of the content as nothing that follows it can change.

    Each line is looked at by itself, so a line is said the same way whatever was read together with it.
    """
    if not masks:
        return Cut(len(content), content)
    end = len(content) if is_end else content.rfind(b"\n") + 1
    if end:
        return Cut(end, b"".join(_masked(line, masks) for line in content[:end].splitlines(keepends=True)))
    if len(content) < MOST_LINE_BYTES:
        return Cut(0, b"")
    end = _border(content[:MOST_LINE_BYTES], masks)
    return Cut(end, _masked(content[:end], masks))


def copied(source: int, target: BinaryIO, masks: Masks, tick: Callable[[int], object]) -> None:
    """All of an open file without its secrets, whatever its length; `tick` is told of the bytes read."""
    held, offset, is_end = b"", 0, False
    while not is_end:
        piece = os.pread(source, MOST_LINE_BYTES, offset)
        offset, is_end = offset + len(piece), not piece
        tick(len(piece))
        held += piece
        while (cut := redacted(held, masks, is_end)).taken:
            target.write(cut.said)
            held = held[cut.taken :]


def _border(line: bytes, masks: Masks) -> int:
    """Where to cut a line that has no end: in no secret."""
    border = len(line) - HELD_BACK_BYTES
    for start, stop in sorted(span for mask in masks for span in _secrets(line, mask)):
        if start < border < stop:
            border = start or stop
    return border


def _masked(line: bytes, masks: Masks) -> bytes:
    for mask in masks:
        parts, at = [], 0
        for start, stop in _secrets(line, mask):
            parts += [line[at:start], MASK]
            at = stop
        line = b"".join([*parts, line[at:]])
    return line


def _secrets(line: bytes, mask: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    group = "secret" if "secret" in mask.groupindex else 0
    for found in mask.finditer(line):
        start, stop = found.span(group)
        if start < stop:
            yield start, stop
