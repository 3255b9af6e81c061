"""Rows of files on their way, and the parts of them that are on disk already."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from cableferry.core.artifacts import Role
from cableferry.core.uploads import Draft, Manner, Part, Upload
from cableferry.store import files
from cableferry.store.tx import Row, Tx, micros, moment, statement

_COLUMNS = """u.key, u.id, u.artifact_key, a.id, u.path, u.kind, u.role, u.content_type, u.length, u.received, u.sha256,
    u.metadata, u.revision, u.created_by, u.created_at, u.touched_at, u.expires_at, u.completed_at"""
_FROM = f"SELECT {_COLUMNS} FROM uploads u JOIN artifacts a ON a.key = u.artifact_key"
_PART = "number, place, size_bytes, sha256, at, md5"
_ROLES = {role.value: role for role in Role}
_MANNERS = {manner.value: manner for manner in Manner}

_INSERT = statement(
    "upload_added",
    """INSERT INTO uploads (id, artifact_key, path, kind, role, content_type, length, received, sha256, metadata,
    revision, created_by, created_at, touched_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 1, ?, ?, ?, ?)""",
)
_GET = statement("upload_by_id", f"{_FROM} WHERE u.id = ?")
_LOCK = statement(
    "upload_by_id_locked", sqlite=f"{_FROM} WHERE u.id = ?", postgres=f"{_FROM} WHERE u.id = ? FOR UPDATE OF u"
)
_OPEN_OF_ARTIFACT = statement(
    "open_uploads_of_artifact",
    f"{_FROM} WHERE u.artifact_key = ? AND u.path >= ? AND u.completed_at IS NULL ORDER BY u.path, u.key LIMIT ?",
)
_EXPIRED = statement(
    "expired_uploads",
    sqlite="SELECT key FROM uploads WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
    postgres="SELECT key FROM uploads WHERE expires_at <= ? ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED",
)
_SAVE = statement(
    "upload_changed",
    """UPDATE uploads SET length = ?, received = ?, revision = ?, touched_at = ?, expires_at = ?, completed_at = ?
    WHERE key = ? AND revision = ?""",
)
_DELETE = statement("upload_deleted", "DELETE FROM uploads WHERE key = ?")

_PUT_PART = statement(
    "upload_part_put",
    """INSERT INTO upload_pieces (upload_key, number, place, size_bytes, sha256, at, md5) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (upload_key, number) DO UPDATE SET place = excluded.place, size_bytes = excluded.size_bytes,
    sha256 = excluded.sha256, at = excluded.at, md5 = excluded.md5""",
)
_GET_PART = statement("upload_part_by_number", f"SELECT {_PART} FROM upload_pieces WHERE upload_key = ? AND number = ?")
_LAST_PART = statement(
    "last_upload_part", f"SELECT {_PART} FROM upload_pieces WHERE upload_key = ? ORDER BY number DESC LIMIT 1"
)
_PARTS = statement(
    "upload_parts", f"SELECT {_PART} FROM upload_pieces WHERE upload_key = ? AND number > ? ORDER BY number LIMIT ?"
)
_DELETE_PART = statement("upload_part_deleted", "DELETE FROM upload_pieces WHERE upload_key = ? AND number = ?")
_DELETE_PARTS = statement("upload_parts_deleted", "DELETE FROM upload_pieces WHERE upload_key = ?")
_HAND_OVER = statement(
    "upload_parts_handed_over",
    """INSERT INTO blob_pieces (blob_key, seq, place, size_bytes)
    SELECT ?, number, place, size_bytes FROM upload_pieces WHERE upload_key = ?""",
)
_BURY_PARTS = statement(
    "upload_parts_buried",
    """INSERT INTO dead_places (place, at) SELECT place, ? FROM upload_pieces WHERE upload_key = ?
    ON CONFLICT DO NOTHING""",
)

# whoever appends holds the row of the upload: waiting for it first, no part of theirs is overlooked
_LOCK_OF_ARTIFACT = statement(
    "uploads_of_artifact_locked",
    sqlite="SELECT key FROM uploads WHERE artifact_key = ?",
    postgres="SELECT key FROM uploads WHERE artifact_key = ? ORDER BY key FOR UPDATE",
)
_BURY_OF_ARTIFACT = statement(
    "upload_pieces_buried",
    """INSERT INTO dead_places (place, at) SELECT p.place, ? FROM upload_pieces p JOIN uploads u ON u.key = p.upload_key
    WHERE u.artifact_key = ? ON CONFLICT DO NOTHING""",
)
_DELETE_OPEN_OF_ARTIFACT = statement(
    "open_uploads_of_artifact_deleted", "DELETE FROM uploads WHERE artifact_key = ? AND completed_at IS NULL"
)

ALL = 2**53


def add(tx: Tx, id: str, artifact_key: int, draft: Draft, expires_at: datetime) -> None:
    now, said = micros(tx.now), draft.said
    role = None if said.role is None else said.role.value
    described = (said.path, draft.manner.value, role, said.content_type, draft.length, draft.sha256, draft.metadata)
    tx.run(_INSERT, (id, artifact_key, *described, draft.created_by, now, now, micros(expires_at)))


def get(tx: Tx, id: str) -> Upload | None:
    row = tx.one(_GET, (id,))
    return _upload(row) if row else None


def lock(tx: Tx, id: str) -> Upload | None:
    """The upload as it is now and stays until this transaction ends; its artifact is locked before it."""
    row = tx.one(_LOCK, (id,))
    return _upload(row) if row else None


def open_of_artifact(tx: Tx, artifact_key: int, most: int, path: str = "") -> list[Upload]:
    """Uploads that are under way, by path, from this path on."""
    return [_upload(row) for row in tx.all(_OPEN_OF_ARTIFACT, (artifact_key, path, most))]


def save(tx: Tx, before: Upload, after: Upload) -> int:
    """Write the upload as it became, if it still is as it was."""
    times = (micros(after.touched_at), micros(after.expires_at), micros(after.completed_at))
    return tx.run(_SAVE, (after.length, after.received, after.revision, *times, before.key, before.revision))


def put_part(tx: Tx, upload: Upload, part: Part) -> None:
    """Add a part, or replace the one of its number."""
    tx.run(_PUT_PART, (upload.key, part.number, part.place, part.size_bytes, part.sha256, micros(part.at), part.md5))
    files.check_alive(tx, part.place)


def part(tx: Tx, upload: Upload, number: int) -> Part | None:
    row = tx.one(_GET_PART, (upload.key, number))
    return _part(row) if row else None


def last_part(tx: Tx, upload: Upload) -> Part | None:
    row = tx.one(_LAST_PART, (upload.key,))
    return _part(row) if row else None


def parts(tx: Tx, upload: Upload, after: int = -1, most: int = ALL) -> list[Part]:
    """Parts by their numbers, those behind a number."""
    return [_part(row) for row in tx.all(_PARTS, (upload.key, after, most))]


def drop_parts(tx: Tx, upload: Upload, numbers: Iterable[int]) -> None:
    for number in numbers:
        tx.run(_DELETE_PART, (upload.key, number))


def hand_over(tx: Tx, upload: Upload, blob_key: int) -> None:
    """Make all parts the pieces of a blob, instead of damaged ones that it may have."""
    files.clear(tx, blob_key)
    tx.run(_HAND_OVER, (blob_key, upload.key))
    tx.run(_DELETE_PARTS, (upload.key,))


def bury_parts(tx: Tx, upload_key: int) -> None:
    """Give all parts up; their bytes are to be removed."""
    tx.run(_BURY_PARTS, (micros(tx.now), upload_key))
    tx.run(_DELETE_PARTS, (upload_key,))


def forget(tx: Tx, upload_key: int) -> None:
    bury_parts(tx, upload_key)
    tx.run(_DELETE, (upload_key,))


def expired(tx: Tx, most: int) -> list[int]:
    """Keys of uploads whose time is over, the longest gone first."""
    return [row[0] for row in tx.all(_EXPIRED, (micros(tx.now), most))]


def bury_of_artifact(tx: Tx, artifact_key: int) -> None:
    """Forget every upload into an artifact that is not complete; the bytes that came are to be removed."""
    if tx.all(_LOCK_OF_ARTIFACT, (artifact_key,)):
        tx.run(_BURY_OF_ARTIFACT, (micros(tx.now), artifact_key))
        tx.run(_DELETE_OPEN_OF_ARTIFACT, (artifact_key,))


def _upload(row: Row) -> Upload:
    role = _ROLES[row[6]] if row[6] else None
    times = (cast(datetime, moment(time)) for time in row[14:17])
    values = (*row[:5], _MANNERS[row[5]], role, *row[7:14], *times, moment(row[17]))
    return Upload(*values)


def _part(row: Row) -> Part:
    values = (*row[:4], cast(datetime, moment(row[4])), row[5])
    return Part(*values)
