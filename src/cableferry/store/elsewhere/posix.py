"""Files of this machine below folders that the settings name, reached without following a link out of them."""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from cableferry.core import contents
from cableferry.store.elsewhere import Found
from cableferry.store.failures import BlobMissing, BlobsUnavailable

CHUNK_BYTES = 1024 * 1024
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# a pipe must not keep us waiting for somebody who writes into it
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class PosixFiles:
    """Links below a root may lead anywhere below a root; each step is then taken again without following any."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots

    def allows(self, location: str) -> bool:
        """A root that is not there is a file system that this machine does not see."""
        path = contents.posix_path(location)
        return any(root.is_dir() and _is_below(path, root) for root in self._roots)

    @contextlib.contextmanager
    def opened(self, location: str) -> Iterator["OpenedFile"]:
        path = contents.posix_path(location)
        with _told(path):
            descriptor = self._open(path)
        try:
            yield OpenedFile(path, descriptor)
        finally:
            os.close(descriptor)

    def _open(self, path: str) -> int:
        real = os.path.realpath(path)
        for root in self._roots:
            base = os.path.realpath(root)
            if _is_below(real, Path(base)):
                return walked(base, Path(real).relative_to(base).parts)
        raise BlobsUnavailable(f"{path} leads out of the folders in which this server may look")


class OpenedFile:
    """An open file; that it changed meanwhile shows in its size or its time."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._before = self._state()
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise BlobsUnavailable(f"{path} is neither a file nor a folder")
        is_folder = stat.S_ISDIR(mode)
        self.found = Found(None if is_folder else self._before[0], is_folder=is_folder)

    def read(self, start: int, stop: int) -> bytes:
        content = b""
        while len(content) < stop - start:
            with _told(self._path):
                more = os.pread(self._descriptor, stop - start - len(content), start + len(content))
            if not more:
                raise BlobMissing(f"{self._path} ends at byte {start + len(content)}, before byte {stop}")
            content += more
        return content

    def chunks(self) -> Iterator[bytes]:
        size = self._before[0]
        for start in range(0, size, CHUNK_BYTES):
            yield self.read(start, min(start + CHUNK_BYTES, size))
        if self._state() != self._before:
            raise BlobsUnavailable(f"{self._path} changed while it was read")

    def _state(self) -> tuple[int, int, int]:
        with _told(self._path):
            now = os.fstat(self._descriptor)
        return now.st_size, now.st_mtime_ns, now.st_ctime_ns


def walked(base: str, parts: Sequence[str]) -> int:
    """Step by step from a root, so that no link put there meanwhile leads elsewhere."""
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(parts[-1] if parts else ".", _FILE, dir_fd=at)
    finally:
        os.close(at)


def _is_below(path: str, root: Path) -> bool:
    return path == str(root) or path.startswith(f"{str(root).rstrip('/')}/")


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BlobMissing(f"there is no {path}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise BlobsUnavailable(f"{path} cannot be read: {reason}") from error
