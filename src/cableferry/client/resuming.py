"""Files that come to a server in parts, each checked, and go on where they broke off, also after a restart."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from cableferry.client.answers import Upload
from cableferry.client.artifacts import Artifacts, Description
from cableferry.client.errors import Refused, Unreachable
from cableferry.client.http import PIECE_BYTES, Content

TRIES = 5
# what another look at the offset may mend: somebody else went on, or our own answer was lost
_PASSING = frozenset({"mismatching-upload-offset", "upload-busy", "changed-meanwhile"})

Progress = Callable[[int], object]
"""Told of the bytes that moved since the last time; less than nothing when some have to be sent again."""


class Meter:
    """How far a file has come, for whoever watches."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._at = 0

    def at(self, position: int) -> None:
        if position != self._at:
            self._progress(position - self._at)
            self._at = position


class Whole(msgspec.Struct, frozen=True):
    """A file of ours and what it is, as it was when it was hashed."""

    source: Path
    size_bytes: int
    sha256: str


def send(artifacts: Artifacts, id: str, said: Description, whole: Whole, meter: Meter) -> None:
    """Bring all of it, or what is missing of it; a few troubles in a row without a byte of progress are the end."""
    upload = _known(artifacts, id, said, whole) or _begun(artifacts, id, said, whole)
    tries_left = TRIES
    with _Parts(artifacts, whole, meter) as parts:
        while upload.offset < whole.size_bytes:
            meter.at(upload.offset)
            try:
                offset = artifacts.append(upload.id, upload.offset, parts.at(upload.offset))
                upload, tries_left = msgspec.structs.replace(upload, offset=offset), TRIES
            except (Unreachable, Refused) as trouble:
                tries_left -= 1
                if not tries_left or (isinstance(trouble, Refused) and trouble.kind not in _PASSING):
                    raise
                upload = artifacts.upload(upload.id)
    meter.at(whole.size_bytes)


class _Parts:
    """The parts of a file, the next one hashed while one is sent."""

    def __init__(self, artifacts: Artifacts, whole: Whole, meter: Meter) -> None:
        self._make: Callable[[int], Content] = lambda start: part(artifacts, whole, start, meter)
        self._size = whole.size_bytes
        self._ahead = ThreadPoolExecutor(1)
        self._coming: tuple[int, Future[Content]] | None = None

    def __enter__(self) -> "_Parts":
        return self

    def __exit__(self, *how: object) -> None:
        self._ahead.shutdown(cancel_futures=True)

    def at(self, start: int) -> Content:
        """The part that begins there, which is the one expected unless something went wrong."""
        is_expected = self._coming is not None and self._coming[0] == start
        found = self._coming[1].result() if self._coming is not None and is_expected else self._make(start)
        then = start + found.size_bytes
        self._coming = (then, self._ahead.submit(self._make, then)) if then < self._size else None
        return found


def _known(artifacts: Artifacts, id: str, said: Description, whole: Whole) -> Upload | None:
    """What an earlier run began and did not bring to its end."""
    wanted = (said.path, whole.size_bytes, whole.sha256)
    found = (each for each in artifacts.uploads(id, said.path) if (each.path, each.length, each.sha256) == wanted)
    return max(found, key=lambda each: each.offset, default=None)


def _begun(artifacts: Artifacts, id: str, said: Description, whole: Whole) -> Upload:
    return artifacts.begin(id, said, whole.size_bytes, whole.sha256)


def part(artifacts: Artifacts, whole: Whole, start: int, meter: Meter) -> Content:
    """The next part with a hash of its own: a part that was changed on its way is sent again alone."""
    size = min(artifacts.part_bytes, whole.size_bytes - start)
    hasher = hashlib.sha256()
    for piece in pieces(whole.source, start, size):
        hasher.update(piece)

    def read() -> Iterator[bytes]:
        sent = start
        meter.at(sent)
        for piece in pieces(whole.source, start, size):
            yield piece
            sent += len(piece)
            meter.at(sent)

    return Content(read, size, hasher.hexdigest())


def pieces(source: Path, start: int, size: int) -> Iterator[bytes]:
    with source.open("rb") as file:
        file.seek(start)
        while size > 0 and (piece := file.read(min(PIECE_BYTES, size))):
            size -= len(piece)
            yield piece


def can_resume(artifacts: Artifacts, id: str) -> bool:
    """Whether the server takes parts; one that does not is sent the whole."""
    try:
        return "creation" in artifacts.options(id).get("tus-extension", "")
    except Refused as refusal:
        # a plain server may say no in any way to a method that it does not know
        if refusal.problem.status < 500 or refusal.problem.status == 501:
            return False
        raise
