"""The files of artifacts: bytes in and out, and the list of what is there."""

import re
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
import structlog
from msgspec import Meta
from msgspec.structs import replace

from cableferry.core import contents, media, paging
from cableferry.core.access import Need
from cableferry.core.artifacts import MOST_FILES, Declared, Description, File, Residence
from cableferry.core.errors import Invalid, Kind, NotFound, Refusal
from cableferry.core.paging import Page
from cableferry.dialects import resumable
from cableferry.dialects.denials import Damaged, PreconditionFailed
from cableferry.dialects.dispositions import attachment
from cableferry.dialects.emx2.artifacts import HOME
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Answer, Arrived, Call, Content, Endpoint, Landing
from cableferry.dialects.resumable import Going
from cableferry.engine import artifacts, files, verifying
from cableferry.engine.files import Stored
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import artifacts as wire
from cableferry.wire.emx2 import bodies
from cableferry.wire.resumption import href

log = structlog.get_logger()

_ESCAPED = re.compile(r"\\\\|%(22|0[AaDd])")
_LONGEST_TYPE = 255
_DIGESTS = (b"content-sha256", b"content-digest")


class FileQuery(msgspec.Struct, frozen=True):
    """What is said of a file that comes as plain bytes."""

    role: Annotated[str, Meta(max_length=40)] | None = None


class DownloadQuery(msgspec.Struct, frozen=True):
    """Whether the stored bytes are to be read and hashed before the first one is sent."""

    verify: Literal["0", "1"] = "0"


class FilesQuery(msgspec.Struct, frozen=True):
    """Files whose path begins with `prefix`, and which page of them; `after` is the last path of the page before."""

    prefix: Annotated[str, Meta(max_length=1024)] = ""
    after: Annotated[str, Meta(max_length=1024)] | None = None
    limit: int | None = None
    offset: int | None = None


def takes(tx: Tx, call: Call) -> Landing | None:
    """Bytes in a stream, unless the body is JSON that speaks of them."""
    if _is_metadata(call):
        return None
    files.check_takes(tx, call.path["artifact_id"], call.path["path"], call.caller)
    _check_expected(tx, call)
    form = _form(call)
    if form == "raw" and resumable.wants_draft(call.headers):
        said = Description(call.path["path"], wire.role(_asked_role(call)), _typed(call, call.path["path"]))
        return resumable.begin(tx, call, _contract(call).resumption, said)
    if form == "raw" and _contract(call).edition == "latest" and not any(name in call.headers for name in _DIGESTS):
        raise Invalid("Content-SHA256 header is required for binary uploads", Kind.MISSING_HEADER)
    return Landing(form=form)


def put(tx: Tx, call: Call) -> Answer:
    path = call.path["path"]
    _check_expected(tx, call)
    if call.arrived is None:
        return _declared(tx, call, path)
    if isinstance(call.prepared, Going):
        return _begun(tx, call, call.prepared, call.arrived)
    return _attached(tx, call, path, call.arrived)


def takes_form(tx: Tx, call: Call) -> Landing | None:
    """The older way: the path stands in the body, so only the artifact can be asked for."""
    if _is_metadata(call):
        return None
    files.check_open(tx, call.path["artifact_id"], call.caller)
    if _form(call) != "multipart":
        raise Invalid(
            "Content-Type must be application/json or multipart/form-data: use PUT .../files/{path} for plain bytes",
            Kind.BAD_HEADER,
        )
    return Landing(form="multipart")


def post(tx: Tx, call: Call) -> Answer:
    if call.arrived is None:
        return _declared(tx, call, _named(call.body.path))
    arrived = call.arrived
    return _attached(tx, call, _named(arrived.fields.get("path") or _unambiguous(arrived.file_name)), arrived)


def wants_verified(call: Call) -> bool:
    query: DownloadQuery = call.query
    return query.verify == "1"


def verified(call: Call) -> Refusal | None:
    """What speaks against a download; it waits for the transaction, which spends the nonce of this request."""
    try:
        finding = verifying.check_file(_contract(call).depot, call.path["artifact_id"], call.path["path"])
    except NotFound as refusal:
        return refusal
    if finding is None:
        return None
    log.error("stored bytes are damaged", artifact=call.path["artifact_id"], place=finding.place)
    return Damaged(f"the stored bytes are not what they were: {finding.found} instead of {finding.expected}")


