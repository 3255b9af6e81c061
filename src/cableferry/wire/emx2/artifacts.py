"""Artifacts and their files as the EMX2 protocol shows them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta

from cableferry.core.artifacts import Artifact, File, Residence, Role, is_id
from cableferry.core.errors import Invalid
from cableferry.wire import texts
from cableferry.wire.emx2 import PREFIX, inputs
from cableferry.wire.emx2.bodies import Link, Links, Name
from cableferry.wire.emx2.words import ARTIFACT_LINKS, STAGE_WORDS

Metadata = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
Url = Annotated[str, Meta(min_length=1, max_length=4096, pattern=texts.NAME)]
# clients of the field declare what is no hash of ours for what the server does not keep
Hash = Annotated[str, Meta(min_length=1, max_length=128, pattern=texts.NAME)]
Size = Annotated[int, Meta(ge=0, le=2**53)]

_TARGETS = {
    "upload": ("/files/{path}", "PUT"),
    "upload_legacy": ("/files", "POST"),
    "commit": ("/commit", "POST"),
    "download": ("/files/{path}", "GET"),
    "files": ("/files", "GET"),
}


def _null() -> msgspec.Raw:
    return msgspec.Raw(b"null")


class CreateArtifactBody(msgspec.Struct, frozen=True):
    type: Name = "blob"
    format: Name | None = None
    residence: Literal["managed", "posix", "s3", "http", "reference"] = "managed"
    name: Name | None = None
    metadata: Metadata = msgspec.field(default_factory=_null)
    content_url: Url | None = None


class CommitBody(msgspec.Struct, frozen=True):
    sha256: Hash | None = None
    size_bytes: Size | None = None


class FileMetadataBody(msgspec.Struct, frozen=True):
    """A file whose bytes are not sent; in the older form the body names the path."""

    path: Annotated[str, Meta(max_length=1024)] | None = None
    sha256: Hash | None = None
    size_bytes: Size | None = None
    content_type: Name | None = None
    role: Literal["primary", "index", "metadata", "ancillary"] | None = None


class ArtifactBody(msgspec.Struct, frozen=True):
    id: str
    type: str
    format: str | None
    residence: str
    name: str | None
    status: str
    metadata: msgspec.Raw
    content_url: str | None
    sha256: str | None
    declared_sha256: str | None
    size_bytes: int | None
    schema: msgspec.Raw | None
    schema_error: str | None
    detail: str | None
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    committed_at: datetime | None
    links: Links = msgspec.field(name="_links")


class ArtifactList(msgspec.Struct, frozen=True):
    items: list[ArtifactBody]
    count: int
    total_count: int
    limit: int
    offset: int
    links: Links = msgspec.field(name="_links")


class UploadedBody(msgspec.Struct, frozen=True):
    """What the server now has under a path."""

    id: str
    artifact_id: str
    path: str
    sha256: str | None
    size_bytes: int | None
    role: str | None
    content_type: str | None


class FileItem(msgspec.Struct, frozen=True):
    id: str
    path: str
    role: str | None
    sha256: str | None
    size_bytes: int | None
    content_type: str | None
    is_stored: bool
    created_at: datetime
    links: Links = msgspec.field(name="_links")


class FileList(msgspec.Struct, frozen=True):
    items: list[FileItem]
    count: int
    total_count: int
    limit: int
    offset: int
    links: Links = msgspec.field(name="_links")


class LocationBody(msgspec.Struct, frozen=True):
    """Where a file is that the server does not keep."""

    artifact_id: str
    path: str
    residence: str
    location: str
    sha256: str | None
    size_bytes: int | None


class VerifyBody(msgspec.Struct, frozen=True):
    """Behind which path to go on, as the answer before said."""

    after: Annotated[str, Meta(max_length=1024)] = ""


class FindingBody(msgspec.Struct, frozen=True):
    """A file that is not what it should be; without a path it is about the artifact as a whole."""

    artifact_id: str
    path: str | None
    problem: Literal["damaged", "missing", "unreachable"]
    place: str | None
    expected: str
    found: str


class VerifiedBody(msgspec.Struct, frozen=True):
    """What was looked at of an artifact; with `after`, ask again to see the rest."""

    artifact_id: str
    files: int
    bytes: int
    unseen: int
    findings: list[FindingBody]
    after: str | None


class CollectBody(msgspec.Struct, frozen=True):
    dry_run: bool = False


class DueItem(msgspec.Struct, frozen=True):
    id: str
    name: str | None
    type: str
    size_bytes: int | None
    becomes: Literal["failed", "deleted"]
    reason: str


class OrphanItem(msgspec.Struct, frozen=True):
    place: str
    size_bytes: int
    modified_at: datetime


class CollectionBody(msgspec.Struct, frozen=True):
    """What a collection did, or would do; the lists name the first thousand of what is counted."""

    dry_run: bool
    failed: int
    deleted: int
    artifacts: list[DueItem]
    blobs: int
    blob_bytes: int
    places_removed: int
    places_waiting: int
    orphans: int
    orphan_bytes: int
    orphaned: list[OrphanItem]


class TypeItem(msgspec.Struct, frozen=True):
    name: str
    description: str


class FormatItem(msgspec.Struct, frozen=True):
    name: str
    media_type: str


class Registries(msgspec.Struct, frozen=True):
    """The types and formats that this server knows; others are taken too."""

    types: list[TypeItem]
    formats: list[FormatItem]


def residence(word: str) -> Residence:
    try:
        return Residence(word.lower())
    except ValueError:
        raise Invalid(f"unknown residence {word[:40]!r}: use one of {', '.join(Residence)}") from None


def role(word: str | None) -> Role | None:
    try:
        return None if word is None else Role(word.lower())
    except ValueError:
        raise Invalid(f"unknown role {word!r:.40}: use one of {', '.join(Role)}") from None


def metadata(raw: msgspec.Raw) -> tuple[msgspec.Raw, str | None]:
    """What is stored of an artifact's metadata, and the job that it names."""
    if bytes(raw) in (b"", b"null"):
        return inputs.NULL, None
    value = inputs.decode(bytes(raw), "metadata")
    inputs.check_depth(value, "metadata")
    if not isinstance(value, dict):
        raise Invalid("metadata must be an object or null")
    job = value.get("job_id")
    return raw, job if isinstance(job, str) and 0 < len(job) <= 255 else None


