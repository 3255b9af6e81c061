"""The headers of resumable uploads over HTTP, in the form of the draft and in that of the tus protocol."""

import base64
import binascii
import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from cableferry.core.errors import Invalid, Kind
from cableferry.core.uploads import Upload
from cableferry.wire.emx2 import PREFIX
from cableferry.wire.emx2.bodies import Link, Links

# the interoperability versions of the draft whose messages these are
VERSIONS = ("8", "7", "6")
PART_TYPE = "application/partial-upload"

_INTEGER = re.compile(r"[0-9]{1,19}")
_HEX = re.compile("[0-9a-fA-F]{64}")
_BOOLEANS = {"?0": False, "?1": True}


class UploadItem(msgspec.Struct, frozen=True):
    """A file on its way: `offset` is where the next byte belongs."""

    id: str
    artifact_id: str
    path: str
    manner: str
    offset: int
    length: int | None
    sha256: str | None
    is_complete: bool
    created_at: datetime
    expires_at: datetime
    links: Links = msgspec.field(name="_links")


class UploadList(msgspec.Struct, frozen=True):
    """What is on its way into an artifact, and whether clients may bring bytes to the store of bytes directly."""

    items: list[UploadItem]
    count: int
    direct: bool
    links: Links = msgspec.field(name="_links")


def item(upload: Upload) -> UploadItem:
    return UploadItem(
        upload.id, upload.artifact_id, upload.path, upload.manner.value, upload.received, upload.length, upload.sha256,
        upload.completed_at is not None, upload.created_at, upload.expires_at,
        {"self": Link(href(upload.id), "GET")},
    )  # fmt: skip


def listing(artifact_id: str, uploads: Sequence[Upload], direct: bool) -> UploadList:
    items = [item(upload) for upload in uploads]
    return UploadList(items, len(items), direct, {"self": Link(home(artifact_id), "GET")})


def home(artifact_id: str) -> str:
    return f"{PREFIX}/artifacts/{artifact_id}/uploads"


def href(upload_id: str) -> str:
    return f"{PREFIX}/uploads/{upload_id}"


def integer(header: str, text: str | None) -> int | None:
    """A number of bytes; None when nothing is said."""
    if text is None:
        return None
    if not _INTEGER.fullmatch(text.strip(" ")):
        raise _malformed(header, "a number of bytes")
    return int(text)


def boolean(header: str, text: str | None) -> bool | None:
    if text is None:
        return None
    try:
        return _BOOLEANS[text.strip(" ")]
    except KeyError:
        raise _malformed(header, "?0 or ?1") from None


def sha256(header: str, item: str) -> str:
    """A digest between colons, as fields of digests write it."""
    try:
        digest = base64.b64decode(item[1:-1], validate=True) if item[:1] == item[-1:] == ":" else b""
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != 32:
        raise _malformed(header, "a digest")
    return digest.hex()


def hexdigest(header: str, text: str | None) -> str | None:
    """A SHA-256 as it is written in most places."""
    if text is None:
        return None
    if not _HEX.fullmatch(text):
        raise _malformed(header, "right about sha256: 64 hexadecimal digits")
    return text.lower()


def _malformed(header: str, wanted: str) -> Invalid:
    return Invalid(f"{header} must be {wanted}", Kind.BAD_HEADER, header=header)