def get(tx: Tx, call: Call) -> Content | Answer:
    if isinstance(call.prepared, Refusal):
        raise call.prepared
    stored = files.get(tx, call.path["artifact_id"], call.path["path"])
    if stored.file.is_stored:
        return _content(stored)
    if stored.artifact.residence is Residence.MANAGED or stored.artifact.content_url is None:
        raise files.no_content(stored.file, stored.artifact.id)
    return _elsewhere(stored)


def delete(tx: Tx, call: Call) -> None:
    files.remove(tx, call.path["artifact_id"], call.path["path"], call.caller)


def find(tx: Tx, call: Call) -> Answer:
    query: FilesQuery = call.query
    artifact_id, page = call.path["artifact_id"], _page(call)
    listing = files.find(tx, artifact_id, query.prefix, page)
    items = [wire.file_item(artifact_id, file) for file in listing.files]
    links = {"self": bodies.Link(f"{HOME}/{artifact_id}/files", "GET")}
    body = wire.FileList(items, len(items), listing.total, page.limit, page.offset, links)
    return Answer(body, headers={"X-Total-Count": str(listing.total)})


def _page(call: Call) -> Page:
    """A worker that asks for no page gets every file: daemons of the field know of no other page."""
    query: FilesQuery = call.query
    if query.limit is None and call.worker is not None:
        return Page(MOST_FILES, paging.page(None, query.offset).offset, query.after)
    return paging.page(query.limit, query.offset, query.after)


def _is_metadata(call: Call) -> bool:
    """JSON speaks of a file, unless the protocol's hash of binary bodies says that it is one, or how it goes on."""
    kind = call.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    is_told = b"content-sha256" in call.headers or b"upload-complete" in call.headers
    return kind == b"application/json" and not is_told


def _form(call: Call) -> Literal["raw", "multipart"]:
    kind = call.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    return "multipart" if kind == b"multipart/form-data" else "raw"


def _declared(tx: Tx, call: Call, path: str) -> Answer:
    body: wire.FileMetadataBody = call.body
    said = Description(path, wire.role(body.role), media.of_file(path, body.content_type))
    artifact_id = call.path["artifact_id"]
    return _brought(
        artifact_id, files.declare(tx, artifact_id, said, Declared(body.sha256, body.size_bytes), call.caller)
    )


def _attached(tx: Tx, call: Call, path: str, arrived: Arrived) -> Answer:
    stored, artifact_id = arrived.stored, call.path["artifact_id"]
    said = Description(
        path, wire.role(arrived.fields.get("role") or _asked_role(call)), media.of_file(path, _sent_as(call, arrived))
    )
    blob = Blob(stored.sha256, stored.size_bytes, (Piece(stored.place, stored.size_bytes),))
    return _brought(artifact_id, files.attach(tx, artifact_id, said, blob, call.caller))


def _begun(tx: Tx, call: Call, going: Going, arrived: Arrived) -> Answer:
    """The whole file, or the beginning of one that goes on at an address of its own."""
    desk = _contract(call).resumption
    taken = resumable.take(tx, call, desk, going, arrived)
    if taken.file is not None:
        answer = _brought(call.path["artifact_id"], taken.file)
        return replace(answer, headers={**answer.headers, **resumable.state(taken.upload)})
    headers = {"Location": href(taken.upload.id), **resumable.state(taken.upload), **desk.limits}
    return Answer(None, headers=headers)


def _typed(call: Call, path: str) -> str | None:
    value = call.headers.get(b"content-type")
    return media.of_file(path, None if value is None else value.decode("latin-1"))


def _asked_role(call: Call) -> str | None:
    return call.query.role if isinstance(call.query, FileQuery) else None


def _sent_as(call: Call, arrived: Arrived) -> str | None:
    """What the sender says the bytes are; of a form, what its field or its part says."""
    if _form(call) == "multipart":
        return _printable(arrived.fields.get("content_type") or arrived.content_type)
    value = call.headers.get(b"content-type")
    return None if value is None else value.decode("latin-1")


