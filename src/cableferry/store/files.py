"""Rows of files and of the blobs behind them."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import cast

import msgspec

from cableferry.core.artifacts import Description, File, Role
from cableferry.core.paging import Page
from cableferry.store.failures import Unavailable
from cableferry.store.tx import Row, Tx, micros, moment, statement

COLUMNS = """key, artifact_key, path, id, role, sha256, size_bytes, content_type, blob_key, seq, created_at,
    etag, headers"""
_ROLES = {role.value: role for role in Role}
# behind every path that begins with a prefix: no path holds this character's successor in its place
END = "\U0010ffff"
_KEYS = "(SELECT value FROM json_each(?))"
_PG_KEYS = "(SELECT json_array_elements_text(?::json)::bigint)"

# the next number of arrival: files of one artifact come one after the other, since each locks the artifact
_PUT = statement(
    "file_put",
    """INSERT INTO files
    (artifact_key, path, id, role, sha256, size_bytes, content_type, blob_key, seq, created_at, etag, headers)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (artifact_key, path) DO UPDATE SET role = excluded.role, sha256 = excluded.sha256,
    size_bytes = excluded.size_bytes, content_type = excluded.content_type, blob_key = excluded.blob_key,
    seq = excluded.seq, created_at = excluded.created_at, etag = excluded.etag, headers = excluded.headers
    RETURNING key, id""",
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
    ON CONFLICT (sha256) DO UPDATE SET sha256 = excluded.sha256 RETURNING key, damaged_at""",
)
_DROP_PIECES = statement("blob_pieces_dropped", "DELETE FROM blob_pieces WHERE blob_key = ?")
_IS_WHOLE = statement("blob_whole_again", "UPDATE blobs SET damaged_at = NULL WHERE key = ?")
# of the bytes that were looked at, and of none that have come in their place
_IS_DAMAGED = statement(
    "blob_damaged",
    """UPDATE blobs SET damaged_at = ? WHERE key = ?
    AND EXISTS (SELECT 1 FROM blob_pieces p WHERE p.blob_key = blobs.key AND p.place = ?)""",
)
_ADD_PIECE = statement(
    "blob_piece_added", "INSERT INTO blob_pieces (blob_key, seq, place, size_bytes) VALUES (?, ?, ?, ?)"
)
_PIECES = statement("blob_pieces", "SELECT place, size_bytes FROM blob_pieces WHERE blob_key = ? ORDER BY seq")
_PIECES_OF_MANY = statement(
    "pieces_of_blobs",
    sqlite=f"SELECT blob_key, place, size_bytes FROM blob_pieces WHERE blob_key IN {_KEYS} ORDER BY blob_key, seq",
    postgres=f"SELECT blob_key, place, size_bytes FROM blob_pieces WHERE blob_key IN {_PG_KEYS} ORDER BY blob_key, seq",
)
_DAMAGED_AMONG = statement(
    "damaged_blobs",
    sqlite=f"SELECT key FROM blobs WHERE key IN {_KEYS} AND damaged_at IS NOT NULL",
    postgres=f"SELECT key FROM blobs WHERE key IN {_PG_KEYS} AND damaged_at IS NOT NULL",
)
_DEAD = statement("place_dead", "INSERT INTO dead_places (place, at) VALUES (?, ?) ON CONFLICT DO NOTHING")
# the key of the lock between those who begin to refer to a place, and those who look for places nobody refers to
REFERRING = 5_286_101
_REFER = statement("referring", sqlite="SELECT 1", postgres=f"SELECT pg_advisory_xact_lock_shared({REFERRING})")
_IS_DEAD = statement("place_is_dead", "SELECT 1 FROM dead_places WHERE place = ?")


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A run of bytes of a blob."""

    place: str
    size_bytes: int


class Blob(msgspec.Struct, frozen=True):
    """Bytes by their hash, and where they lie; `etag` is what else their sender knows them by."""

    sha256: str
    size_bytes: int
    pieces: tuple[Piece, ...]
    etag: str | None = None


def hold_blob(tx: Tx, sha256: str, size_bytes: int) -> tuple[int, bool]:
    """The key of these bytes, kept from being collected, and whether they lie somewhere already and are whole."""
    key, damaged_at = cast(Row, tx.one(_KEEP_BLOB, (sha256, size_bytes, micros(tx.now))))
    return int(key), damaged_at is None and bool(pieces(tx, key))


def clear(tx: Tx, blob_key: int) -> None:
    """Give up damaged bytes, for those that are about to take their place."""
    known = pieces(tx, blob_key)
    if known:
        bury(tx, (piece.place for piece in known))
        tx.run(_DROP_PIECES, (blob_key,))
        tx.run(_IS_WHOLE, (blob_key,))


def keep_blob(tx: Tx, blob: Blob) -> int:
    """The key of these bytes; when they were there already and whole, the new places are given up."""
    key, is_known = hold_blob(tx, blob.sha256, blob.size_bytes)
    if is_known or not blob.pieces:
        known = [piece.place for piece in pieces(tx, key)]
        bury(tx, (piece.place for piece in blob.pieces if piece.place not in known))
        return key
    clear(tx, key)
    for seq, piece in enumerate(blob.pieces):
        tx.run(_ADD_PIECE, (key, seq, piece.place, piece.size_bytes))
        check_alive(tx, piece.place)
    return key


def note_damage(tx: Tx, blob_key: int, place: str) -> None:
    """Let the next upload of these bytes take the place of those that are not what they were."""
    tx.run(_IS_DAMAGED, (micros(tx.now), blob_key, place))


def note_health(tx: Tx, blob_key: int) -> None:
    tx.run(_IS_WHOLE, (blob_key,))


def check_alive(tx: Tx, place: str) -> None:
    """Asked behind the row that refers to a place, or a collection that takes it for an orphan could come between."""
    tx.one(_REFER)
    if tx.one(_IS_DEAD, (place,)) is not None:
        raise Unavailable(f"{place} rested for so long that it was given up: its bytes have to be sent again")


def pieces(tx: Tx, blob_key: int) -> tuple[Piece, ...]:
    return tuple(Piece(place, size) for place, size in tx.all(_PIECES, (blob_key,)))


def pieces_of_many(tx: Tx, blob_keys: Collection[int]) -> dict[int, tuple[Piece, ...]]:
    found: dict[int, tuple[Piece, ...]] = {}
    for key, place, size in tx.all(_PIECES_OF_MANY, (_json(blob_keys),)):
        found[key] = (*found.get(key, ()), Piece(place, size))
    return found


def damaged_among(tx: Tx, keys: Collection[int]) -> set[int]:
    """Those of these blobs that were not found as they were."""
    return {row[0] for row in tx.all(_DAMAGED_AMONG, (_json(keys),))}


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
                file.content_type, file.blob_key, file.seq, micros(file.created_at), file.etag, file.headers,
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
    return File(
        0, artifact_key, said.path, id, said.role, None, None, said.content_type, None, seq, now, headers=said.headers
    )


def file_of(row: Row) -> File:
    role = _ROLES[row[4]] if row[4] else None
    values = (*row[:4], role, *row[5:10], moment(row[10]), *row[11:])
    return File(*values)


def _json(keys: Collection[int]) -> str:
    return msgspec.json.encode(list(keys)).decode()
