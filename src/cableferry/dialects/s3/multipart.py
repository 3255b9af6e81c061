"""Files that come in parts, in any order and side by side; the artifact shows nothing before they are complete."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec
from msgspec import Meta

from cableferry.core import buckets as core
from cableferry.core.access import Need
from cableferry.core.buckets import Bucket, Key
from cableferry.core.errors import Invalid, Kind, NotFound
from cableferry.core.uploads import Draft, Manner, Part, Upload, Whole
from cableferry.dialects.denials import TooLarge
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Headers, Landing, Plain
from cableferry.dialects.s3 import checksums, conditions, gateway, kept
from cableferry.dialects.s3.gateway import BUCKET, OBJECT
from cableferry.engine import assembling, objects, uploads
from cableferry.store.tx import Tx
from cableferry.wire.s3 import PREFIX, answers, inputs
from cableferry.wire.s3.answers import Asked, Parts
from cableferry.wire.s3.inputs import MOST_PARTS, Claimed

MOST_SHOWN = 1000
_MD5 = re.compile(r"[0-9a-f]{32}")
_Count = Annotated[int, Meta(ge=0, le=10**9)]
_Id = Annotated[str, Meta(max_length=200)]
_Text = Annotated[str, Meta(max_length=core.LONGEST_KEY)]


class UploadQuery(msgspec.Struct, frozen=True, rename="camel"):
    """Which upload it is about."""

    upload_id: _Id


class PartQuery(msgspec.Struct, frozen=True, rename="camel"):
    upload_id: _Id
    part_number: Annotated[int, Meta(ge=1, le=MOST_PARTS)]


class PartsQuery(msgspec.Struct, frozen=True, rename="kebab"):
    upload_id: _Id = msgspec.field(name="uploadId")
    max_parts: _Count = MOST_SHOWN
    part_number_marker: _Count = 0


class UploadsQuery(msgspec.Struct, frozen=True, rename="kebab"):
    """What ListMultipartUploads asks for; without an artifact in its prefix it is about too many."""

    prefix: _Text = ""
    delimiter: _Text = ""
    key_marker: _Text = ""
    upload_id_marker: _Text = ""
    max_uploads: _Count = MOST_SHOWN
    encoding_type: str | None = None


def create(tx: Tx, call: Call) -> Plain:
    key = gateway.key_to_write(call)
    gateway.check_wishes(call.headers)
    said = kept.said(key.path, call.headers)
    draft = Draft(said, Manner.PARTS, metadata=said.headers)
    upload = uploads.create(tx, key.head, draft, call.caller, gateway.gateway(call).multipart_lifetime)
    return gateway.xml(answers.initiated(Bucket.ARTIFACTS, key.text, upload.id))


def takes_part(tx: Tx, call: Call) -> Landing:
    if b"x-amz-copy-source" in call.headers:
        raise gateway.not_implemented("a part that is copied from elsewhere")
    at = gateway.gateway(call)
    landing = checksums.landing(call, at.upload_limit_bytes)
    upload = _going_on(tx, call)
    if upload.received + (landing.most_bytes or 0) > at.multipart_limit_bytes:
        raise TooLarge(f"the parts have more than the {at.multipart_limit_bytes} bytes that a file may have")
    return landing


def put_part(tx: Tx, call: Call) -> Answer:
    arrived = call.arrived
    assert arrived is not None  # noqa: S101  # it takes nothing else
    checksums.judge(call, arrived)
    uploads.put_part(tx, _going_on(tx, call).id, call.query.part_number, arrived.stored, call.caller)
    return Answer(None, headers={"ETag": f'"{arrived.stored.md5}"'} | checksums.told_of(call.headers))


def read_completion(body: bytes, headers: Headers) -> tuple[Claimed, ...]:
    checksums.check_body(body, _without_whole(headers))
    return inputs.completion(body)


def assemble(call: Call) -> Whole | None:
    """Read all parts for the hash of the file; of an upload that is complete there is nothing to read."""
    depot = gateway.gateway(call).depot

    def look(tx: Tx) -> tuple[Upload, list[Part]]:
        upload = _found(tx, call)
        return upload, uploads.parts(tx, upload)

    upload, parts = depot.store.read(look)
    if upload.completed_at is not None:
        return None
    _check_claimed(call.body, parts)
    return assembling.whole(depot, upload.id, call.caller, frozenset(part.number for part in call.body))


def complete(tx: Tx, call: Call) -> Plain:
    """Done twice, since the answer may have been lost, it is done once."""
    key, upload, etag = gateway.key_to_write(call), _found(tx, call), _etag(call.body)
    file = objects.current(tx, key)
    if upload.completed_at is not None and file is not None and file.etag == etag:
        return _completed(key, etag)
    if call.prepared is None:
        raise _missing(upload.id)
    conditions.check(call.headers, objects.lock(tx, key))
    file = uploads.complete(tx, upload.id, call.prepared, call.caller)
    objects.describe(tx, file, etag, upload.metadata)
    return _completed(key, etag)


def abort(tx: Tx, call: Call) -> None:
    uploads.abort(tx, _going_on(tx, call).id, call.caller)


def find_parts(tx: Tx, call: Call) -> Plain:
    query: PartsQuery = call.query
    upload, most = _going_on(tx, call), min(query.max_parts, MOST_SHOWN)
    found = uploads.parts(tx, upload, query.part_number_marker, most + 1)
    shown = [answers.Part(each.number, each.size_bytes, f'"{_known_by(each)}"', each.at) for each in found[:most]]
    page = Parts(
        Bucket.ARTIFACTS, call.path["key"], upload.id, query.part_number_marker, most, shown, len(found) > most
    )
    return gateway.xml(answers.parts(page))


def find(tx: Tx, call: Call) -> Plain:
    """The uploads into one artifact; those of one key are shown together, however many there are."""
    query: UploadsQuery = call.query
    bucket, most = gateway.bucket(call), min(query.max_uploads, MOST_SHOWN)
    head, slash, path = query.prefix.partition("/")
    if bucket is not Bucket.ARTIFACTS or not slash:
        raise Invalid(
            f"uploads are listed by artifact: let the prefix begin with its id and a slash, in {Bucket.ARTIFACTS}"
        )
    under_way = uploads.under_way(tx, head, call.caller, path)
    found = [
        answers.Upload(f"{head}/{each.path}", each.id, each.created_at)
        for each in under_way
        if each.manner is Manner.PARTS and each.path.startswith(path)
    ]
    after = query.key_marker, query.upload_id_marker
    left = sorted((each for each in found if _is_behind(each, after)), key=lambda each: (each.key, each.id))
    asked = Asked(
        bucket, query.prefix, query.delimiter, most, query.key_marker, query.upload_id_marker,
        gateway.is_encoded(query.encoding_type),
    )  # fmt: skip
    return gateway.xml(answers.uploads(asked, left[:most], left[most - 1] if 0 < most < len(left) else None))


def _is_behind(upload: answers.Upload, after: tuple[str, str]) -> bool:
    """Without an id, behind all uploads of the key."""
    key, id_ = after
    return upload.key > key or (upload.key == key and id_ != "" and upload.id > id_)


def _found(tx: Tx, call: Call) -> Upload:
    """The upload, if it is one of S3's, and of this key."""
    key, upload_id = gateway.key_to_write(call), call.query.upload_id
    upload = uploads.get(tx, upload_id, call.caller)
    if upload.manner is not Manner.PARTS or Key(upload.artifact_id, upload.path) != key:
        raise _missing(upload_id)
    return upload


