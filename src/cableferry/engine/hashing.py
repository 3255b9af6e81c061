"""Hashes of streams that are not over, so that the hash of the whole is known when the last byte comes."""

import hashlib
import threading
from collections import OrderedDict

from cableferry.core.uploads import Part, Upload
from cableferry.engine import reading, uploads
from cableferry.engine.reading import Depot
from cableferry.store import uploads as rows
from cableferry.store.blobs import Hasher
from cableferry.store.failures import BlobMissing

MOST_KNOWN = 10_000


class Hashes:
    """What knows all bytes of a stream up to the end of a part, by that part's place.

    It lives in memory: after a restart, and in another process, the parts are read once more. A place is never used
    again, so what was learnt of a part that was not recorded after all is never asked for.
    """

    def __init__(self, depot: Depot, most: int = MOST_KNOWN) -> None:
        self._depot = depot
        self._most = most
        self._known: OrderedDict[str, Hasher] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, place: str, hasher: Hasher) -> None:
        with self._lock:
            self._known[place] = hasher
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def after(self, upload: Upload) -> Hasher:
        """One that knows every byte that is here, for whoever goes on; slow when it has to be made anew."""
        last = self._depot.store.read(lambda tx: rows.last_part(tx, upload))
        if last is None:
            return hashlib.sha256()
        return self._copy(last.place) or self._made_anew(upload)

    def _copy(self, place: str) -> Hasher | None:
        with self._lock:
            hasher = self._known.pop(place, None)
            if hasher is None:
                return None
            self._known[place] = hasher
            return hasher.copy()

    def _made_anew(self, upload: Upload) -> Hasher:
        """From the last part that is known, or from the first one; each must be what it was when it came."""
        parts = self._depot.store.read(lambda tx: uploads.parts(tx, upload))
        hasher: Hasher = hashlib.sha256()
        for number, part in reversed(list(enumerate(parts, 1))):
            if (known := self._copy(part.place)) is not None:
                hasher, parts = known, parts[number:]
                break
        for part in parts:
            self._read(part, hasher)
        return hasher

    def _read(self, part: Part, hasher: Hasher) -> None:
        for chunk in reading.chunks(self._depot.blobs, part.place, part.size_bytes):
            hasher.update(chunk)
        if hasher.hexdigest() != part.sha256:
            raise BlobMissing(f"{part.place} is not what it was when it came")
        self.learn(part.place, hasher.copy())
