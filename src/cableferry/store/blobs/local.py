"""Bytes in a folder of this machine: a temporary file that is synced, renamed, and synced in its folder."""

import contextlib
import errno
import os
import re
import secrets
import stat
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from cableferry import failpoints
from cableferry.store.blobs import Found, Hasher, Stored, reading
from cableferry.store.blobs.streams import Stream
from cableferry.store.blobs.threads import Threads
from cableferry.store.failures import BlobMissing, BlobsFull, BlobsUnavailable

CHUNK_BYTES = 1024 * 1024
# where streams are until they are whole
INCOMING = "incoming"
_PLACE = re.compile(rf"({INCOMING}|[0-9a-f]{{2}})/[0-9a-f]{{8,64}}(-[0-9a-f]{{16}})?")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class LocalBlobs:
    """A folder with 256 shelves; `sha256sum` of a file is the beginning of its name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._threads = Threads()
        self._shelves = Shelves(root)
        self._guarded: set[str] = set()
        with _told(str(root)):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._shelves.have(INCOMING)

    def sink(self, hasher: Hasher | None = None, with_md5: bool = False) -> Stream:
        draft = LocalDraft(self._root, self._shelves)
        return Stream(draft, self._threads, self._guarded, hasher, with_md5)

    def under_way(self) -> frozenset[str]:
        return frozenset(self._guarded)

    def new_place(self) -> str:
        return _named(secrets.token_hex(16))

    async def measure(self, place: str) -> Stored:
        with self._looked_for(place):
            size_bytes = self.path(place).stat().st_size
        return await reading.measured(self._threads, place, self.chunks(place, 0, size_bytes))

    async def chunks(self, place: str, start: int, stop: int) -> AsyncIterator[bytes]:
        if stop - start <= CHUNK_BYTES:
            yield await self._threads.wait(self.read, place, start, stop)
            return
        # held open: whoever reads a place keeps it, though it is deleted meanwhile
        descriptor = await self._threads.wait(self._open, place)
        try:
            read = partial(_read, place, descriptor)
            async for piece in reading.ahead(self._threads, read, (start, stop), CHUNK_BYTES):
                yield piece
        finally:
            os.close(descriptor)

    def read(self, place: str, start: int, stop: int) -> bytes:
        descriptor = self._open(place)
        try:
            return _read(place, descriptor, start, stop)
        finally:
            os.close(descriptor)

    def read_now(self, place: str, start: int, stop: int) -> bytes | None:
        descriptor = self._open(place)
        try:
            return _at_hand(descriptor, start, stop)
        finally:
            os.close(descriptor)

    def path(self, place: str) -> Path:
        return _path(self._root, place)

    def signed_url(self, place: str, seconds: int, method: str = "GET") -> None:
        return None

    def seal(self, place: str) -> tuple[str, int]:
        raise BlobMissing(f"{place}: no client brings bytes to a folder by itself")

    async def delete(self, places: Sequence[str]) -> None:
        await self._threads.wait(self._delete, places)

    async def places(self) -> AsyncIterator[Found]:
        for shelf in await self._threads.wait(self._shelves.names):
            for found in await self._threads.wait(self._found, shelf):
                yield found

    def free_bytes(self) -> int:
        with _told(str(self._root)):
            room = os.statvfs(self._root)
        return room.f_bavail * room.f_frsize

    async def close(self) -> None:
        self._threads.close()

    def _open(self, place: str) -> int:
        with self._looked_for(place):
            return os.open(self.path(place), os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def _looked_for(self, place: str) -> Iterator[None]:
        with _told(place):
            try:
                yield
            except FileNotFoundError as error:
                if (self._root / INCOMING).is_dir():
                    raise BlobMissing(f"{place} is not in the store of bytes") from error
                # a file system that is not mounted says nothing of what is on it
                raise BlobsUnavailable(f"{place}: the folder of the store is not there") from error

    def _delete(self, places: Iterable[str]) -> None:
        for place in places:
            with _told(place):
                self.path(place).unlink(missing_ok=True)

    def _found(self, shelf: str) -> list[Found]:
        with _told(shelf), os.scandir(self._root / shelf) as entries:
            return [found for entry in entries if (found := _found(f"{shelf}/{entry.name}", entry))]


class Shelves:
    """The folders in the root; a file in one is durable only if its folder is."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._durable: set[str] = set()

    def have(self, name: str) -> None:
        if name not in self._durable:
            (self._root / name).mkdir(mode=0o700, exist_ok=True)
            sync_folder(self._root)
            self._durable.add(name)

    def names(self) -> list[str]:
        with _told(str(self._root)):
            return sorted(name for name in os.listdir(self._root) if _PLACE.fullmatch(f"{name}/{'0' * 32}"))


