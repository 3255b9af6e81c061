"""Files between a disk and a server: hashed on the way, continued where they broke off, whole or not there at all."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BufferedRandom
from pathlib import Path
from typing import Protocol

from cableferry import failpoints
from cableferry.client import resuming
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.errors import Trouble, Unreachable
from cableferry.client.http import Content, Streaming
from cableferry.client.resuming import Meter, Progress, Whole
from cableferry.core import contents
from cableferry.core.errors import Invalid, Kind

TRIES = 5
_PART = re.compile(r"\.[0-9a-f]{24}\.part")


Opening = Callable[[int], AbstractContextManager[Streaming]]
"""Gives the bytes from some byte on, or from the first one if it cannot."""


class Hasher(Protocol):
    """What `hashlib` gives."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


class WrongHash(Trouble):
    """What came is not what the server said it would be."""

    word = "wrong-hash"


class TooLong(Trouble):
    """What came is more than whoever asked would take."""

    word = "too-long"


def ignore(moved: int) -> None:
    """For whoever does not watch."""


def measured(source: Path) -> Whole:
    """A file of ours, hashed before it is sent: a signature covers the hash, and the server checks it."""
    with source.open("rb") as file:
        return Whole(source, os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())


def upload(artifacts: Artifacts, id: str, said: Description, source: Path, progress: Progress = ignore) -> File:
    """Bring a file, a large one in parts; the server says what it has, and that must be what was sent."""
    return bring(artifacts, id, said, measured(source), progress)


def bring(artifacts: Artifacts, id: str, said: Description, whole: Whole, progress: Progress = ignore) -> File:
    """The same with a file whose hash is known."""
    meter = Meter(progress)
    if whole.size_bytes > artifacts.part_bytes and resuming.can_resume(artifacts, id):
        resuming.send(artifacts, id, said, whole, meter)
        file = _there(artifacts, id, said.path)
    else:
        file = artifacts.put(id, said, Content(lambda: _pieces(whole, meter), whole.size_bytes, whole.sha256))
    if file.sha256 not in (None, whole.sha256):
        raise WrongHash(f"{said.path} changed while it was sent, or the server stored something else")
    return file


def download(artifacts: Artifacts, id: str, file: File, target: Path, progress: Progress = ignore) -> None:
    """Bring a file to a place of ours; it is there when it is whole and durable."""
    fetch(lambda start: artifacts.reading(id, file.path, start), file, target, progress)


def fetch(
    opening: Opening, file: File, target: Path, progress: Progress = ignore, most_bytes: int | None = None
) -> str:
    """The same from wherever its bytes can be had from some byte on; the hash of what came.

    A file that does not say its size is taken up to `most_bytes`.
    """
    part = part_of(target)
    for tries_left in reversed(range(TRIES)):
        was_begun = part.exists()
        try:
            sha256 = _fetch(opening, file, part, progress, most_bytes)
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
    with failpoints.crossing("file", "download"):
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


def _fetch(opening: Opening, file: File, part: Path, progress: Progress, most_bytes: int | None) -> str:
    """What is missing of the file, behind what an earlier try brought; the hash of all of it."""
    with part.open("ab+") as out:
        hasher, start = _begun(out, file)
        if start == 0 or start != file.size_bytes:
            with opening(start) as streaming:
                if start and not _goes_on(streaming, start):
                    out.truncate(0)
                    hasher = hashlib.sha256()
                _take(streaming, out, hasher, _bounded(file, out, progress, most_bytes))
            _check_size(file, out.tell())
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


def _bounded(file: File, out: BufferedRandom, progress: Progress, most_bytes: int | None) -> Progress:
    """Progress that stops what is too long: it need not end before the disk is full."""

    def moved(count: int) -> None:
        if file.size_bytes is not None and out.tell() > file.size_bytes:
            raise WrongHash(f"{file.path} is longer than {file.size_bytes} bytes")
        if file.size_bytes is None and most_bytes is not None and out.tell() > most_bytes:
            raise TooLong(f"{file.path} is longer than the {most_bytes} bytes that it may have")
        progress(count)

    return moved


def _take(streaming: Streaming, out: BufferedRandom, hasher: Hasher, progress: Progress) -> None:
    for piece in streaming.pieces():
        out.write(piece)
        hasher.update(piece)
        progress(len(piece))


def _check_size(file: File, size: int) -> None:
    """Some connections end as if all had come; what is missing then is asked for again."""
    if file.size_bytes is not None and size < file.size_bytes:
        raise Unreachable(f"{file.path} broke off at {size} of {file.size_bytes} bytes")


def _there(artifacts: Artifacts, id: str, path: str) -> File:
    for file in artifacts.files(id, path):
        if file.path == path:
            return file
    raise WrongHash(f"{path} is not in artifact {id}, though all of it was taken")


def _pieces(whole: Whole, meter: Meter) -> Iterator[bytes]:
    """All of it; when it has to be sent again, from the beginning."""
    sent = 0
    meter.at(sent)
    for piece in resuming.pieces(whole.source, sent, whole.size_bytes):
        yield piece
        sent += len(piece)
        meter.at(sent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
