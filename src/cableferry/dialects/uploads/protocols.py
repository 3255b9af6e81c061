"""Which of the two protocols a request speaks, and what the tus protocol demands of it."""

from collections.abc import Mapping
from enum import Enum, auto

from cableferry.core.errors import Kind
from cableferry.core.uploads import Upload
from cableferry.dialects import resumable
from cableferry.dialects.denials import TusVersion, UnsupportedType
from cableferry.dialects.endpoint import Call, Headers
from cableferry.dialects.resumable import Resumption
from cableferry.wire import resumption, tus

HEADERS = {
    "Tus-Resumable": f"{tus.VERSION}, of whoever speaks tus.",
    "Upload-Draft-Interop-Version": f"{resumption.VERSIONS[0]}, of whoever speaks the draft.",
}
PART_HEADERS = {
    **HEADERS,
    "Upload-Offset": "Where in the file the body begins.",
    "Upload-Length": "How long the file will be, if that was not said before.",
    "Upload-Complete": "Of the draft: ?1 if the body ends the file, ?0 if more will come.",
    "Upload-Checksum": "Of tus: sha1, md5 or sha256, and the digest of the body in base64.",
}
BEGINNING_HEADERS = {
    "Tus-Resumable": tus.VERSION,
    "Upload-Length": "How long the file will be.",
    "Upload-Defer-Length": "1, if that will be said later.",
    "Upload-Metadata": "Pairs of a name and base64: path, and perhaps role, filetype and sha256.",
    "Upload-Checksum": PART_HEADERS["Upload-Checksum"],
}
EXTENSIONS = ",".join(tus.EXTENSIONS)


class Protocol(Enum):
    """NEITHER may look, but not write."""

    TUS = auto()
    DRAFT = auto()
    NEITHER = auto()


def spoken(headers: Headers) -> Protocol:
    version = resumable.text(headers, b"tus-resumable")
    if version is not None:
        if version != tus.VERSION:
            raise TusVersion(f"Tus-Resumable {version[:40]!r} is not supported: use {tus.VERSION}", tus.VERSION)
        return Protocol.TUS
    return Protocol.DRAFT if resumable.wants_draft(headers) else Protocol.NEITHER


def written(headers: Headers) -> Protocol:
    """The same of a request that changes something, which has to say what it speaks."""
    protocol = spoken(headers)
    if protocol is Protocol.NEITHER:
        raise TusVersion(
            f"say what you speak: Tus-Resumable: {tus.VERSION}, or Upload-Draft-Interop-Version:"
            f" {resumption.VERSIONS[0]}",
            tus.VERSION,
            Kind.MISSING_HEADER,
        )
    return protocol


def check_type(headers: Headers, wanted: str) -> None:
    found = (resumable.text(headers, b"content-type") or "").partition(";")[0].strip().lower()
    if found != wanted:
        raise UnsupportedType(f"Content-Type must be {wanted}, not {found[:80] or 'nothing'}")


def discovered(desk: Resumption) -> Mapping[str, str]:
    """What whoever asks for options learns, of either protocol."""
    return {
        "Tus-Version": tus.VERSION,
        "Tus-Extension": EXTENSIONS,
        "Tus-Checksum-Algorithm": ",".join(tus.CHECKSUMS),
        "Tus-Max-Size": str(desk.limit_bytes),
        "Accept-Patch": f"{resumption.PART_TYPE}, {tus.PART_TYPE}",
        "Upload-Draft-Interop-Version": resumption.VERSIONS[0],
        **desk.limits,
    }


def state(upload: Upload) -> dict[str, str]:
    """What the tus protocol tells of an upload in headers."""
    length = {"Upload-Defer-Length": "1"} if upload.length is None else {"Upload-Length": str(upload.length)}
    metadata = {"Upload-Metadata": upload.metadata} if upload.metadata else {}
    offset = {"Upload-Offset": str(upload.received), "Cache-Control": "no-store"}
    return offset | length | metadata | resumable.expires(upload)


def desk_of(call: Call) -> Resumption:
    desk: Resumption = call.service
    return desk
