"""What a write may depend on: which file is there, or that none is."""

from cableferry.core import buckets as core
from cableferry.core.artifacts import File
from cableferry.dialects.denials import PreconditionFailed
from cableferry.dialects.endpoint import Headers


def check(headers: Headers, file: File | None) -> None:
    """If-Match and If-None-Match of a write: about the file that is to be replaced."""
    etag = None if file is None else core.etag(file.etag, file.sha256)
    wanted, unwanted = headers.get(b"if-match"), headers.get(b"if-none-match")
    if wanted is not None and not _names(wanted, etag):
        raise PreconditionFailed(f"the file is another one by now: its ETag is {etag or 'none, it is not there'}")
    if unwanted is not None and _names(unwanted, etag):
        raise PreconditionFailed("there is such a file already, and it was not to be replaced")


def _names(header: bytes, etag: str | None) -> bool:
    tags = [tag.strip() for tag in header.decode("latin-1").split(",")]
    return etag is not None and (tags == ["*"] or etag in tags or etag.strip('"') in tags)
