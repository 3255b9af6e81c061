"""An artifact's uploads: begun by clients of the tus protocol, listed for whoever wants to go on."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import media
from cableferry.core.access import Need
from cableferry.core.artifacts import Description
from cableferry.core.errors import Invalid, Kind
from cableferry.core.uploads import Draft
from cableferry.dialects import resumable
from cableferry.dialects.denials import TooLarge
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Headers, Landing
from cableferry.dialects.resumable import Going
from cableferry.dialects.uploads import protocols
from cableferry.dialects.uploads.protocols import Protocol, desk_of
from cableferry.engine import uploads
from cableferry.store.tx import Tx
from cableferry.wire import resumption as wire
from cableferry.wire import tus
from cableferry.wire.emx2 import artifacts as artifact_wire

HOME = wire.home("{artifact_id}")


class UploadsQuery(msgspec.Struct, frozen=True):
    """Uploads to a path or to those behind it."""

    path: Annotated[str, Meta(max_length=1024)] = ""


def takes(tx: Tx, call: Call) -> Landing:
    """A new upload; its first bytes may come along."""
    if protocols.written(call.headers) is not Protocol.TUS:
        raise Invalid(
            "this begins uploads of the tus protocol: with Upload-Complete, send the body to the file's own address",
            Kind.BAD_HEADER,
        )
    length = _length(call.headers)
    _check_body(call.headers, length)
    desk = desk_of(call)
    upload = resumable.create(tx, call, desk, _draft(call.headers, length))
    return resumable.landing(desk, Going(upload, 0))


def begin(tx: Tx, call: Call) -> Answer:
    going: Going = call.prepared
    assert call.arrived is not None  # noqa: S101  # every body here is a stream
    taken = resumable.take(tx, call, desk_of(call), going, call.arrived)
    headers = {"Location": wire.href(going.upload.id), "Upload-Offset": str(taken.upload.received)}
    return Answer(None, headers=headers | resumable.expires(taken.upload))


def find(tx: Tx, call: Call) -> wire.UploadList:
    query: UploadsQuery = call.query
    artifact_id = call.path["artifact_id"]
    found = uploads.under_way(tx, artifact_id, call.caller, query.path)
    return wire.listing(artifact_id, found, desk_of(call).is_direct)


def discover(tx: Tx, call: Call) -> Answer:
    return Answer(None, headers=protocols.discovered(desk_of(call)))


def limits(tx: Tx, call: Call) -> Answer:
    """What a client of the draft asks the file's own address."""
    return Answer(None, headers=protocols.discovered(desk_of(call)))


def _length(headers: Headers) -> int | None:
    """What is said of the length: a number, or that it comes later."""
    said = resumable.integer(headers, "Upload-Length")
    deferred = resumable.text(headers, b"upload-defer-length")
    if deferred not in (None, "1") or (said is None) == (deferred is None):
        raise Invalid("say Upload-Length, or Upload-Defer-Length: 1, and not both", Kind.BAD_HEADER)
    return said


def _check_body(headers: Headers, length: int | None) -> None:
    """Refuse a body that is no beginning of a file, before anything of it is kept."""
    size = resumable.integer(headers, "Content-Length") or 0
    if size or b"transfer-encoding" in headers:
        protocols.check_type(headers, tus.PART_TYPE)
    if length is not None and size > length:
        raise TooLarge(f"the body has {size} bytes, and the file is to have {length}")


def _draft(headers: Headers, length: int | None) -> Draft:
    """The file as the metadata describes it: its path and, if said, its role, its type and its hash."""
    said = resumable.text(headers, b"upload-metadata") or ""
    about = tus.metadata(said)
    path = about.get("path") or about.get("filename")
    if not path:
        raise Invalid("Upload-Metadata must name the file: path, or filename", Kind.BAD_PATH)
    content_type = tus.media_type(about.get("filetype") or about.get("content_type") or about.get("type") or None)
    described = Description(path, artifact_wire.role(about.get("role") or None), media.of_file(path, content_type))
    sha256 = wire.hexdigest("Upload-Metadata", about.get("sha256") or None)
    return Draft(described, length=length, sha256=sha256, metadata=said)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", HOME, begin, Need.CREATE, "Begin an upload that may be continued (tus)",
        answer=None, mode="write", status=201, refusals=(404, 409, 412, 415, 460), takes=takes,
        needs_protocol_headers=False, headers=protocols.BEGINNING_HEADERS,
    ),
    Endpoint(
        "GET", HOME, find, Need.READ, "List the uploads of an artifact that are under way",
        answer=wire.UploadList, query=UploadsQuery, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "OPTIONS", artifact_wire.file_href("{artifact_id}", "") + "{path:path}", limits, Need.NOTHING,
        "Say how a file that is put here may be continued", answer=None, mode="pure", status=204,
        needs_protocol_headers=False,
    ),
    Endpoint(
        "OPTIONS", HOME, discover, Need.NOTHING, "Say what uploads may do here",
        answer=None, mode="pure", status=204, needs_protocol_headers=False,
    ),
)  # fmt: skip
