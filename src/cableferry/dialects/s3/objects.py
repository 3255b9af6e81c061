"""The objects: files of artifacts as S3's clients read, write, copy and remove them."""

import re
from typing import Annotated
from urllib.parse import unquote

import msgspec
from msgspec import Meta

from cableferry.core import buckets as core
from cableferry.core import media
from cableferry.core.access import Need
from cableferry.core.buckets import Bucket, Key
from cableferry.core.errors import Invalid, Kind, NotFound
from cableferry.dialects.endpoint import Answer, Arrived, Call, Content, Endpoint, Landing, Plain
from cableferry.dialects.s3 import checksums, conditions, folders, gateway, kept
from cableferry.dialects.s3.gateway import OBJECT
from cableferry.engine import buckets, files, objects
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Tx
from cableferry.wire.s3 import answers

COPY_SOURCE = b"x-amz-copy-source"
OTHERS = ("acl", "attributes", "legal-hold", "restore", "retention", "select", "tagging", "torrent")

_PRINTABLE = re.compile("[ -~]*")
_Told = Annotated[str, Meta(max_length=1024)] | None


class GetQuery(msgspec.Struct, frozen=True, rename="kebab"):
    """Headers that the answer is to have, as the maker of a presigned URL wants them."""

    response_content_type: _Told = None
    response_content_language: _Told = None
    response_expires: _Told = None
    response_cache_control: _Told = None
    response_content_disposition: _Told = None
    response_content_encoding: _Told = None
    version_id: Annotated[str | None, Meta()] = msgspec.field(default=None, name="versionId")
    part_number: Annotated[str | None, Meta()] = msgspec.field(default=None, name="partNumber")


# the headers that a query may wish for, by the fields that hold them
_WISHES = tuple(
    (field.removeprefix("response_").replace("_", "-"), field)
    for field in GetQuery.__struct_fields__
    if field.startswith("response_")
)


def get(tx: Tx, call: Call) -> Content:
    _check_version(call.query)
    bucket, key = gateway.bucket(call), gateway.key_to_read(call)
    file, pieces = buckets.get(tx, bucket, key)
    headers = kept.headers(file) | _wished(call.query)
    return Content(
        pieces=tuple((piece.place, piece.size_bytes) for piece in pieces),
        size_bytes=file.size_bytes or 0,
        content_type=headers.pop("content-type", "") or file.content_type or media.UNKNOWN,
        etag=core.etag(file.etag, file.sha256),
        modified_at=file.created_at,
        headers=headers,
        whole_headers=checksums.shown(call.headers, file.sha256),
    )


def takes(tx: Tx, call: Call) -> Landing | None:
    """Everything that can be known before the first byte; a copy and a folder bring none."""
    if folders.is_one(call):
        folders.check(tx, call)
        return None
    key = gateway.key_to_write(call)
    gateway.check_wishes(call.headers)
    if COPY_SOURCE in call.headers:
        return None
    landing = checksums.landing(call, gateway.gateway(call).upload_limit_bytes)
    kept.said(key.path, call.headers)
    files.check_takes(tx, key.head, key.path, call.caller)
    conditions.check(call.headers, objects.current(tx, key))
    return landing


def put(tx: Tx, call: Call) -> Answer | Plain:
    if call.arrived is None and folders.is_one(call):
        return folders.made()
    key = gateway.key_to_write(call)
    if call.arrived is None:
        return _copied(tx, call, key)
    checksums.judge(call, call.arrived)
    conditions.check(call.headers, objects.lock(tx, key))
    file = files.attach(tx, key.head, kept.said(key.path, call.headers), _blob(call.arrived), call.caller)
    return Answer(None, headers={"ETag": core.etag(file.etag, file.sha256)} | checksums.told_of(call.headers))


def remove(tx: Tx, call: Call) -> None:
    """What is not there is gone as it should be."""
    key = gateway.key_to_remove(gateway.bucket(call), call.path["key"])
    if key is not None:
        objects.remove(tx, key, call.caller)


