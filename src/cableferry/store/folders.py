"""The files of an artifact as folders: what lies directly in one, and how much is below each folder in it."""

from collections.abc import Sequence

import msgspec

from cableferry.core.artifacts import File
from cableferry.store import files
from cableferry.store.files import END
from cableferry.store.tx import Tx, statement

_BELOW = "SELECT path, size_bytes, substr(path, ?) AS rest FROM files WHERE artifact_key = ? AND path >= ? AND path < ?"
_FOLDERS = statement(
    "folders_of_artifact",
    sqlite=f"""SELECT substr(rest, 1, instr(rest, '/') - 1) AS name, count(*), coalesce(sum(size_bytes), 0)
    FROM ({_BELOW}) AS below WHERE instr(rest, '/') > 0 GROUP BY name ORDER BY name LIMIT ?""",
    postgres=f"""SELECT substr(rest, 1, strpos(rest, '/') - 1) AS name, count(*), coalesce(sum(size_bytes), 0)::bigint
    FROM ({_BELOW}) AS below WHERE strpos(rest, '/') > 0 GROUP BY name ORDER BY name LIMIT ?""",
)
_IN_FOLDER = f"""SELECT {files.COLUMNS} FROM files WHERE artifact_key = ? AND path > ? AND path >= ? AND path < ?
    AND %s = 0 ORDER BY path LIMIT ?"""
_FILES = statement(
    "files_in_folder",
    sqlite=_IN_FOLDER % "instr(substr(path, ?), '/')",
    postgres=_IN_FOLDER % "strpos(substr(path, ?), '/')",
)
_SOUGHT = statement(
    "files_sought",
    f"""SELECT {files.COLUMNS} FROM files WHERE artifact_key = ? AND path > ? AND lower(path) LIKE ? ESCAPE '!'
    ORDER BY path LIMIT ?""",
)


class Folder(msgspec.Struct, frozen=True):
    """A folder by its whole path, and what is below it, at any depth."""

    path: str
    files: int
    size_bytes: int


def folders(tx: Tx, artifact_key: int, prefix: str, most: int) -> list[Folder]:
    """The folders directly below a prefix, which is empty or ends in a slash."""
    rows = tx.all(_FOLDERS, (len(prefix) + 1, artifact_key, prefix, prefix + END, most))
    return [Folder(prefix + name, count, size) for name, count, size in rows]


def inside(tx: Tx, artifact_key: int, prefix: str, after: str, most: int) -> Sequence[File]:
    """The files directly below a prefix, behind a path."""
    rows = tx.all(_FILES, (artifact_key, after, prefix, prefix + END, len(prefix) + 1, most))
    return [files.file_of(row) for row in rows]


def sought(tx: Tx, artifact_key: int, text: str, after: str, most: int) -> Sequence[File]:
    """The files whose path contains a text, whatever its case, behind a path."""
    escaped = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    rows = tx.all(_SOUGHT, (artifact_key, after, f"%{escaped}%", most))
    return [files.file_of(row) for row in rows]