def artifact(value: Artifact, edition: str) -> ArtifactBody:
    """An artifact as the protocol shows it; the editions differ in one link."""
    return ArtifactBody(
        id=value.id, type=value.type, format=value.format, residence=value.residence.value, name=value.name,
        status=STAGE_WORDS[value.stage], metadata=value.metadata, content_url=value.content_url, sha256=value.sha256,
        declared_sha256=value.declared_sha256, size_bytes=value.size_bytes, schema=value.table_schema,
        schema_error=value.schema_error, detail=value.detail, created_by=value.created_by,
        created_at=value.created_at, updated_at=value.touched_at, committed_at=value.committed_at,
        links=artifact_links(value, edition),
    )  # fmt: skip


def artifact_links(value: Artifact, edition: str) -> Links:
    """What a client may do next; exactly the protocol's table."""
    href = f"{PREFIX}/artifacts/{value.id}"
    names = [name for name in ARTIFACT_LINKS[value.stage] if name != "upload_legacy" or edition == "seed"]
    links = {"self": Link(href, "GET")}
    return links | {name: Link(href + _TARGETS[name][0], _TARGETS[name][1]) for name in names}


def uploaded(artifact_id: str, value: File) -> UploadedBody:
    role = None if value.role is None else value.role.value
    return UploadedBody(value.id, artifact_id, value.path, value.sha256, value.size_bytes, role, value.content_type)


def file_item(artifact_id: str, value: File) -> FileItem:
    role = None if value.role is None else value.role.value
    links = {"content": Link(file_href(artifact_id, value.path), "GET")}
    return FileItem(
        value.id, value.path, role, value.sha256, value.size_bytes, value.content_type, value.is_stored,
        value.created_at, links,
    )  # fmt: skip


def file_href(artifact_id: str, path: str) -> str:
    return f"{PREFIX}/artifacts/{artifact_id}/files/{quote(path, safe='/~')}"


def references(raw: msgspec.Raw) -> tuple[str, ...]:
    """The artifacts that a job's inputs name, in any of the shapes that clients send."""
    if bytes(raw) in (b"", b"null"):
        return ()
    named = _named(inputs.decode(bytes(raw), "inputs"))
    return tuple(dict.fromkeys(name.lower() for name in named if is_id(name)))


def _named(value: object) -> Sequence[str]:
    """Texts that stand where an artifact's id may stand; an object with `artifact_id` says just that one."""
    match value:
        case str():
            return [value]
        case {"artifact_id": inner}:
            return _named(inner)
        case list() | dict():
            inner = value.values() if isinstance(value, dict) else value
            return [name for each in inner for name in _named(each)]
        case _:
            return []
