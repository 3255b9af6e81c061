"""Objects in buckets that the settings name, with the keys that they give for each."""

import contextlib
from collections.abc import Iterator, Mapping

import obstore
from obstore.store import ObjectStore

from cableferry.store.blobs import asking
from cableferry.store.elsewhere import Found
from cableferry.store.failures import BlobMissing, BlobsUnavailable

CHUNK_BYTES = 8 * 1024 * 1024


class Buckets:
    """One open bucket for each name."""

    def __init__(
        self, configs: Mapping[str, Mapping[str, str]], patience: Mapping[str, object] = asking.PATIENCE
    ) -> None:
        self._buckets = {name: asking.connect(f"s3://{name}", config, patience) for name, config in configs.items()}

    def allows(self, location: str) -> bool:
        return _split(location)[0] in self._buckets

    @contextlib.contextmanager
    def opened(self, location: str) -> Iterator["OpenedObject"]:
        bucket, key = _split(location)
        if not key or key.endswith("/"):
            raise BlobsUnavailable(f"{location} names no object")
        yield OpenedObject(self._buckets[bucket], location, key)


class OpenedObject:
    """An object by its key and its tag: another one put in its place meanwhile is not taken for it."""

    def __init__(self, bucket: ObjectStore, location: str, key: str) -> None:
        self._bucket = bucket
        self._location = location
        self._key = key
        with asking.told(location):
            about = obstore.head(bucket, key)
        self._size: int = about["size"]
        self.found = Found(self._size, about["e_tag"])

    def read(self, start: int, stop: int) -> bytes:
        if stop > self._size:
            raise BlobMissing(f"{self._location} ends at byte {self._size}, before byte {stop}")
        if start >= stop:
            return b""
        options: obstore.GetOptions = {"range": (start, stop)}
        if self.found.etag is not None:
            options["if_match"] = self.found.etag
        with asking.told(self._location):
            content = bytes(obstore.get(self._bucket, self._key, options=options).bytes())
        if len(content) != stop - start:
            raise BlobsUnavailable(f"{self._location} changed while it was read")
        return content

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, self._size, CHUNK_BYTES):
            yield self.read(start, min(start + CHUNK_BYTES, self._size))


def _split(location: str) -> tuple[str, str]:
    bucket, _, key = location.removeprefix("s3://").partition("/")
    return bucket, key
