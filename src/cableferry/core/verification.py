"""What a look at stored bytes can find: that they are what they were, that they are not, or that nobody can say."""

from enum import StrEnum

import msgspec


class Problem(StrEnum):
    """What is wrong with bytes; the last one is about whoever keeps them, and says nothing of the bytes."""

    DAMAGED = "damaged"
    MISSING = "missing"
    UNREACHABLE = "unreachable"


class Content(msgspec.Struct, frozen=True):
    """Bytes by what is known of them."""

    sha256: str | None = None
    size_bytes: int | None = None

    def told(self) -> str:
        size = "bytes" if self.size_bytes is None else f"{self.size_bytes} bytes"
        return size if self.sha256 is None else f"{size} with SHA-256 {self.sha256}"


class Trouble(msgspec.Struct, frozen=True):
    """Bytes that could not be read: what that means, where it happened and what was said of it."""

    problem: Problem
    place: str
    reason: str


class Finding(msgspec.Struct, frozen=True):
    """A file that is not what it should be; without a path it is about the artifact as a whole."""

    path: str | None
    problem: Problem
    place: str | None
    expected: str
    found: str


def compare(path: str | None, place: str | None, expected: Content, found: Content | Trouble) -> Finding | None:
    """What is wrong with a file, None when nothing is; what is not known on both sides is not compared."""
    if isinstance(found, Trouble):
        return Finding(path, found.problem, found.place, expected.told(), found.reason)
    if _fits(expected.sha256, found.sha256) and expected.size_bytes in (None, found.size_bytes):
        return None
    return Finding(path, Problem.DAMAGED, place, expected.told(), found.told())


def _fits(expected: str | None, found: str | None) -> bool:
    return None in (expected, found) or expected == found
