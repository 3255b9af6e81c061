"""Files between a disk and a server: hashed on the way, continued where they broke off, whole or not there at all."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BufferedRandom
from pathlib import Path
from typing import Protocol

from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.errors import Trouble, Unreachable
from cableferry.client.http import PIECE_BYTES, Content, Streaming
from cableferry.core import contents
from cableferry.core.errors import Invalid, Kind

TRIES = 5
_PART = re.compile(r"\.[0-9a-f]{24}\.part")

Progress = Callable[[int], object]
"""Told of the bytes that moved since the last time."""

Opening = Callable[[int], AbstractContextManager[Streaming]]
"""Gives the bytes from some byte on, or from the first one if it cannot."""


class Hasher(Protocol):
    """What `hashlib` gives."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


class WrongHash(Trouble):
    """What came is not what the server said it would be."""

    word = "wrong-hash"


def ignore(moved: int) -> None:
    """For whoever does not watch."""


def content(source: Path, progress: Progress = ignore) -> Content:
    """A file as a body, hashed before it is sent, since its signature covers the hash."""
    with source.open("rb") as file:
        size, sha256 = os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()
    return Content(lambda: _pieces(source, progress), size, sha256)


def upload(artifacts: Artifacts, id: str, said: Description, source: Path, progress: Progress = ignore) -> File:
    """Bring a file; the server says what it has, and that must be what was sent."""
    body = content(source, progress)
    file = artifacts.put(id, said, body)
    if file.sha256 not in (None, body.sha256):
        raise WrongHash(f"{source} changed while it was sent, or the server stored something else")
    return file


def download(artifacts: Artifacts, id: str, file: File, target: Path, progress: Progress = ignore) -> None:
    """Bring a file to a place of ours; it is there when it is whole and durable."""
    fetch(lambda start: artifacts.reading(id, file.path, start), file, target, progress)


def fetch(opening: Opening, file: File, target: Path, progress: Progress = ignore) -> str:
    """The same from wherever its bytes can be had from some byte on; the hash of what came."""
    part = part_of(target)
    for tries_left in reversed(range(TRIES)):
        was_begun = part.exists()
        try:
            sha256 = _fetch(opening, file, part, progress)
        except Unreachable:
            if not tries_left:
                raise
            continue
        if file.sha256 in (None, sha256):
            break
        part.unlink()
        # what an earlier run left may be of another file
        if not was_begun or not tries_left:
            raise WrongHash(f"{file.path} has SHA-256 {sha256}, not {file.sha256}")
    os.replace(part, target)
    _sync(target.parent)
    return sha256


def place(folder: Path, path: str) -> Path:
    """Where a file of an artifact belongs in a folder of ours; a server does not lead us out of it."""
    target = folder.joinpath(*contents.check_path(path).split("/"))
    if _PART.fullmatch(target.name):
        raise Invalid(f"{path} is named like a file that is still being downloaded", Kind.BAD_PATH)
    return target


def part_of(target: Path) -> Path:
    """Where a file is until it is whole: a name that is never too long, and that no file is placed under."""
    return target.with_name(f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:24]}.part")


def _fetch(opening: Opening, file: File, part: Path, progress: Progress) -> str:
    """What is missing of the file, behind what an earlier try brought; the hash of all of it."""
    with part.open("ab+") as out:
        hasher, start = _begun(out, file)
        if start == 0 or start != file.size_bytes:
            with opening(start) as streaming:
                if start and not _goes_on(streaming, start):
                    out.truncate(0)
                    hasher = hashlib.sha256()
                _take(streaming, out, hasher, progress)
        out.flush()
        os.fsync(out.fileno())
    return hasher.hexdigest()


def _begun(out: BufferedRandom, file: File) -> tuple[Hasher, int]:
    """What is there already; more than there can be is nothing."""
    if file.size_bytes is None or out.seek(0, os.SEEK_END) > file.size_bytes:
        out.truncate(0)
    out.seek(0)
    hasher = hashlib.file_digest(out, "sha256")
    return hasher, out.seek(0, os.SEEK_END)


def _goes_on(streaming: Streaming, start: int) -> bool:
    return streaming.status == 206 and streaming.headers.get("content-range", "").startswith(f"bytes {start}-")


def _take(streaming: Streaming, out: BufferedRandom, hasher: Hasher, progress: Progress) -> None:
    for piece in streaming.pieces():
        out.write(piece)
        hasher.update(piece)
        progress(len(piece))


def _pieces(source: Path, progress: Progress) -> Iterator[bytes]:
    with source.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
            progress(len(piece))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
