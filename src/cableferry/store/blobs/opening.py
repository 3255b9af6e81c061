"""From a setting to an open store of bytes, whichever kind it names."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from cableferry.store.blobs import Blobs
from cableferry.store.blobs.local import LocalBlobs
from cableferry.store.blobs.objects import PART_BYTES, ObjectBlobs
from cableferry.store.failures import BadUrl

SCHEMES = ("s3", "gs", "az", "memory")


def open_blobs(where: Path | str, config: Mapping[str, str] | None = None, part_bytes: int = PART_BYTES) -> Blobs:
    """A folder, or the url of a bucket with the keys that its kind knows; a refusal never repeats the url."""
    if isinstance(where, Path) or "://" not in where:
        return LocalBlobs(Path(where))
    address = urlsplit(where)
    if address.scheme not in SCHEMES:
        raise BadUrl(
            "the store of artifacts is a folder, or a url that begins with s3://, gs:// or az:// and names a bucket"
        )
    if "@" in address.netloc or address.query or address.fragment:
        raise BadUrl("the url of the store of artifacts names a bucket and a prefix only: keys are settings")
    return ObjectBlobs(where, config or {}, part_bytes)
