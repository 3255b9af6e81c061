"""Bytes that live elsewhere: looked at, never written, and only where the settings allow it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class Found(msgspec.Struct, frozen=True):
    """What lies at a location; the size and the tag where whoever keeps it tells them, the hash where it was asked."""

    size_bytes: int | None
    etag: str | None = None
    sha256: str | None = None
    is_folder: bool = False


class Unreachable(msgspec.Struct, frozen=True):
    """Why nothing can be said of a location: a sentence for whoever named it."""

    reason: str


class Opened(Protocol):
    """One thing at one location, as it was when it was opened."""

    found: Found

    def read(self, start: int, stop: int) -> bytes: ...

    def chunks(self) -> Iterator[bytes]:
        """All of it, in pieces of bounded size; fails when it changed meanwhile."""
        ...


class Source(Protocol):
    """One way to reach locations; everything that goes wrong is a `failures.BlobFailure`."""

    def allows(self, location: str) -> bool:
        """Whether the settings let this server look there."""
        ...

    def opened(self, location: str) -> AbstractContextManager[Opened]: ...
