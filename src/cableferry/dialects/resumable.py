"""Bytes that may be continued where they broke off: what every contract that takes them has in common."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from functools import partial

import msgspec

from cableferry.core import uploads as rules
from cableferry.core.artifacts import Description, File
from cableferry.core.errors import Invalid, Kind
from cableferry.core.uploads import Draft, Upload, Whole
from cableferry.dialects.denials import LargeUpload
from cableferry.dialects.endpoint import Arrived, Call, Headers, Landing
from cableferry.engine import uploads
from cableferry.engine.hashing import Hashes
from cableferry.engine.reading import Depot
from cableferry.store.tx import Tx
from cableferry.wire import resumption as wire

VERSION = b"upload-draft-interop-version"


class Resumption(msgspec.Struct, frozen=True):
    """What uploads that may be continued are configured with."""

    depot: Depot
    hashes: Hashes
    limit_bytes: int
    lifetime: timedelta
    part_bytes: int
    direct_seconds: int = 0
    is_direct: bool = False

    @property
    def limits(self) -> dict[str, str]:
        """What a client of the draft has to keep to."""
        return self._limits(self.lifetime)

    def limits_of(self, upload: Upload, now: datetime) -> dict[str, str]:
        """The same once the upload's time runs."""
        return self._limits(upload.expires_at - now)

    def _limits(self, left: timedelta) -> dict[str, str]:
        return {"Upload-Limit": f"max-size={self.limit_bytes}, max-age={int(left.total_seconds())}"}


class Going(msgspec.Struct, frozen=True):
    """An upload that bytes are coming to: from which offset on, and what is said of the whole by now.

    Whether their end is the end of the file, only the draft says; in tus it ends where its length is reached.
    """

    upload: Upload
    offset: int
    ends: bool | None = None
    length: int | None = None


class Taken(msgspec.Struct, frozen=True):
    """What became of bytes that came: the upload, and its file once it is complete."""

    upload: Upload
    file: File | None


def landing(desk: Resumption, going: Going, interim: Mapping[str, str] | None = None) -> Landing:
    """How to take what comes: up to the length that was said, and so that a break loses nothing."""
    upload, length = going.upload, going.length
    if length is not None:
        check_limit(desk, length)
        rules.check_settles(upload, length)
    most = next(known for known in (length, upload.length, desk.limit_bytes) if known is not None)
    return Landing(
        most_bytes=max(0, most - going.offset),
        prior=partial(desk.hashes.after, upload),
        keeps_partial=True,
        part_bytes=desk.part_bytes,
        carries=going,
        interim=interim,
        alone=upload.id,
        takes_over=going.ends is not None,
    )


def take(tx: Tx, call: Call, desk: Resumption, going: Going, arrived: Arrived) -> Taken:
    """Record what came; when it is the end of the file, the file is there with it."""
    stored, upload = arrived.stored, going.upload
    if going.length is not None and not arrived.before:
        uploads.settle_length(tx, upload.id, going.length, call.caller)
    if stored.place and arrived.hasher is not None:
        upload = uploads.append(tx, upload.id, going.offset + arrived.before, stored, call.caller)
        desk.hashes.learn(stored.place, arrived.hasher)
    else:
        upload = uploads.get(tx, upload.id, call.caller)
        rules.check_offset(upload, going.offset + arrived.before)
    ends = upload.is_full if going.ends is None else going.ends and arrived.is_whole
    # the last part may have ended the file just before the body came to its end
    if not ends or upload.completed_at is not None:
        return Taken(upload, None)
    whole = Whole(upload.revision, stored.sha256, upload.received)
    file = uploads.complete(tx, upload.id, whole, call.caller)
    return Taken(uploads.get(tx, upload.id, call.caller), file)


def create(tx: Tx, call: Call, desk: Resumption, draft: Draft) -> Upload:
    check_limit(desk, draft.length)
    return uploads.create(tx, call.path["artifact_id"], draft, call.caller, desk.lifetime)


def check_limit(desk: Resumption, length: int | None) -> None:
    if length is not None and length > desk.limit_bytes:
        raise LargeUpload(f"the file is larger than the {desk.limit_bytes} bytes that an upload may bring", desk.limits)


def wants_draft(headers: Headers) -> bool:
    """Whether a request speaks of resumable uploads as the draft has them; of half a file without a version, refuse."""
    version = text(headers, VERSION)
    if version is None:
        if b"upload-complete" in headers and boolean(headers, "Upload-Complete") is False:
            raise Invalid(
                f"Upload-Complete: ?0 needs Upload-Draft-Interop-Version: {wire.VERSIONS[0]}",
                Kind.MISSING_HEADER,
                header="Upload-Draft-Interop-Version",
            )
        return False
    if version not in wire.VERSIONS:
        raise Invalid(
            f"Upload-Draft-Interop-Version {version[:40]!r} is not supported: use {', '.join(wire.VERSIONS)}",
            Kind.UNSUPPORTED_VERSION,
        )
    return True


def begin(tx: Tx, call: Call, desk: Resumption, said: Description) -> Landing:
    """A request of the draft whose body is a file or its beginning."""
    ends = boolean(call.headers, "Upload-Complete") is True
    length = said_length(call.headers, 0, ends=ends)
    upload = create(tx, call, desk, Draft(said, length=length, sha256=sha256(call.headers)))
    interim = {"Location": wire.href(upload.id), **desk.limits}
    return landing(desk, Going(upload, 0, ends), interim)


def said_length(headers: Headers, offset: int, *, ends: bool) -> int | None:
    """How long the file will be, as the header says or as the end of this body tells; both must agree."""
    said, body = integer(headers, "Upload-Length"), integer(headers, "Content-Length")
    told = None if body is None or not ends else offset + body
    if said is not None and told is not None and said != told:
        raise Invalid(f"Upload-Length says {said} bytes, but the file ends with byte {told}", Kind.INCONSISTENT_LENGTH)
    return told if said is None else said


def state(upload: Upload) -> dict[str, str]:
    """What the draft tells of an upload in headers."""
    headers = {
        "Upload-Offset": str(upload.received),
        "Upload-Complete": "?0" if upload.completed_at is None else "?1",
        "Cache-Control": "no-store",
    }
    return headers | ({} if upload.length is None else {"Upload-Length": str(upload.length)})


def expires(upload: Upload) -> dict[str, str]:
    return {"Upload-Expires": format_datetime(upload.expires_at, usegmt=True)}


def sha256(headers: Headers) -> str | None:
    """The hash that the whole file is said to have."""
    for item in (text(headers, b"repr-digest") or "").split(","):
        name, _, value = item.strip().partition("=")
        if name == "sha-256":
            return wire.sha256("Repr-Digest", value)
    return None


def text(headers: Headers, name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def integer(headers: Headers, name: str) -> int | None:
    return wire.integer(name, text(headers, name.lower().encode()))


def boolean(headers: Headers, name: str) -> bool | None:
    return wire.boolean(name, text(headers, name.lower().encode()))