def _printable(content_type: str | None) -> str | None:
    if content_type is not None and not (content_type.isprintable() and len(content_type) <= _LONGEST_TYPE):
        raise Invalid(f"content_type must hold at most {_LONGEST_TYPE} printable characters")
    return content_type


def _brought(artifact_id: str, file: File) -> Answer:
    location = {"Location": wire.file_href(artifact_id, file.path)}
    return Answer(wire.uploaded(artifact_id, file), headers=location)


def _content(stored: Stored) -> Content:
    file = stored.file
    return Content(
        pieces=tuple((piece.place, piece.size_bytes) for piece in stored.pieces),
        size_bytes=file.size_bytes or 0,
        content_type=file.content_type or media.UNKNOWN,
        etag=f'"{file.sha256}"',
        modified_at=file.created_at,
        headers={"Content-Disposition": attachment(file.path), "X-Content-SHA256": file.sha256 or ""},
        sha256=file.sha256,
    )


def _elsewhere(stored: Stored) -> Answer:
    """Where to go for bytes that are not here; a client that cannot follow there reads the body."""
    artifact, file = stored.artifact, stored.file
    location = contents.location(artifact, file.path)
    body = wire.LocationBody(artifact.id, file.path, artifact.residence.value, location, file.sha256, file.size_bytes)
    known = {} if file.sha256 is None else {"X-Content-SHA256": file.sha256}
    headers = {"Location": quote(location, safe=":/?&=%~+,;@!$'()*[]#"), **known}
    return Answer(body, status=302, headers=headers)


def _check_expected(tx: Tx, call: Call) -> None:
    """A write may depend on what is there: `If-None-Match: *` on nothing, `If-Match` on one version."""
    wants_none, wanted = call.headers.get(b"if-none-match", b"").strip() == b"*", call.headers.get(b"if-match")
    if not wants_none and wanted is None:
        return
    artifacts.lock(tx, call.path["artifact_id"])
    found = _etag(tx, call)
    tags = {tag.strip().decode("latin-1") for tag in (wanted or b"").split(b",")}
    if (wants_none and found is not None) or (wanted is not None and found is None) or not (tags & {"", "*", found}):
        raise PreconditionFailed("another file is there than this request expects: look what it is first", etag=found)


def _etag(tx: Tx, call: Call) -> str | None:
    """The tag of what lies under the path, None when nothing does."""
    try:
        return f'"{files.get(tx, call.path["artifact_id"], call.path["path"]).file.sha256}"'
    except NotFound:
        return None


def _unambiguous(name: str | None) -> str | None:
    """Clients escape a quote, a backslash and a line's end in different ways, so nobody can say what was meant."""
    if name is not None and _ESCAPED.search(name):
        raise Invalid("the file's name in the form can be read in two ways: send it as the field path", Kind.BAD_PATH)
    return name


def _named(path: str | None) -> str:
    if not path:
        raise Invalid("the body must name the path of the file", Kind.BAD_PATH)
    return contents.check_path(path)


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


_FILE = f"{HOME}/{{artifact_id}}/files/{{path:path}}"
_FILES = f"{HOME}/{{artifact_id}}/files"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", _FILES, find, Need.READ, "List the files of an artifact",
        answer=wire.FileList, query=FilesQuery, refusals=(404,),
    ),
    Endpoint(
        "POST", _FILES, post, Need.CREATE, "Upload or declare a file whose path stands in the body",
        answer=wire.UploadedBody, mode="write", body=wire.FileMetadataBody, status=201, refusals=(404, 409),
        takes=takes_form,
    ),
    Endpoint(
        "PUT", _FILE, put, Need.CREATE, "Upload a file, or declare one that lies elsewhere",
        answer=wire.UploadedBody, mode="write", body=wire.FileMetadataBody, query=FileQuery, status=201,
        refusals=(404, 409, 412), takes=takes,
    ),
    Endpoint(
        "GET", _FILE, get, Need.READ, "Download a file, whole or in ranges",
        answer=None, query=DownloadQuery, refusals=(404,), prepare=verified, prepares=wants_verified, is_long=True,
    ),
    Endpoint(
        "DELETE", _FILE, delete, Need.CREATE, "Remove a file before the commit",
        answer=None, mode="write", status=204, refusals=(404, 409),
    ),
)  # fmt: skip
