"""Artifacts as our own pages show them: which jobs made or used one, and what those took."""

from collections.abc import Sequence

import msgspec

from cableferry.core.artifacts import Artifact
from cableferry.wire.emx2.words import STAGE_WORDS
from cableferry.wire.ui.jobs import JobRow


class ArtifactRow(msgspec.Struct, frozen=True):
    """What a line says of an artifact."""

    id: str
    name: str | None
    type: str
    status: str
    size_bytes: int | None


class UseItem(msgspec.Struct, frozen=True):
    """A job that has an artifact as its input, its output or its log; `inputs` are what a job took that made it."""

    used_as: str
    job: JobRow
    inputs: list[ArtifactRow]


class Provenance(msgspec.Struct, frozen=True):
    """The latest jobs around an artifact, the newest first; `is_cut` says that there are more."""

    items: Sequence[UseItem]
    count: int
    is_cut: bool


def row(value: Artifact) -> ArtifactRow:
    return ArtifactRow(value.id, value.name, value.type, STAGE_WORDS[value.stage], value.size_bytes)
