"""Looks at locations, each through the source that knows its kind, and says what it found."""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager

from msgspec.structs import replace

from cableferry.store.elsewhere import Found, Opened, Source, Unreachable
from cableferry.store.failures import BlobFailure, BlobsUnavailable


class Elsewhere:
    """All the sources that the settings open, by the beginning of the locations they know."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = dict(sources)

    def allows(self, location: str) -> bool:
        """Whether this server may look there; of anything else it knows only what it is told."""
        source = self._source(location)
        return source is not None and source.allows(location)

    def measure(self, location: str, hash_up_to: int = 0) -> Found | Unreachable:
        """What is there; up to so many bytes it is read to its end and hashed, also when its size is not told."""
        try:
            with self._allowed(location).opened(location) as opened:
                found = opened.found
                is_hashed = not found.is_folder and (found.size_bytes or 0) <= hash_up_to
                return _hashed(opened) if hash_up_to and is_hashed else found
        except BlobFailure as failure:
            return Unreachable(str(failure))

    def read(self, location: str, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`; whatever is wrong is a `BlobFailure`."""
        with self._allowed(location).opened(location) as opened:
            return opened.read(start, stop)

    def opened(self, location: str) -> AbstractContextManager[Opened]:
        """What is there, to be read in parts; whatever is wrong is a `BlobFailure`."""
        return self._allowed(location).opened(location)

    def _allowed(self, location: str) -> Source:
        source = self._source(location)
        if source is None or not source.allows(location):
            raise BlobsUnavailable(f"{location} is not where this server may look")
        return source

    def _source(self, location: str) -> Source | None:
        scheme, mark, _ = location.partition("://")
        return self._sources.get(scheme) if mark else None


def _hashed(opened: Opened) -> Found:
    sha256, size_bytes = hashlib.sha256(), 0
    for chunk in opened.chunks():
        sha256.update(chunk)
        size_bytes += len(chunk)
    return replace(opened.found, size_bytes=size_bytes, sha256=sha256.hexdigest())
