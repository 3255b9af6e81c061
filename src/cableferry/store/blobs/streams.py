"""A stream on its way into a place: gathered, then hashed and written side by side, in bounded memory."""

import asyncio
import contextlib
import hashlib
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from cableferry.store.blobs import Hasher, Stored
from cableferry.store.blobs.threads import Threads
from cableferry.store.failures import BlobFailure

# what is handed to the threads at once: enough that the handing costs nothing, little enough to hold twice
BATCH_BYTES = 2 * 1024 * 1024
# a client may send a byte at a time
MOST_PIECES = 1024
# hashing less than this costs less than waking a thread for it
INLINE_BYTES = 64 * 1024


class Draft(Protocol):
    """What a kind of store makes of a stream; every method but `name` waits, and one waits for the other."""

    place: str

    def name(self, sha256: str | None) -> str:
        """Where it is going to be kept; with the hash of these very bytes, if that is known."""
        ...

    def add(self, batch: Sequence[bytes]) -> None: ...

    def keep(self, rest: Sequence[bytes], place: str) -> None:
        """Make everything durable under this name."""
        ...

    def drop(self) -> None:
        """Remove it, wherever it is by now."""
        ...


class Stream:
    """The sink of every kind of store."""

    def __init__(
        self, draft: Draft, threads: Threads, guarded: set[str], hasher: Hasher | None, with_md5: bool
    ) -> None:
        self.size_bytes = 0
        self._draft = draft
        self._threads = threads
        self._guarded = guarded
        self._places = {draft.place}
        self._continues = hasher is not None
        self._sha256 = hasher or hashlib.sha256()
        self._md5 = hashlib.md5(usedforsecurity=False) if with_md5 else None
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._at_work: asyncio.Task[Any] | None = None
        self._is_over = False
        guarded.update(self._places)

    async def write(self, piece: bytes) -> None:
        self._gathered.append(piece)
        self._gathered_bytes += len(piece)
        self.size_bytes += len(piece)
        if self._gathered_bytes >= BATCH_BYTES or len(self._gathered) >= MOST_PIECES:
            await self._settled()
            self._start(self._absorb(self._taken()))

    async def finish(self) -> Stored:
        await self._settled()
        rest = self._taken()
        await self._hash_rest(rest)
        sha256 = self._sha256.hexdigest()
        place = self._draft.name(None if self._continues else sha256)
        self._places.add(place)
        self._guarded.add(place)
        self._start(_finished(self._threads.wait(self._draft.keep, rest, place)))
        await self._settled()
        return Stored(place, sha256, self.size_bytes, self._md5.hexdigest() if self._md5 else None)

    async def abandon(self) -> None:
        if not self._is_over:
            self._is_over = True
            # whoever is cancelled while waiting for it does not stop it
            await asyncio.shield(asyncio.ensure_future(self._drop()))

    def release(self) -> None:
        self._is_over = True
        self._guarded.difference_update(self._places)

    async def _settled(self) -> None:
        """Wait for what is at work; being cancelled meanwhile leaves it at work, as a thread cannot be stopped."""
        if self._at_work is not None:
            await asyncio.wait((self._at_work,))
            self._at_work.result()

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        self._at_work = asyncio.create_task(work)

    def _taken(self) -> list[bytes]:
        batch, self._gathered, self._gathered_bytes = self._gathered, [], 0
        return batch

    async def _absorb(self, batch: list[bytes]) -> None:
        await asyncio.gather(
            self._threads.wait(self._draft.add, batch),
            *(self._threads.compute(_hash, hasher, batch) for hasher in self._hashers()),
        )

    async def _hash_rest(self, rest: list[bytes]) -> None:
        if sum(map(len, rest)) <= INLINE_BYTES:
            for hasher in self._hashers():
                _hash(hasher, rest)
        else:
            await asyncio.gather(*(self._threads.compute(_hash, hasher, rest) for hasher in self._hashers()))

    def _hashers(self) -> list[Hasher]:
        return [self._sha256, self._md5] if self._md5 else [self._sha256]

    async def _drop(self) -> None:
        if self._at_work is not None:
            await asyncio.wait((self._at_work,))
            _ = self._at_work.cancelled() or self._at_work.exception()  # whoever wrote was told already
        # what cannot be removed now is an orphan, and those are collected
        with contextlib.suppress(BlobFailure):
            await self._threads.wait(self._draft.drop)
        self._guarded.difference_update(self._places)


async def _finished(work: "asyncio.Future[None]") -> None:
    await work


def _hash(hasher: Hasher, batch: Sequence[bytes]) -> None:
    for piece in batch:
        hasher.update(piece)
