"""Bytes that clients exchange with object storage itself, by addresses that expire, where the settings allow it."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta

from cableferry.core import media
from cableferry.core.access import Need
from cableferry.core.artifacts import Description
from cableferry.core.errors import Refusal
from cableferry.core.uploads import Draft
from cableferry.dialects import resumable
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.uploads.protocols import desk_of
from cableferry.engine import direct, files
from cableferry.engine.direct import Address, Gathered
from cableferry.store.files import Piece
from cableferry.store.tx import Tx
from cableferry.wire import resumption as wire
from cableferry.wire import texts
from cableferry.wire.emx2 import PREFIX
from cableferry.wire.emx2 import artifacts as artifact_wire
from cableferry.wire.emx2.artifacts import Size
from cableferry.wire.emx2.bodies import Link, Links, Name

_DIRECT = f"{PREFIX}/artifacts/{{artifact_id}}/direct"
_UPLOAD = wire.href("{upload_id}")
_HASH = Annotated[str, Meta(pattern=texts.SHA256)]


class DirectBody(msgspec.Struct, frozen=True):
    """A file that its sender is going to put into object storage, in parts of `part_bytes`."""

    path: Annotated[str, Meta(min_length=1, max_length=1024)]
    size_bytes: Size
    sha256: _HASH | None = None
    content_type: Name | None = None
    role: Literal["primary", "index", "metadata", "ancillary"] | None = None
    part_bytes: Annotated[int, Meta(ge=1024 * 1024, le=direct.MOST_PART_BYTES)] = direct.PART_BYTES


class AddressesBody(msgspec.Struct, frozen=True):
    """Where each part goes to or comes from, until when; `upload_id` names what is to be completed."""

    artifact_id: str
    path: str
    method: str
    size_bytes: int
    parts: list[Address]
    expires_at: datetime
    upload_id: str | None = None
    sha256: str | None = None
    links: Links = msgspec.field(name="_links", default_factory=dict)


class _Plan(msgspec.Struct, frozen=True):
    pieces: list[Piece]
    addresses: list[Address]


def plan(call: Call) -> _Plan | Refusal:
    body: DirectBody = call.body
    desk = desk_of(call)
    try:
        resumable.check_limit(desk, body.size_bytes)
        pieces = direct.planned(desk.depot, body.size_bytes, body.part_bytes)
        return _Plan(pieces, direct.addresses(desk.depot, pieces, desk.direct_seconds, "PUT"))
    except Refusal as refusal:
        return refusal


def begin(tx: Tx, call: Call) -> Answer:
    body: DirectBody = call.body
    _check(call)
    planned: _Plan = call.prepared
    desk = desk_of(call)
    said = Description(body.path, artifact_wire.role(body.role), media.of_file(body.path, body.content_type))
    draft = Draft(said, length=body.size_bytes, sha256=None if body.sha256 is None else body.sha256.lower())
    upload = direct.begin(tx, call.path["artifact_id"], draft, call.caller, (desk.lifetime, planned.pieces))
    shown = _to_fill(upload.artifact_id, upload.path, planned.addresses, _expiry(tx, call))
    return Answer(_of_upload(shown, upload.id), headers={"Location": wire.href(upload.id)})


def look(call: Call) -> "AddressesBody | Refusal":
    """The same addresses made anew: those of a large file may expire before all of it is there."""
    desk = desk_of(call)
    try:
        upload, pieces = direct.expected(desk.depot, call.path["upload_id"], call.caller)
        addresses = direct.addresses(desk.depot, pieces, desk.direct_seconds, "PUT")
    except Refusal as refusal:
        return refusal
    return _of_upload(_to_fill(upload.artifact_id, upload.path, addresses, upload.expires_at), upload.id)


def renew(tx: Tx, call: Call) -> AddressesBody:
    _check(call)
    shown: AddressesBody = call.prepared
    return msgspec.structs.replace(shown, expires_at=_expiry(tx, call))


def gather(call: Call) -> Gathered | Refusal:
    """A refusal waits for the transaction, which spends the nonce of this request."""
    try:
        return direct.gather(desk_of(call).depot, call.path["upload_id"], call.caller)
    except Refusal as refusal:
        return refusal


def complete(tx: Tx, call: Call) -> Answer:
    _check(call)
    gathered: Gathered = call.prepared
    upload_id = call.path["upload_id"]
    file = direct.complete(tx, upload_id, gathered, call.caller)
    artifact_id = direct.artifact_of(tx, upload_id, call.caller)
    location = {"Location": artifact_wire.file_href(artifact_id, file.path)}
    return Answer(artifact_wire.uploaded(artifact_id, file), headers=location)


def locate(call: Call) -> "AddressesBody | Refusal":
    desk, artifact_id, path = desk_of(call), call.path["artifact_id"], call.path["path"]
    try:
        stored = desk.depot.store.read(lambda tx: files.get(tx, artifact_id, path))
        if not stored.file.is_stored:
            raise files.no_content(stored.file, artifact_id)
        addresses = direct.addresses(desk.depot, stored.pieces, desk.direct_seconds, "GET")
    except Refusal as refusal:
        return refusal
    shown = AddressesBody(artifact_id, path, "GET", stored.file.size_bytes or 0, addresses, stored.file.created_at)
    return msgspec.structs.replace(shown, sha256=stored.file.sha256)


def fetch(tx: Tx, call: Call) -> Answer:
    """A file in one place is a redirect; of one in several, the body tells all."""
    _check(call)
    shown: AddressesBody = call.prepared
    shown = msgspec.structs.replace(shown, expires_at=_expiry(tx, call))
    if len(shown.parts) != 1:
        return Answer(shown, status=200)
    return Answer(shown, headers={"Location": quote(shown.parts[0].url, safe=":/?&=%~+,;@!$'()*[]#")})


def _to_fill(artifact_id: str, path: str, addresses: list[Address], expires_at: datetime) -> AddressesBody:
    return AddressesBody(artifact_id, path, "PUT", sum(each.size_bytes for each in addresses), addresses, expires_at)


def _of_upload(shown: AddressesBody, upload_id: str) -> AddressesBody:
    href = wire.href(upload_id)
    links = {"self": Link(f"{href}/direct", "GET"), "complete": Link(f"{href}/complete", "POST")}
    return msgspec.structs.replace(shown, upload_id=upload_id, links=links)


def _expiry(tx: Tx, call: Call) -> datetime:
    return tx.now + timedelta(seconds=desk_of(call).direct_seconds)


def _check(call: Call) -> None:
    """What was refused before the transaction is told in it."""
    if isinstance(call.prepared, Refusal):
        raise call.prepared


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", _DIRECT, begin, Need.CREATE, "Ask where in object storage a file may be put",
        answer=AddressesBody, mode="write", body=DirectBody, status=201, refusals=(404, 409), prepare=plan,
        needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{_UPLOAD}/direct", renew, Need.READ, "Ask again, when the addresses expire too soon",
        answer=AddressesBody, refusals=(404, 409), prepare=look, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_UPLOAD}/complete", complete, Need.CREATE, "Attach what was put there, once it is measured",
        answer=artifact_wire.UploadedBody, mode="write", status=201, refusals=(404, 409), prepare=gather,
        needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{_DIRECT}/{{path:path}}", fetch, Need.READ, "Ask where in object storage a file may be fetched",
        answer=AddressesBody, status=302, refusals=(404, 409), prepare=locate, needs_protocol_headers=False,
    ),
)  # fmt: skip
