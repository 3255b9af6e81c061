"""One upload: looked at, continued, given up; the same for both protocols, each in its own words."""

from cableferry.core import uploads as rules
from cableferry.core.access import Need
from cableferry.core.artifacts import File
from cableferry.core.errors import Invalid, Kind
from cableferry.core.uploads import Manner, Upload
from cableferry.dialects import resumable
from cableferry.dialects.denials import WrongMethod
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Landing, Settling
from cableferry.dialects.resumable import Going
from cableferry.dialects.uploads import protocols
from cableferry.dialects.uploads.beginning import discover
from cableferry.dialects.uploads.protocols import Protocol, desk_of
from cableferry.engine import uploads
from cableferry.store.tx import Tx
from cableferry.wire import resumption as wire
from cableferry.wire import tus
from cableferry.wire.emx2 import artifacts as artifact_wire

_UPLOAD = wire.href("{upload_id}")
_OVERRIDE = b"x-http-method-override"
_OVERRIDDEN = {**protocols.PART_HEADERS, "X-HTTP-Method-Override": "PATCH or DELETE."}


def get(tx: Tx, call: Call) -> Answer:
    """Where to go on; clients ask for the headers alone."""
    protocol = protocols.spoken(call.headers)
    upload = uploads.get(tx, call.path["upload_id"], call.caller)
    if protocol is Protocol.DRAFT:
        return Answer(None, status=204, headers=resumable.state(upload) | desk_of(call).limits_of(upload, tx.now))
    return Answer(wire.item(upload), headers=protocols.state(upload))


def settles(call: Call) -> Settling:
    """Clients of the draft ask for the offset when they take their connection for broken; others may only look."""
    return Settling(call.path["upload_id"], protocols.spoken(call.headers) is Protocol.DRAFT)


def takes(tx: Tx, call: Call) -> Landing:
    """More bytes, from where the others end."""
    if protocols.written(call.headers) is Protocol.TUS:
        return _takes_tus(tx, call)
    return _takes_draft(tx, call)


def append(tx: Tx, call: Call) -> Answer:
    going: Going = call.prepared
    assert call.arrived is not None  # noqa: S101  # every body here is a stream
    taken = resumable.take(tx, call, desk_of(call), going, call.arrived)
    if going.ends is None:
        offset = {"Upload-Offset": str(taken.upload.received)}
        return Answer(None, headers=offset | resumable.expires(taken.upload))
    return _answer_to_draft(taken.upload, taken.file)


def delete(tx: Tx, call: Call) -> None:
    protocols.spoken(call.headers)
    uploads.abort(tx, call.path["upload_id"], call.caller)


def takes_overridden(tx: Tx, call: Call) -> Landing | None:
    """For clients behind something that lets no PATCH and no DELETE through."""
    match (resumable.text(call.headers, _OVERRIDE) or "").upper():
        case "PATCH":
            return takes(tx, call)
        case "DELETE":
            return None
        case _:
            raise WrongMethod(
                "POST is possible here with X-HTTP-Method-Override: PATCH or DELETE only", "GET, HEAD, PATCH, DELETE"
            )


def overridden(tx: Tx, call: Call) -> Answer | None:
    if call.arrived is not None:
        return append(tx, call)
    delete(tx, call)
    return None


def options(tx: Tx, call: Call) -> Answer:
    return discover(tx, call)


def _takes_tus(tx: Tx, call: Call) -> Landing:
    protocols.check_type(call.headers, tus.PART_TYPE)
    offset = _offset(call)
    upload = _stream(tx, call)
    rules.check_offset(upload, offset)
    rules.check_going_on(upload)
    length = resumable.integer(call.headers, "Upload-Length")
    return resumable.landing(desk_of(call), Going(upload, offset, length=length))


def _takes_draft(tx: Tx, call: Call) -> Landing:
    protocols.check_type(call.headers, wire.PART_TYPE)
    offset, ends = _offset(call), resumable.boolean(call.headers, "Upload-Complete")
    if ends is None:
        raise Invalid("Upload-Complete must say whether this is the end: ?0 or ?1", Kind.MISSING_HEADER)
    upload = _stream(tx, call)
    rules.check_going_on(upload)
    rules.check_offset(upload, offset)
    length = resumable.said_length(call.headers, offset, ends=ends)
    return resumable.landing(desk_of(call), Going(upload, offset, ends, length), {"Upload-Offset": str(offset)})


def _offset(call: Call) -> int:
    offset = resumable.integer(call.headers, "Upload-Offset")
    if offset is None:
        raise Invalid("Upload-Offset must say where these bytes begin", Kind.MISSING_HEADER, header="Upload-Offset")
    return offset


def _stream(tx: Tx, call: Call) -> Upload:
    """An upload whose bytes come one behind the other; another kind goes on by its own endpoints."""
    upload = uploads.get(tx, call.path["upload_id"], call.caller)
    if upload.manner is not Manner.STREAM:
        raise WrongMethod(f"nothing is appended to upload {upload.id}: it comes in another manner", "GET, HEAD, DELETE")
    return upload


def _answer_to_draft(upload: Upload, file: File | None) -> Answer:
    if file is None:
        return Answer(None, headers=resumable.state(upload))
    body = artifact_wire.uploaded(upload.artifact_id, file)
    location = {"Location": artifact_wire.file_href(upload.artifact_id, file.path)}
    return Answer(body, status=201, headers=resumable.state(upload) | location)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", _UPLOAD, get, Need.READ, "Say how far an upload has come",
        answer=wire.UploadItem, refusals=(404, 412), needs_protocol_headers=False, settles=settles,
        headers=protocols.HEADERS,
    ),
    Endpoint(
        "PATCH", _UPLOAD, append, Need.CREATE, "Go on with an upload",
        answer=None, mode="write", status=204, refusals=(404, 405, 409, 412, 415, 423, 460), takes=takes,
        needs_protocol_headers=False, headers=protocols.PART_HEADERS,
    ),
    Endpoint(
        "DELETE", _UPLOAD, delete, Need.CREATE, "Give an upload up",
        answer=None, mode="write", status=204, refusals=(404, 412), needs_protocol_headers=False,
        headers=protocols.HEADERS,
    ),
    Endpoint(
        "POST", _UPLOAD, overridden, Need.CREATE, "PATCH or DELETE, for clients that can only POST",
        answer=None, mode="write", status=204, refusals=(404, 405, 409, 412, 415, 423, 460), takes=takes_overridden,
        needs_protocol_headers=False, headers=_OVERRIDDEN,
    ),
    Endpoint(
        "OPTIONS", _UPLOAD, options, Need.NOTHING, "Say what uploads may do here",
        answer=None, mode="pure", status=204, needs_protocol_headers=False,
    ),
)  # fmt: skip
