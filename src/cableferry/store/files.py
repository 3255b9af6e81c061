"""Rows of files and of the blobs behind them."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast

import msgspec

from cableferry.core.artifacts import Description, File, Role
from cableferry.core.paging import Page
from cableferry.store.tx import Row, Tx, micros, moment, statement

COLUMNS = "key, artifact_key, path, id, role, sha256, size_bytes, content_type, blob_key, seq, created_at"
_ROLES = {role.value: role for role in Role}
# behind every path that begins with a prefix: no path holds this character's successor in its place
END = "\U0010ffff"

# the next number of arrival: files of one artifact come one after the other, since each locks the artifact
_PUT = statement(
    "file_put",
    """INSERT INTO files (artifact_key, path, id, role, sha256, size_bytes, content_type, blob_key, seq, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (artifact_key, path) DO UPDATE SET role = excluded.role, sha256 = excluded.sha256,
    size_bytes = excluded.size_bytes, content_type = excluded.content_type, blob_key = excluded.blob_key,
    seq = excluded.seq, created_at = excluded.created_at RETURNING key, id""",
)
_GET = statement("file_by_path", f"SELECT {COLUMNS} FROM files WHERE artifact_key = ? AND path = ?")
_ALL = statement("files_of_artifact", f"SELECT {COLUMNS} FROM files WHERE artifact_key = ? ORDER BY path")
_PAGE = statement(
    "files_page",
    f"""SELECT {COLUMNS} FROM files WHERE artifact_key = ? AND path >= ? AND path < ? AND path > ?
    ORDER BY path LIMIT ? OFFSET ?""",
)
_COUNT = statement("files_count", "SELECT count(*) FROM files WHERE artifact_key = ? AND path >= ? AND path < ?")
_DELETE = statement("file_deleted", "DELETE FROM files WHERE key = ?")

# an insert that finds its hash there already locks that row, so no collection can take it meanwhile
_KEEP_BLOB = statement(
    "blob_kept",
    """INSERT INTO blobs (sha256, size_bytes, created_at) VALUES (?, ?, ?)
    ON CONFLICT (sha256) DO UPDATE SET sha256 = excluded.sha256 RETURNING key""",
)
_HAS_PIECES = statement("blob_has_pieces", "SELECT 1 FROM blob_pieces WHERE blob_key = ? LIMIT 1")
_ADD_PIECE = statement(
    "blob_piece_added", "INSERT INTO blob_pieces (blob_key, seq, place, size_bytes) VALUES (?, ?, ?, ?)"
)
_PIECES = statement("blob_pieces", "SELECT place, size_bytes FROM blob_pieces WHERE blob_key = ? ORDER BY seq")
_DEAD = statement("place_dead", "INSERT INTO dead_places (place, at) VALUES (?, ?) ON CONFLICT DO NOTHING")


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A run of bytes of a blob."""

    place: str
    size_bytes: int


class Blob(msgspec.Struct, frozen=True):
    """Bytes by their hash, and where they lie."""

    sha256: str
    size_bytes: int
    pieces: tuple[Piece, ...]


def hold_blob(tx: Tx, sha256: str, size_bytes: int) -> tuple[int, bool]:
    """The key of these bytes, kept from being collected, and whether their places are known already."""
    key = int(cast(Row, tx.one(_KEEP_BLOB, (sha256, size_bytes, micros(tx.now))))[0])
    return key, tx.one(_HAS_PIECES, (key,)) is not None


def keep_blob(tx: Tx, blob: Blob) -> int:
    """The key of these bytes; when they were there already, the new places are given up."""
    key, is_known = hold_blob(tx, blob.sha256, blob.size_bytes)
    if is_known:
        bury(tx, (piece.place for piece in blob.pieces))
    else:
        for seq, piece in enumerate(blob.pieces):
            tx.run(_ADD_PIECE, (key, seq, piece.place, piece.size_bytes))
    return key


def pieces(tx: Tx, blob_key: int) -> tuple[Piece, ...]:
    return tuple(Piece(place, size) for place, size in tx.all(_PIECES, (blob_key,)))


def bury(tx: Tx, places: Iterable[str]) -> None:
    """Note places that nothing refers to any more; the collection removes them once this is on disk."""
    for place in places:
        tx.run(_DEAD, (place, micros(tx.now)))


def put(tx: Tx, file: File) -> File:
    """Add the file, or replace the one of its path, which keeps its id."""
    row = cast(
        Row,
        tx.one(
            _PUT,
            (
                file.artifact_key, file.path, file.id, file.role and file.role.value, file.sha256, file.size_bytes,
                file.content_type, file.blob_key, file.seq, micros(file.created_at),
            ),
        ),
    )  # fmt: skip
    return msgspec.structs.replace(file, key=row[0], id=row[1])


def get(tx: Tx, artifact_key: int, path: str) -> File | None:
    row = tx.one(_GET, (artifact_key, path))
    return file_of(row) if row else None


def of_artifact(tx: Tx, artifact_key: int) -> list[File]:
    return [file_of(row) for row in tx.all(_ALL, (artifact_key,))]


def page(tx: Tx, artifact_key: int, prefix: str, page: Page) -> list[File]:
    """Files by path, those that begin with the prefix; behind `page.after`, when it is given."""
    params = (artifact_key, prefix, prefix + END, page.after or "", page.limit, page.offset)
    return [file_of(row) for row in tx.all(_PAGE, params)]


def count(tx: Tx, artifact_key: int, prefix: str = "") -> int:
    return int(cast(Row, tx.one(_COUNT, (artifact_key, prefix, prefix + END)))[0])


def delete(tx: Tx, file: File) -> int:
    return tx.run(_DELETE, (file.key,))


def new(artifact_key: int, id: str, said: Description, seq: int, now: datetime) -> File:
    """A file that no row knows yet."""
    return File(0, artifact_key, said.path, id, said.role, None, None, said.content_type, None, seq, now)


def file_of(row: Row) -> File:
    role = _ROLES[row[4]] if row[4] else None
    values = (*row[:4], role, *row[5:10], moment(row[10]))
    return File(*values)
