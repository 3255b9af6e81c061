"""The documents that clients send to the gateway, and the tokens they bring back."""

import base64
import binascii

import msgspec

from cableferry.core.errors import Invalid, Kind
from cableferry.wire.s3 import xml

MOST_PARTS = 10_000
MOST_DELETED = 1000


class Claimed(msgspec.Struct, frozen=True):
    """A part as its sender remembers it."""

    number: int
    etag: str


class Deletion(msgspec.Struct, frozen=True):
    """Keys that are to go; a quiet answer tells of those only that stay."""

    keys: tuple[str, ...]
    is_quiet: bool


def completion(body: bytes) -> tuple[Claimed, ...]:
    """The parts that are to become one file, in their order."""
    claimed = tuple(map(_claimed, xml.read(body, "CompleteMultipartUpload").all("Part")))
    if not 0 < len(claimed) <= MOST_PARTS:
        raise xml.malformed(f"the body must name 1 to {MOST_PARTS} parts, not {len(claimed)}")
    numbers = [part.number for part in claimed]
    if numbers != sorted(set(numbers)):
        raise Invalid("the parts must stand in ascending order, each once", code="InvalidPartOrder")
    return claimed


def deletion(body: bytes) -> Deletion:
    document = xml.read(body, "Delete")
    keys = tuple(each.first("Key") or "" for each in document.all("Object"))
    if not 0 < len(keys) <= MOST_DELETED or not all(keys):
        raise xml.malformed(f"the body must name 1 to {MOST_DELETED} keys, not {len(keys)}")
    return Deletion(keys, (document.first("Quiet") or "").strip().lower() == "true")


def token(place: str) -> str:
    """Where the next page of a list begins, as a text that clients only bring back."""
    return base64.urlsafe_b64encode(place.encode()).decode()


def place(token: str) -> str:
    """What is behind such a text."""
    try:
        return base64.b64decode(token, b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Invalid("the continuation token is none of ours: begin the list again", Kind.MALFORMED) from None


def _claimed(part: xml.Element) -> Claimed:
    number, etag = (part.first("PartNumber") or "").strip(), (part.first("ETag") or "").strip()
    if not (number.isascii() and number.isdigit() and len(number) < 6 and etag):
        raise xml.malformed("a part must have a PartNumber and an ETag")
    return Claimed(int(number), etag.strip('"'))