class LocalDraft:
    """A temporary file, or none yet: what comes whole is written, synced and renamed in one go."""

    def __init__(self, root: Path, shelves: Shelves) -> None:
        self._root = root
        self._shelves = shelves
        self._random = secrets.token_hex(8)
        self.place = f"{INCOMING}/{self._random}"
        self._descriptor: int | None = None
        self._is_over = False
        # a server that is going down may drop it while a thread still writes to it
        self._lock = threading.Lock()

    def name(self, sha256: str | None) -> str:
        return _named(f"{sha256}-{self._random}" if sha256 else secrets.token_hex(16))

    def add(self, batch: Sequence[bytes]) -> None:
        with self._lock, _told(self.place):
            if not self._is_over:
                with failpoints.crossing("bytes", "added"):
                    _write(self._opened(), batch)

    def keep(self, rest: Sequence[bytes], place: str) -> None:
        with self._lock, _told(self.place):
            if self._is_over:
                return
            with failpoints.crossing("bytes", "kept"):
                _write(self._opened(), rest)
                os.fdatasync(self._opened())
                self._close()
            with failpoints.crossing("bytes", "placed"):
                self._rename(place)

    def drop(self) -> None:
        with self._lock, _told(self.place):
            self._is_over = True
            self._close()
            _path(self._root, self.place).unlink(missing_ok=True)

    def _opened(self) -> int:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(_path(self._root, self.place), flags, 0o600)
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _rename(self, place: str) -> None:
        shelf = place.partition("/")[0]
        self._shelves.have(shelf)
        os.rename(_path(self._root, self.place), _path(self._root, place))
        self.place = place
        sync_folder(self._root / shelf)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _named(name: str) -> str:
    return f"{name[:2]}/{name}"


def _path(root: Path, place: str) -> Path:
    if not _PLACE.fullmatch(place):
        raise BlobMissing(f"{place!r} is no place of this store")
    return root / place


def _write(descriptor: int, batch: Sequence[bytes]) -> None:
    """All of it: the system may take a part only, the last one before the disk is full."""
    left = [memoryview(piece) for piece in batch if piece]
    while left:
        written = os.writev(descriptor, left)
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        if written:
            left[0] = left[0][written:]


def _read(place: str, descriptor: int, start: int, stop: int) -> bytes:
    with _told(place):
        content = os.pread(descriptor, stop - start, start)
    while len(content) < stop - start:
        with _told(place):
            more = os.pread(descriptor, stop - start - len(content), start + len(content))
        if not more:
            raise BlobMissing(f"{place} ends at byte {start + len(content)}, before byte {stop}")
        content += more
    return content


def _at_hand(descriptor: int, start: int, stop: int) -> bytes | None:
    """What the system has in memory of a file; None when a disk would have to be asked, or cannot be left out."""
    content = bytearray(stop - start)
    try:
        count = os.preadv(descriptor, [content], start, os.RWF_NOWAIT)
    except OSError:
        return None
    return bytes(content) if count == len(content) else None


def _found(place: str, entry: "os.DirEntry[str]") -> Found | None:
    """None for what is none of ours, or gone by now."""
    if not _PLACE.fullmatch(place):
        return None
    try:
        about = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    return Found(place, about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """What the system says about a file, as a failure of the store."""
    try:
        yield
    except OSError as error:
        reason = f"{what}: {error.strerror}"
        if error.errno in _FULL:
            raise BlobsFull(reason) from error
        raise BlobsUnavailable(reason) from error