def refuse_others(tx: Tx, call: Call) -> None:
    raise gateway.not_implemented("what the query asks of this object")


def _copied(tx: Tx, call: Call, key: Key) -> Plain:
    """The bytes stay where they are; the new path refers to them too."""
    bucket, source = _source(call)
    said = None
    if call.headers.get(b"x-amz-metadata-directive", b"COPY") == b"REPLACE":
        said = kept.said(key.path, call.headers)
    conditions.check(call.headers, objects.lock(tx, key))
    file = objects.copy(tx, (bucket, source), key, said, call.caller)
    return gateway.xml(answers.copied(core.etag(file.etag, file.sha256), file.created_at))


def _source(call: Call) -> tuple[Bucket, Key]:
    if any(name.startswith(b"x-amz-copy-source-") for name in call.headers):
        raise gateway.not_implemented("a condition or a range of the source of a copy")
    try:
        text = unquote(call.headers[COPY_SOURCE].decode("ascii"), errors="strict")
    except UnicodeError:
        raise Invalid("X-Amz-Copy-Source is not UTF-8 after percent-decoding", Kind.BAD_HEADER) from None
    name, _, key = text.removeprefix("/").partition("/")
    if name not in set(Bucket):
        raise NotFound(f"there is no bucket {name[:80]} to copy from", Kind.UNKNOWN_FILE, code="NoSuchBucket")
    return Bucket(name), core.key(key)


def _blob(arrived: Arrived) -> Blob:
    stored = arrived.stored
    return Blob(stored.sha256, stored.size_bytes, (Piece(stored.place, stored.size_bytes),), stored.md5)


def _check_version(query: GetQuery) -> None:
    if query.version_id not in (None, "null"):
        raise NotFound("files have no versions here: leave versionId out", Kind.UNKNOWN_FILE, code="NoSuchVersion")
    if query.part_number not in (None, "1"):
        raise Invalid("a file has one part once it is stored: leave partNumber out", code="InvalidPartNumber")


def _wished(query: GetQuery) -> dict[str, str]:
    """Nothing that would end a header goes into one."""
    wished = {name: value for name, field in _WISHES if (value := getattr(query, field)) is not None}
    for name, value in wished.items():
        if not _PRINTABLE.fullmatch(value):
            raise Invalid(f"the query field response-{name} holds what no header can: use printable ASCII")
    return wished


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", OBJECT, get, Need.READ, "GetObject and HeadObject, whole or in ranges",
        answer=Content, query=GetQuery, refusals=(404, 412, 416), needs_protocol_headers=False, is_brief=True,
    ),
    Endpoint(
        "PUT", OBJECT, put, Need.CREATE, "PutObject into an open artifact, and CopyObject",
        answer=None, mode="write", refusals=(403, 404, 412), needs_protocol_headers=False, takes=takes,
    ),
    Endpoint(
        "DELETE", OBJECT, remove, Need.CREATE, "DeleteObject, before the commit",
        answer=None, mode="write", status=204, refusals=(403,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", OBJECT, refuse_others, Need.READ, "What else S3 can tell of an object",
        answer=None, refusals=(501,), needs_protocol_headers=False, chosen_by=OTHERS,
    ),
    Endpoint(
        "PUT", OBJECT, refuse_others, Need.CREATE, "What else S3 can set of an object",
        answer=None, mode="write", refusals=(501,), needs_protocol_headers=False, reads=gateway.ignore_body,
        chosen_by=OTHERS,
    ),
    Endpoint(
        "POST", OBJECT, refuse_others, Need.CREATE, "What else S3 can do with an object",
        answer=None, mode="write", refusals=(501,), needs_protocol_headers=False, reads=gateway.ignore_body,
        chosen_by=OTHERS,
    ),
    Endpoint(
        "DELETE", OBJECT, refuse_others, Need.CREATE, "What else S3 can remove of an object",
        answer=None, mode="write", refusals=(501,), needs_protocol_headers=False, chosen_by=OTHERS,
    ),
)  # fmt: skip
