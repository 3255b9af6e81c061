"""Artifacts as our own pages show them: what is in their folders, which jobs made or took one, and what those took."""

from collections.abc import Sequence

import msgspec

from cableferry.core.artifacts import Artifact, File
from cableferry.wire.emx2.words import STAGE_WORDS
from cableferry.wire.ui.jobs import JobRow


class ArtifactRow(msgspec.Struct, frozen=True):
    """What a line says of an artifact."""

    id: str
    name: str | None
    type: str
    status: str
    size_bytes: int | None


class TieItem(msgspec.Struct, frozen=True):
    """A job that has an artifact as its input, its output or its log."""

    artifact_id: str
    job_id: str
    used_as: str


class Provenance(msgspec.Struct, frozen=True):
    """The jobs around an artifact and the artifacts around those; `is_cut` says that there is more than is told."""

    artifacts: Sequence[ArtifactRow]
    jobs: Sequence[JobRow]
    ties: Sequence[TieItem]
    is_cut: bool


class FolderItem(msgspec.Struct, frozen=True):
    """A folder by its whole path, and what is below it, at any depth."""

    path: str
    files: int
    size_bytes: int


class TreeFile(msgspec.Struct, frozen=True):
    """A file of an artifact; without bytes here it was only declared."""

    path: str
    role: str | None
    sha256: str | None
    size_bytes: int | None
    content_type: str | None
    is_stored: bool


class Tree(msgspec.Struct, frozen=True):
    """What lies directly in a folder, or files that were sought; `after` leads to the files behind these, if any."""

    folders: Sequence[FolderItem]
    files: Sequence[TreeFile]
    after: str | None


def file(value: File) -> TreeFile:
    role = value.role and value.role.value
    return TreeFile(value.path, role, value.sha256, value.size_bytes, value.content_type, value.is_stored)


def row(value: Artifact) -> ArtifactRow:
    return ArtifactRow(value.id, value.name, value.type, STAGE_WORDS[value.stage], value.size_bytes)
