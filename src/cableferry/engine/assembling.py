"""What the parts of an upload add up to: read and hashed in the calling thread, outside any transaction."""

import hashlib
from collections.abc import Collection

from cableferry.core.access import Caller
from cableferry.core.uploads import Part, Upload, Whole, chosen
from cableferry.engine import reading, uploads
from cableferry.engine.reading import Depot
from cableferry.store.tx import Tx


def whole(depot: Depot, id: str, caller: Caller, numbers: Collection[int] | None = None) -> Whole:
    """What `uploads.complete` wants to know, of all parts or of those that were chosen."""

    def look(tx: Tx) -> tuple[Upload, list[Part]]:
        upload = uploads.get(tx, id, caller)
        return upload, uploads.parts(tx, upload)

    upload, known = depot.store.read(look)
    sha256, size = hashlib.sha256(), 0
    for part in chosen(known, numbers):
        size += part.size_bytes
        for chunk in reading.chunks(depot.blobs, part.place, part.size_bytes):
            sha256.update(chunk)
    return Whole(upload.revision, sha256.hexdigest(), size, numbers)
