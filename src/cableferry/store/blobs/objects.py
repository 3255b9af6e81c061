"""Bytes in somebody's object storage, behind S3's interface, Google's or Azure's."""

import contextlib
import re
import secrets
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Literal, cast

import obstore
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from cableferry.store.blobs import Found, Hasher, Stored, asking, reading
from cableferry.store.blobs.streams import Stream
from cableferry.store.blobs.threads import Threads
from cableferry.store.failures import BlobFailure, BlobMissing, BlobsUnavailable

CHUNK_BYTES = 4 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
# parts of one stream on their way at the same time; each is held in memory
PARTS_AT_ONCE = 2
LISTED_AT_ONCE = 1000
DELETED_AT_ONCE = 1000
_PLACE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{32}")

Method = Literal["GET", "PUT", "HEAD", "DELETE"]


class ObjectBlobs:
    """One bucket, or the part of it below a prefix.

    Only the calls that block are used, in threads of ours: those that do not leave threads of the library behind,
    which now and then bring the process down while it ends.
    """

    def __init__(
        self,
        url: str,
        config: Mapping[str, str],
        part_bytes: int = PART_BYTES,
        patience: Mapping[str, object] = asking.PATIENCE,
    ) -> None:
        self._objects = asking.connect(url, config, patience)
        self._part_bytes = part_bytes
        self._threads = Threads()
        self._guarded: set[str] = set()

    def sink(self, hasher: Hasher | None = None, with_md5: bool = False) -> Stream:
        draft = ObjectDraft(self._objects, self.new_place(), self._part_bytes)
        return Stream(draft, self._threads, self._guarded, hasher, with_md5)

    def under_way(self) -> frozenset[str]:
        return frozenset(self._guarded)

    def new_place(self) -> str:
        name = secrets.token_hex(16)
        return f"{name[:2]}/{name}"

    async def measure(self, place: str) -> Stored:
        size_bytes = await self._threads.wait(self._size, place)
        return await reading.measured(self._threads, place, self.chunks(place, 0, size_bytes))

    def chunks(self, place: str, start: int, stop: int) -> AsyncIterator[bytes]:
        # one request for each piece: a client that reads slowly holds no connection
        def read(start: int, stop: int) -> bytes:
            return self.read(place, start, stop)

        return reading.ahead(self._threads, read, (start, stop), CHUNK_BYTES)

    def read(self, place: str, start: int, stop: int) -> bytes:
        if start == stop:
            self._size(place)
            return b""
        content = self._range(place, start, stop)
        if len(content) < stop - start:
            raise BlobMissing(f"{place} ends at byte {start + len(content)}, before byte {stop}")
        return content

    def _range(self, place: str, start: int, stop: int) -> bytes:
        try:
            with asking.told(place):
                return obstore.get_range(self._objects, _checked(place), start=start, end=stop).to_bytes()
        except BlobsUnavailable:
            if self._size(place) <= start:
                return b""  # a range behind the end is refused, a range over the end is cut
            raise

    def read_now(self, place: str, start: int, stop: int) -> None:
        return None

    def path(self, place: str) -> None:
        return None

    def signed_url(self, place: str, seconds: int, method: str = "GET") -> str | None:
        if not isinstance(self._objects, (S3Store, GCSStore, AzureStore)):
            return None
        with asking.told(place):
            return obstore.sign(self._objects, cast(Method, method), _checked(place), timedelta(seconds=seconds))

    def seal(self, place: str) -> tuple[str, int]:
        copy = self.new_place()
        with asking.told(place):
            obstore.copy(self._objects, _checked(place), copy)
        return copy, self._size(copy)

    async def delete(self, places: Sequence[str]) -> None:
        await self._threads.wait(delete, self._objects, places)

    async def places(self) -> AsyncIterator[Found]:
        pages = obstore.list(self._objects, chunk_size=LISTED_AT_ONCE)
        while page := await self._threads.wait(_next_page, pages):
            for each in page:
                if _PLACE.fullmatch(each["path"]):
                    yield Found(each["path"], each["size"], each["last_modified"])

    def free_bytes(self) -> None:
        return None

    async def close(self) -> None:
        self._threads.close()

    def _size(self, place: str) -> int:
        with asking.told(place):
            return obstore.head(self._objects, _checked(place))["size"]


class ObjectDraft:
    """One request for what comes whole and is small; an upload in parts for everything else."""

    def __init__(self, objects: ObjectStore, place: str, part_bytes: int) -> None:
        self._objects = objects
        self.place = place
        self._part_bytes = part_bytes
        self._writer: obstore.WritableFile | None = None
        self._is_over = False
        # a server that is going down may drop it while a thread still writes to it
        self._lock = threading.Lock()

    def name(self, sha256: str | None) -> str:
        """An object cannot be renamed, so its name is older than its hash."""
        return self.place

    def add(self, batch: Sequence[bytes]) -> None:
        with self._lock, asking.told(self.place):
            if not self._is_over:
                self._write(batch)

    def keep(self, rest: Sequence[bytes], place: str) -> None:
        with self._lock, asking.told(self.place):
            if self._is_over:
                return
            if self._writer is None:
                obstore.put(self._objects, place, b"".join(rest), use_multipart=False)
            else:
                self._write(rest)
                writer, self._writer = self._writer, None
                writer.close()

    def drop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._writer is not None:
                with asking.told(self.place):
                    # leaving it with an error is its way to say: forget the parts
                    self._writer.__exit__(BlobFailure, BlobFailure(), None)
            else:
                delete(self._objects, [self.place])

    def _write(self, batch: Sequence[bytes]) -> None:
        if self._writer is None:
            self._writer = obstore.open_writer(
                self._objects, self.place, buffer_size=self._part_bytes, max_concurrency=PARTS_AT_ONCE
            )
        for piece in batch:
            self._writer.write(piece)


def delete(objects: ObjectStore, places: Sequence[str]) -> None:
    for start in range(0, len(places), DELETED_AT_ONCE):
        some = [_checked(place) for place in places[start : start + DELETED_AT_ONCE]]
        try:
            with asking.told("places"):
                obstore.delete(objects, some)
        except BlobMissing:
            _delete_singly(objects, some)


def _delete_singly(objects: ObjectStore, places: Sequence[str]) -> None:
    """Some stores refuse the rest when one is not there."""
    for place in places:
        with contextlib.suppress(BlobMissing), asking.told(place):
            obstore.delete(objects, place)


def _next_page(pages: "Iterator[Sequence[obstore.ObjectMeta]]") -> "Sequence[obstore.ObjectMeta]":
    with asking.told("the list of places"):
        return next(pages, ())


def _checked(place: str) -> str:
    if not _PLACE.fullmatch(place):
        raise BlobMissing(f"{place!r} is no place of this store")
    return place
