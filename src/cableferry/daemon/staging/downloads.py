"""Inputs whose bytes come over a network: from the server itself, from a web server, from S3."""

import errno
import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import msgspec

from cableferry import failpoints
from cableferry.client import crowd, transfers
from cableferry.client.answers import Artifact, File
from cableferry.daemon.staging.desk import Brought, Desk, Order, Site, check_file, check_names, check_whole
from cableferry.daemon.staging.outcomes import Unusable
from cableferry.daemon.staging.web import Visits

_ANYWHERE = "/:@!$&'()*+,;=~"


class Source(msgspec.Struct, frozen=True):
    """One file, and how its bytes are had from some byte on."""

    file: File
    opening: transfers.Opening


def stored(desk: Desk, artifact: Artifact) -> list[Source]:
    reading = desk.artifacts.reading
    return [
        Source(file, partial(reading, artifact.id, file.path))
        for file in desk.artifacts.files(artifact.id)
        if file.is_stored
    ]


def elsewhere(desk: Desk, visits: Visits, artifact: Artifact) -> list[Source]:
    """The files that the artifact lists; one that lists none is the one file at its address."""
    base = (artifact.content_url or "").rstrip("/")
    files = list(desk.artifacts.files(artifact.id))
    if not files:
        name = unquote(urlsplit(base).path).rpartition("/")[2] or "content"
        files = [File(name, sha256=artifact.sha256, size_bytes=artifact.size_bytes)]
    return [Source(file, partial(visits.reading, _location(artifact, base, file.path))) for file in files]


def _location(artifact: Artifact, base: str, path: str) -> str:
    """Where a file is; an address that names the file itself is it."""
    name = quote(path, safe=_ANYWHERE) if artifact.residence == "http" else path
    return base if base.rpartition("/")[2] == name else f"{base}/{name}"


def download(desk: Desk, site: Site, order: Order, artifact: Artifact, sources: list[Source]) -> Brought:
    """Files into a folder of the artifact's own; those that an earlier run brought are only looked at."""
    folder = order.input_dir / artifact.id
    check_names(source.file for source in sources)
    _check_room(order.input_dir, folder, sources)
    ration = Ration(desk, site.web.most_bytes, sum(source.file.size_bytes or 0 for source in sources))
    for each in (folder, order.scratch_dir / artifact.id):
        each.mkdir(parents=True, exist_ok=True)
    numbered = list(enumerate(sources))
    work = partial(_fetch, ration, folder, order.scratch_dir / artifact.id)
    hashes = crowd.each(work, numbered, site.threads)
    check_whole(artifact, hashes)
    return Brought(folder, None, len(sources), sum(each.file.size_bytes or 0 for each in sources))


class Ration:
    """How many bytes an artifact may be, whatever it says of itself; counted by several threads."""

    def __init__(self, desk: Desk, most_bytes: int | None, said: int) -> None:
        self.desk = desk
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._taken = 0
        self._check(said)

    def take(self, moved: int) -> None:
        self.desk.tick(moved)
        with self._lock:
            self._taken += moved
        self._check(self._taken)

    def _check(self, size: int) -> None:
        if self._most_bytes is not None and size > self._most_bytes:
            raise Unusable(f"it is larger than the {self._most_bytes} bytes that max_bytes allows")


def _fetch(ration: Ration, folder: Path, scratch: Path, numbered: tuple[int, Source]) -> tuple[str, str]:
    number, source = numbered
    file = source.file
    target = folder.joinpath(*file.path.split("/"))
    if target.is_file():
        return file.path, check_file(file, ration.desk.verified.sha256(target, ration.desk.look))
    target.parent.mkdir(parents=True, exist_ok=True)
    # beside the inputs, so that no name of theirs can be that of a part
    landing = scratch / str(number)
    found = transfers.fetch(source.opening, file, landing, ration.take)
    with failpoints.crossing("file", "input"):
        os.replace(landing, target)
    return file.path, found


def _check_room(place: Path, folder: Path, sources: Sequence[Source]) -> None:
    """Refuse early what cannot fit."""
    missing = [each.file for each in sources if not folder.joinpath(*each.file.path.split("/")).is_file()]
    needed = sum(file.size_bytes or 0 for file in missing)
    free = os.statvfs(place)
    if needed > free.f_blocks * free.f_frsize:
        raise Unusable(f"it needs {needed} bytes, more than the whole disk of {place} has")
    if needed > free.f_bavail * free.f_frsize:
        raise OSError(errno.ENOSPC, f"no room for {needed} bytes", str(place))