def _going_on(tx: Tx, call: Call) -> Upload:
    upload = _found(tx, call)
    if upload.completed_at is not None:
        raise _missing(upload.id)
    return upload


def _missing(upload_id: str) -> NotFound:
    return NotFound(f"there is no upload {upload_id[:64]} under way to this key", Kind.UNKNOWN_UPLOAD)


def _known_by(part: Part) -> str:
    return part.md5 or part.sha256


def _check_claimed(claimed: Iterable[Claimed], parts: Sequence[Part]) -> None:
    """Refuse to put together other parts than the client thinks it has sent."""
    known = {part.number: _known_by(part) for part in parts}
    for each in claimed:
        if known.get(each.number) != each.etag:
            raise Invalid(
                f"part {each.number} has the ETag {known.get(each.number, 'of nothing: it is not here')},"
                f" not {each.etag[:64]}: send it again",
                Kind.UNKNOWN_PART,
            )


def _etag(claimed: Sequence[Claimed]) -> str:
    """As S3 makes it: the MD5 of the parts' MD5s, and how many there are."""
    hashes = [each.etag for each in claimed if _MD5.fullmatch(each.etag)]
    whole = hashlib.md5(bytes.fromhex("".join(hashes)), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(claimed)}"


def _completed(key: Key, etag: str) -> Plain:
    where = f"{PREFIX}/{Bucket.ARTIFACTS}/{quote(key.text)}"
    return gateway.xml(answers.completed(Bucket.ARTIFACTS, key.text, f'"{etag}"', where))


def _without_whole(headers: Headers) -> Headers:
    """A checksum that comes with the completion is that of the whole file, not that of the document."""
    return {name: value for name, value in headers.items() if not name.startswith(b"x-amz-checksum-")}


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", OBJECT, create, Need.CREATE, "CreateMultipartUpload into an open artifact",
        answer=None, mode="write", refusals=(403, 404), needs_protocol_headers=False, reads=gateway.ignore_body,
        chosen_by=("uploads",),
    ),
    Endpoint(
        "PUT", OBJECT, put_part, Need.CREATE, "UploadPart",
        answer=None, mode="write", query=PartQuery, refusals=(403, 404), needs_protocol_headers=False,
        takes=takes_part, chosen_by=("uploadId", "partNumber"),
    ),
    Endpoint(
        "POST", OBJECT, complete, Need.CREATE, "CompleteMultipartUpload",
        answer=None, mode="write", query=UploadQuery, refusals=(403, 404, 409, 412), needs_protocol_headers=False,
        reads=read_completion, prepare=assemble, chosen_by=("uploadId",),
    ),
    Endpoint(
        "DELETE", OBJECT, abort, Need.CREATE, "AbortMultipartUpload",
        answer=None, mode="write", query=UploadQuery, status=204, refusals=(403, 404), needs_protocol_headers=False,
        chosen_by=("uploadId",),
    ),
    Endpoint(
        "GET", OBJECT, find_parts, Need.READ, "ListParts",
        answer=None, query=PartsQuery, refusals=(403, 404), needs_protocol_headers=False, chosen_by=("uploadId",),
    ),
    Endpoint(
        "GET", BUCKET, find, Need.READ, "ListMultipartUploads of an artifact",
        answer=None, query=UploadsQuery, refusals=(403, 404), needs_protocol_headers=False, allows_slash=True,
        chosen_by=("uploads",),
    ),
)  # fmt: skip
