"""Where bytes live: places that are written once, durable before anybody hears of them, and never used again."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec


class Stored(msgspec.Struct, frozen=True):
    """Bytes that are on disk under a place of their own; nothing refers to them yet."""

    place: str
    sha256: str
    size_bytes: int
    md5: str | None = None


class Found(msgspec.Struct, frozen=True):
    """A place that exists in the store, whoever knows it."""

    place: str
    size_bytes: int
    modified_at: datetime


class Hasher(Protocol):
    """What `hashlib` gives."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...

    def copy(self) -> "Hasher": ...


class Sink(Protocol):
    """Takes one stream of bytes, hashes it on the way, and keeps it only when it is finished."""

    size_bytes: int

    async def write(self, piece: bytes) -> None:
        """Take the next bytes; waits while too much is under way, so memory does not grow with the stream."""
        ...

    async def finish(self) -> Stored:
        """Return when everything is durable."""
        ...

    async def abandon(self) -> None:
        """Leave nothing behind, not even what is finished; after `release`, or twice, it does nothing."""
        ...

    def release(self) -> None:
        """Guard the place no longer: a row refers to it by now, or nobody ever will."""
        ...


class Blobs(Protocol):
    """A store of bytes; each method that touches the disk or the network raises only `failures.BlobFailure`s."""

    def sink(self, hasher: Hasher | None = None, with_md5: bool = False) -> Sink:
        """A stream into a new place; a hasher that knows earlier bytes makes `sha256` the hash of those and these."""
        ...

    def under_way(self) -> frozenset[str]:
        """Places of this process that are not released yet: whoever removes orphans leaves them alone."""
        ...

    def new_place(self) -> str:
        """A name that was never used, for bytes that a client will bring to the store directly."""
        ...

    async def measure(self, place: str) -> Stored:
        """Hash what is there."""
        ...

    def chunks(self, place: str, start: int, stop: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to `stop`, in pieces of bounded size."""
        ...

    def read(self, place: str, start: int, stop: int) -> bytes:
        """The same in one piece, in the calling thread: for the few bytes of a footer."""
        ...

    def read_now(self, place: str, start: int, stop: int) -> bytes | None:
        """The same if it takes no waiting at all, for a disk or a network: None means to ask for `chunks`."""
        ...

    def path(self, place: str) -> Path | None:
        """The file behind a place, where there is one that the kernel can send."""
        ...

    def signed_url(self, place: str, seconds: int, method: str = "GET") -> str | None:
        """An address at which a client reaches the place itself, where the backing store can."""
        ...

    def seal(self, place: str) -> tuple[str, int]:
        """A copy of what is there, and its size: at a place that nobody has an address of; in the calling thread."""
        ...

    async def delete(self, places: Sequence[str]) -> None:
        """Remove these places; those that are not there any more are fine."""
        ...

    def places(self) -> AsyncIterator[Found]:
        """Every place there is, also of streams that never ended."""
        ...

    def free_bytes(self) -> int | None:
        """How much more fits, where that is known."""
        ...

    async def close(self) -> None: ...
