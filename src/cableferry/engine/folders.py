"""Looking around in an artifact's files, folder by folder or by a part of their path."""

from collections.abc import Sequence

import msgspec

from cableferry.core.artifacts import File
from cableferry.engine import artifacts
from cableferry.store import folders as rows
from cableferry.store.folders import Folder
from cableferry.store.tx import Tx

MOST_FOLDERS = 2000


class Inside(msgspec.Struct, frozen=True):
    """A part of what is in a folder; more files follow the last one if `has_more`."""

    folders: Sequence[Folder]
    files: Sequence[File]
    has_more: bool


def inside(tx: Tx, artifact_id: str, folder: str, after: str, most: int) -> Inside:
    """What lies directly in a folder, or in none; its folders come with the first of its files."""
    key = artifacts.get(tx, artifact_id).key
    prefix = f"{folder}/" if folder else ""
    found = rows.inside(tx, key, prefix, after, most + 1)
    folders = [] if after else rows.folders(tx, key, prefix, MOST_FOLDERS)
    return Inside(folders, found[:most], len(found) > most)


def sought(tx: Tx, artifact_id: str, text: str, after: str, most: int) -> Inside:
    """The files whose path contains the text."""
    found = rows.sought(tx, artifacts.get(tx, artifact_id).key, text, after, most + 1)
    return Inside((), found[:most], len(found) > most)
