"""The files of an output folder, without ever being led out of it."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from cableferry.core import contents
from cableferry.core.errors import Invalid
from cableferry.daemon import progress

DEEPEST = 100
# what no path in an artifact may hold
_FORBIDDEN = re.compile("[\x00-\x1f\x7f\U0010ffff]")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# a pipe in a file's place must not hold us up
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Output(msgspec.Struct, frozen=True):
    """One file: its path in an artifact, and where it lies below the folder.

    The two differ for a link, and for a name of odd bytes, which is spelled out.
    """

    path: str
    place: str
    size_bytes: int
    is_spelled_out: bool = False


class Skipped(msgspec.Struct, frozen=True):
    """What is not taken, and why."""

    path: str
    why: str


class Found(msgspec.Struct, frozen=True):
    """Everything below a folder."""

    files: tuple[Output, ...]
    skipped: tuple[Skipped, ...]


class Tree:
    """An output folder that is held open: whatever is renamed meanwhile, nothing outside it is reached."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._descriptor = os.open(root, _FOLDER)

    def __enter__(self) -> "Tree":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._descriptor)

    def walk(self) -> Found:
        """Every file in the order of paths; a link is taken for the file that it leads to inside the folder."""
        files: dict[str, Output] = {}
        skipped: list[Skipped] = []
        for each in self._below(self._descriptor, ""):
            if isinstance(each, Output) and each.path in files:
                skipped.append(Skipped(each.path, "another file would have the same path"))
            elif isinstance(each, Output):
                files[each.path] = each
            else:
                skipped.append(each)
        return Found(tuple(files[path] for path in sorted(files)), tuple(skipped))

    def open(self, place: str) -> int:
        """A file below the folder, reached through no link."""
        *folders, name = place.split("/")
        at = os.dup(self._descriptor)
        try:
            for folder in folders:
                below = os.open(folder, _FOLDER, dir_fd=at)
                os.close(at)
                at = below
            return os.open(name, _FILE, dir_fd=at)
        finally:
            os.close(at)

    def _below(self, descriptor: int, prefix: str) -> Iterator[Output | Skipped]:
        for name in sorted(os.listdir(descriptor)):
            place = prefix + name
            try:
                yield from self._at(descriptor, name, place)
            except OSError as error:
                yield Skipped(_shown(place), error.strerror or str(error))

    def _at(self, descriptor: int, name: str, place: str) -> Iterator[Output | Skipped]:
        seen = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        match stat.S_IFMT(seen.st_mode):
            case stat.S_IFREG:
                yield _named(place, place, seen.st_size)
            case stat.S_IFLNK:
                yield self._led(place)
            case stat.S_IFDIR if place.count("/") >= DEEPEST:
                yield Skipped(_shown(place), f"folders are nested deeper than {DEEPEST}")
            case stat.S_IFDIR:
                below = os.open(name, _FOLDER, dir_fd=descriptor)
                try:
                    yield from self._below(below, f"{place}/")
                finally:
                    os.close(below)
            case kind:
                yield Skipped(_shown(place), f"it is {_KINDS.get(kind, 'no file')}")

    def _led(self, place: str) -> Output | Skipped:
        """Where a link leads; it is opened as what it leads to, and not as a link."""
        root = os.path.realpath(self.root)
        target = os.path.realpath(os.path.join(root, place))
        if not target.startswith(root + os.sep):
            return Skipped(_shown(place), "it is a link that leads out of the output folder")
        inside = os.path.relpath(target, root)
        try:
            descriptor = self.open(inside)
        except OSError as error:
            return Skipped(_shown(place), f"it is a link that leads nowhere: {error.strerror}")
        try:
            seen = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            return Skipped(_shown(place), "it is a link to what is no file")
        return _named(place, inside, seen.st_size)


def _named(path: str, place: str, size: int) -> Output | Skipped:
    shown = _shown(path)
    try:
        return Output(contents.check_path(shown), place, size, shown != path)
    except Invalid as refusal:
        return Skipped(shown, refusal.detail)


def _shown(path: str) -> str:
    """The path as text; bytes that are none, and control characters, are spelled out."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def divided(files: Sequence[Output], logs_in: str = "") -> tuple[tuple[Output, ...], tuple[Output, ...]]:
    """What is output and what is a log, as daemons of this protocol tell them apart; a progress file is neither."""
    kept = [file for file in files if file.path.rpartition("/")[2] != progress.FILE]
    logs = tuple(file for file in kept if is_log(file.path) or (logs_in and file.path.startswith(logs_in + "/")))
    return tuple(file for file in kept if file not in set(logs)), logs


def is_log(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("slurm-") or name.endswith(".log")
