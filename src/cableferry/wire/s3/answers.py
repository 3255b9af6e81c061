"""The documents that the gateway answers with."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from urllib.parse import quote

import msgspec

from cableferry.wire.s3 import xml
from cableferry.wire.s3.xml import Node

_OWNER: Sequence[Node] = (("ID", "cableferry"), ("DisplayName", "cableferry"))
# the region whose buckets S3 says to be nowhere in particular
_FIRST_REGION = "us-east-1"


class Item(msgspec.Struct, frozen=True):
    """One key of a list."""

    key: str
    size_bytes: int
    etag: str
    modified_at: datetime


class Contents(msgspec.Struct, frozen=True):
    """One page of keys, and of what other keys have in common up to the delimiter; `next` is where the next begins."""

    items: Sequence[Item] = ()
    prefixes: Sequence[str] = ()
    next: str | None = None


class Asked(msgspec.Struct, frozen=True):
    """What a list was asked for, as its answer repeats it; `start` is StartAfter, Marker or KeyMarker."""

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    most: int = 1000
    start: str = ""
    token: str | None = None
    is_encoded: bool = False
    shows_owner: bool = False

    def spell(self, text: str) -> str:
        """A key as the client wants it: percent-encoded, if some might not fit into XML."""
        return quote(text) if self.is_encoded else text


class Part(msgspec.Struct, frozen=True):
    """One part of an upload."""

    number: int
    size_bytes: int
    etag: str
    modified_at: datetime


class Parts(msgspec.Struct, frozen=True):
    """One page of the parts of an upload."""

    bucket: str
    key: str
    upload_id: str
    start: int
    most: int
    parts: Sequence[Part]
    is_truncated: bool


class Upload(msgspec.Struct, frozen=True):
    """One upload in parts that is under way."""

    key: str
    id: str
    started_at: datetime


class Removal(msgspec.Struct, frozen=True):
    """What became of one key of a deletion: it is gone, or why it stays."""

    key: str
    code: str | None = None
    message: str = ""


def buckets(found: Iterable[tuple[str, datetime]]) -> bytes:
    listed: list[Node] = [("Bucket", (("Name", name), ("CreationDate", time(at)))) for name, at in found]
    return xml.write("ListAllMyBucketsResult", [("Owner", _OWNER), ("Buckets", listed)])


def location(region: str) -> bytes:
    return xml.write("LocationConstraint", "" if region == _FIRST_REGION else region)


def versioning() -> bytes:
    """There is none, and never was."""
    return xml.write("VersioningConfiguration", ())


def contents(asked: Asked, found: Contents) -> bytes:
    """ListObjectsV2."""
    count = str(len(found.items) + len(found.prefixes))
    own: list[Node] = [("KeyCount", count)]
    own += _told("ContinuationToken", asked.token)
    own += _told("NextContinuationToken", found.next)
    own += _told("StartAfter", asked.spell(asked.start) or None)
    return xml.write("ListBucketResult", [*_page(asked, found.next), *own, *_listed(asked, found)])


def contents_v1(asked: Asked, found: Contents) -> bytes:
    """ListObjects, as it was before V2."""
    own: list[Node] = [("Marker", asked.spell(asked.start))]
    own += _told("NextMarker", None if found.next is None else asked.spell(found.next))
    return xml.write("ListBucketResult", [*_page(asked, found.next), *own, *_listed(asked, found)])


def uploads(asked: Asked, found: Sequence[Upload], next: Upload | None) -> bytes:
    nodes: list[Node] = [
        ("Bucket", asked.bucket),
        ("KeyMarker", asked.spell(asked.start)),
        ("UploadIdMarker", asked.token or ""),
        ("Prefix", asked.spell(asked.prefix)),
        ("MaxUploads", str(asked.most)),
        ("IsTruncated", _word(next is not None)),
        *_told("EncodingType", "url" if asked.is_encoded else None),
    ]
    if next is not None:
        nodes += [("NextKeyMarker", asked.spell(next.key)), ("NextUploadIdMarker", next.id)]
    return xml.write("ListMultipartUploadsResult", [*nodes, *(_upload(asked, each) for each in found)])


def initiated(bucket: str, key: str, upload_id: str) -> bytes:
    return xml.write("InitiateMultipartUploadResult", [("Bucket", bucket), ("Key", key), ("UploadId", upload_id)])


def parts(page: Parts) -> bytes:
    last = page.parts[-1].number if page.parts else page.start
    nodes: list[Node] = [
        ("Bucket", page.bucket),
        ("Key", page.key),
        ("UploadId", page.upload_id),
        ("Initiator", _OWNER),
        ("Owner", _OWNER),
        ("StorageClass", "STANDARD"),
        ("PartNumberMarker", str(page.start)),
        ("NextPartNumberMarker", str(last)),
        ("MaxParts", str(page.most)),
        ("IsTruncated", _word(page.is_truncated)),
    ]
    return xml.write("ListPartsResult", [*nodes, *map(_part, page.parts)])


def completed(bucket: str, key: str, etag: str, location: str) -> bytes:
    nodes = [("Location", location), ("Bucket", bucket), ("Key", key), ("ETag", etag)]
    return xml.write("CompleteMultipartUploadResult", nodes)


def copied(etag: str, at: datetime) -> bytes:
    return xml.write("CopyObjectResult", [("LastModified", time(at)), ("ETag", etag)])


def removed(removals: Iterable[Removal]) -> bytes:
    return xml.write("DeleteResult", list(map(_removal, removals)))


def time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def _page(asked: Asked, next: str | None) -> Iterator[Node]:
    yield "Name", asked.bucket
    yield "Prefix", asked.spell(asked.prefix)
    yield from _told("Delimiter", asked.spell(asked.delimiter) or None)
    yield "MaxKeys", str(asked.most)
    yield "IsTruncated", _word(next is not None)
    yield from _told("EncodingType", "url" if asked.is_encoded else None)


def _listed(asked: Asked, found: Contents) -> Iterator[Node]:
    yield from (_item(asked, item) for item in found.items)
    yield from (("CommonPrefixes", [("Prefix", asked.spell(prefix))]) for prefix in found.prefixes)


def _item(asked: Asked, item: Item) -> Node:
    owner: list[Node] = [("Owner", _OWNER)] if asked.shows_owner else []
    return "Contents", [
        ("Key", asked.spell(item.key)),
        ("LastModified", time(item.modified_at)),
        ("ETag", item.etag),
        ("Size", str(item.size_bytes)),
        *owner,
        ("StorageClass", "STANDARD"),
    ]


def _upload(asked: Asked, upload: Upload) -> Node:
    return "Upload", [
        ("Key", asked.spell(upload.key)),
        ("UploadId", upload.id),
        ("Initiator", _OWNER),
        ("Owner", _OWNER),
        ("StorageClass", "STANDARD"),
        ("Initiated", time(upload.started_at)),
    ]


def _part(part: Part) -> Node:
    return "Part", [
        ("PartNumber", str(part.number)),
        ("LastModified", time(part.modified_at)),
        ("ETag", part.etag),
        ("Size", str(part.size_bytes)),
    ]


def _removal(removal: Removal) -> Node:
    if removal.code is None:
        return "Deleted", [("Key", removal.key)]
    return "Error", [("Key", removal.key), ("Code", removal.code), ("Message", removal.message)]


def _told(name: str, text: str | None) -> list[Node]:
    return [] if text is None else [(name, text)]


def _word(value: bool) -> str:
    return "true" if value else "false"
