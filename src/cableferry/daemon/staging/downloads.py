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
    ration = Ration(site.web.most_bytes, sources)
    for each in (folder, order.scratch_dir / artifact.id):
        each.mkdir(parents=True, exist_ok=True)
    numbered = list(enumerate(sources))
    work = partial(_fetch, desk, ration, (folder, order.scratch_dir / artifact.id))
    hashes = crowd.each(work, numbered, site.threads)
    check_whole(artifact, hashes)
    return Brought(folder, None, len(sources), sum(each.file.size_bytes or 0 for each in sources))


class Ration:
    """How many bytes an artifact may be; its files come side by side."""

    def __init__(self, most_bytes: int | None, sources: Sequence[Source]) -> None:
        self._lock = threading.Lock()
        self._most_bytes = most_bytes
        self._taken = sum(source.file.size_bytes or 0 for source in sources)
        if most_bytes is not None and self._taken > most_bytes:
            raise Unusable(f"it is larger than the {most_bytes} bytes that max_bytes allows")

    @property
    def left(self) -> int | None:
        """For a file that does not say its size."""
        return None if self._most_bytes is None else max(0, self._most_bytes - self._taken)

    def take(self, size: int) -> None:
        with self._lock:
            self._taken += size


def _fetch(desk: Desk, ration: Ration, places: tuple[Path, Path], numbered: tuple[int, Source]) -> tuple[str, str]:
    (folder, scratch), (number, source) = places, numbered
    file = source.file
    target = folder.joinpath(*file.path.split("/"))
    if target.is_file():
        return file.path, check_file(file, desk.verified.sha256(target, desk.look))
    target.parent.mkdir(parents=True, exist_ok=True)
    # beside the inputs, so that no name of theirs can be that of a part
    landing = scratch / str(number)
    found = transfers.fetch(source.opening, file, landing, desk.tick, ration.left)
    if file.size_bytes is None:
        ration.take(landing.stat().st_size)
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
