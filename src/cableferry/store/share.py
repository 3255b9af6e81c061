"""A folder that this server shares with its workers: nothing outside it is ever read or written.

Others write here too, so every step below the root is taken without following links, whatever a name says.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Parts = tuple[str, ...]

# what is wrong with one place alone; anything else is wrong with the whole share
DAMAGE = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTEMPTY})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# a pipe that somebody put in place of a file must not keep us waiting
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = ".part"


class Named(NamedTuple):
    """A file in a folder."""

    name: str
    size_bytes: int
    modified_at: float


class Share:
    """The folder; places in it are tuples of names."""

    def __init__(self, root: Path, folder_mode: int = 0o777) -> None:
        self.root = root
        self._folder_mode = folder_mode

    def prepare(self, *folders: str) -> None:
        """Make the root and the folders that always stand in it."""
        self.root.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            self.make((folder,))

    def make(self, place: Parts) -> None:
        with self._folder(place, is_made=True):
            pass

    def read(self, place: Parts, offset: int, most: int) -> bytes | None:
        """Some of a file; None if there is no such file, or something else in its place."""
        with self._opened(place) as file:
            if file is None:
                return None
            return os.pread(file, most, offset)

    def size(self, place: Parts) -> int | None:
        with self._opened(place) as file:
            return None if file is None else os.fstat(file).st_size

    def write(self, place: Parts, content: bytes) -> None:
        """The whole file or none of it, on the disk before anybody sees it; what is there already stays."""
        *folders, name = place
        with self._folder(tuple(folders), is_made=True) as folder:
            part = f".{name[:100]}.{uuid.uuid4().hex}{_PART}"
            try:
                with os.fdopen(os.open(part, _NEW, 0o644, dir_fd=folder), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise
            os.fsync(folder)

    def names(self, place: Parts) -> list[Named]:
        """The files of a folder; none where there is no folder."""
        try:
            with self._folder(place) as folder:
                found = [(name, _looked_at(name, folder)) for name in os.listdir(folder)]
        except FileNotFoundError:
            return []
        return [Named(name, seen.st_size, seen.st_mtime) for name, seen in found if seen and stat.S_ISREG(seen.st_mode)]

    def folders(self, place: Parts) -> list[str]:
        try:
            with self._folder(place) as folder:
                found = [(name, _looked_at(name, folder)) for name in os.listdir(folder)]
        except FileNotFoundError:
            return []
        return [name for name, seen in found if seen and stat.S_ISDIR(seen.st_mode)]

    def remove(self, place: Parts) -> bool:
        """Remove a file, or a folder with all that is in it; False if there was none."""
        *folders, name = place
        try:
            with self._folder(tuple(folders)) as folder:
                seen = _looked_at(name, folder)
                if seen is None:
                    return False
                if stat.S_ISDIR(seen.st_mode):
                    shutil.rmtree(name, dir_fd=folder)
                else:
                    os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return False
        return True

    @contextlib.contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether nobody else writes our files meanwhile; where files cannot be locked, nobody is asked."""
        name = ".cableferry-lock"
        with self._folder(()) as folder:
            file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        except BlockingIOError:
            is_free = False
        except OSError:
            is_free = True
        try:
            yield is_free
        finally:
            os.close(file)

    def probe(self) -> None:
        """Write and remove a little; raises what keeps us from it."""
        self.write((".cableferry-probe",), b"x" * 4096)
        self.remove((".cableferry-probe",))

    @contextlib.contextmanager
    def _opened(self, place: Parts) -> Iterator[int | None]:
        *folders, name = place
        try:
            with self._folder(tuple(folders)) as folder:
                file = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            if error.errno not in DAMAGE | {errno.ENOENT, errno.ENXIO}:
                raise
            yield None
            return
        try:
            yield file if stat.S_ISREG(os.fstat(file).st_mode) else None
        finally:
            os.close(file)

    @contextlib.contextmanager
    def _folder(self, place: Parts, *, is_made: bool = False) -> Iterator[int]:
        folder = self._opened_root()
        try:
            for name in place:
                below = self._step(folder, name, is_made)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)

    def _opened_root(self) -> int:
        """The root may be a link, for it is the operator's; without it there is no share at all."""
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise OSError(errno.ENODEV, f"it is not there ({error.strerror})") from None

    def _step(self, folder: int, name: str, is_made: bool) -> int:
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise OSError(errno.ENOTDIR, "no name of a folder", name)
        if is_made:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
                # workers write here as whoever they run as; no umask of ours may keep them from it
                os.chmod(name, self._folder_mode, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)


def is_part(name: str) -> bool:
    """Whether a name is that of a file that was never finished."""
    return name.startswith(".") and name.endswith(_PART)


def _looked_at(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
