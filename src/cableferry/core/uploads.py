"""Files on their way that may be continued: what is known of one, and what may still come of it."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from cableferry.core.artifacts import Description, Role
from cableferry.core.errors import Conflict, Invalid, Kind

MOST_PARTS = 100_000
MOST_BYTES = 2**62


class Manner(StrEnum):
    """How the bytes come: one behind the other, as numbered parts in any order, or past us into the store."""

    STREAM = "stream"
    PARTS = "parts"
    DIRECT = "direct"


class Upload(msgspec.Struct, frozen=True, gc=False):
    """A file on its way. `sha256` is what its creator announced, `metadata` what a protocol keeps with it."""

    key: int
    id: str
    artifact_key: int
    artifact_id: str
    path: str
    manner: Manner
    role: Role | None
    content_type: str | None
    length: int | None
    received: int
    sha256: str | None
    metadata: str | None
    revision: int
    created_by: str | None
    created_at: datetime
    touched_at: datetime
    expires_at: datetime
    completed_at: datetime | None

    @property
    def said(self) -> Description:
        return Description(self.path, self.role, self.content_type)

    @property
    def lifetime(self) -> timedelta:
        """How long nothing may come before it is given up."""
        return self.expires_at - self.touched_at

    @property
    def is_full(self) -> bool:
        """Whether every byte is here."""
        return self.received == self.length


class Draft(msgspec.Struct, frozen=True):
    """An upload as its creator describes it; a length that is not known yet is None."""

    said: Description
    manner: Manner = Manner.STREAM
    length: int | None = None
    sha256: str | None = None
    metadata: str | None = None
    created_by: str | None = None


class Part(msgspec.Struct, frozen=True, gc=False):
    """Durable bytes of an upload. `sha256` is that of the part; in a stream, that of all bytes up to its end.

    `md5` is what clients of S3 know their parts by.
    """

    number: int
    place: str
    size_bytes: int
    sha256: str
    at: datetime
    md5: str | None = None


class Whole(msgspec.Struct, frozen=True):
    """What all bytes of an upload add up to, at one revision of it; of numbered parts, those that were chosen."""

    revision: int
    sha256: str
    size_bytes: int
    numbers: Collection[int] | None = None


def check_length(length: int) -> int:
    """Refuse a length that no file has."""
    if not 0 <= length <= MOST_BYTES:
        raise Invalid(f"the length of an upload must lie between 0 and {MOST_BYTES} bytes", Kind.BAD_HEADER)
    return length


def check_going_on(upload: Upload) -> None:
    """Refuse to change what is complete."""
    if upload.completed_at is not None:
        raise Invalid(f"upload {upload.id} is complete: its file is in the artifact", Kind.COMPLETED_UPLOAD)


def check_offset(upload: Upload, offset: int) -> None:
    """Refuse bytes that do not begin where those that are here end."""
    if offset != upload.received:
        raise Conflict(
            f"upload {upload.id} has {upload.received} bytes and these begin at {offset}: go on where it ends",
            Kind.MISMATCHING_OFFSET,
            **{"expected-offset": upload.received, "provided-offset": offset},
        )


def check_settles(upload: Upload, length: int) -> None:
    """Refuse another length than was said before, and one that is over already."""
    check_length(length)
    if (upload.length is not None and upload.length != length) or length < upload.received:
        known = upload.received if upload.length is None else upload.length
        raise Invalid(
            f"upload {upload.id} cannot have {length} bytes: {known} are said or here already", Kind.INCONSISTENT_LENGTH
        )


def check_room(upload: Upload, size_bytes: int) -> None:
    """Refuse more bytes than there are to come."""
    if upload.length is not None and upload.received + size_bytes > upload.length:
        raise Invalid(
            f"upload {upload.id} is to have {upload.length} bytes, and these would be more", Kind.INCONSISTENT_LENGTH
        )


def check_whole(upload: Upload, whole: Whole) -> None:
    """Refuse to call complete what is not, or what is something else than was said."""
    if upload.revision != whole.revision:
        raise Conflict(
            f"upload {upload.id} went on while it was put together: look at its offset and try again",
            Kind.CHANGED_MEANWHILE,
        )
    if upload.length not in (None, whole.size_bytes):
        raise Invalid(
            f"upload {upload.id} is to have {upload.length} bytes and has {whole.size_bytes}: send the rest first",
            Kind.INCONSISTENT_LENGTH,
        )
    if upload.sha256 not in (None, whole.sha256):
        raise Invalid(
            f"the file of upload {upload.id} has SHA-256 {whole.sha256}, not {upload.sha256} as announced:"
            " send it again in a new upload",
            Kind.BAD_DIGEST,
        )


def chosen(parts: Sequence[Part], numbers: Collection[int] | None) -> list[Part]:
    """The parts that the file is made of, in their order; every one of those that are named must be here."""
    if numbers is None:
        return list(parts)
    missing = sorted(set(numbers) - {part.number for part in parts})
    if missing:
        raise Invalid(f"part {missing[0]} is not here: send it, then complete the upload", Kind.UNKNOWN_PART)
    return [part for part in parts if part.number in numbers]
