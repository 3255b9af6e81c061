"""What can be done with a file on its way: begin, go on, look at, complete, give up; whatever protocol it comes by."""

import secrets
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from cableferry.core import access, artifacts, contents, uploads
from cableferry.core.access import Caller
from cableferry.core.artifacts import Artifact, File
from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.core.uploads import Draft, Part, Upload, Whole
from cableferry.engine import artifacts as owners
from cableferry.engine import files
from cableferry.store import files as file_rows
from cableferry.store import uploads as rows
from cableferry.store.blobs import Stored
from cableferry.store.files import Blob
from cableferry.store.tx import Tx

LISTED = 1000


class _Held(msgspec.Struct, frozen=True):
    """An upload and its artifact, both locked."""

    artifact: Artifact
    upload: Upload


def create(tx: Tx, artifact_id: str, draft: Draft, caller: Caller, lifetime: timedelta) -> Upload:
    """Begin a file; the artifact does not show it before it is complete."""
    artifact = owners.get(tx, artifact_id)
    access.check_own(caller, artifact)
    artifacts.check_takes_bytes(artifact)
    contents.check_path(draft.said.path)
    if draft.length is not None:
        uploads.check_length(draft.length)
    # whoever knows the id still has to be the one who may
    upload_id = secrets.token_hex(16)
    rows.add(tx, upload_id, artifact.key, replace(draft, created_by=caller.actor), tx.now + lifetime)
    return get(tx, upload_id, caller)


def get(tx: Tx, id: str, caller: Caller) -> Upload:
    upload = rows.get(tx, id)
    if upload is None or _is_over(tx, upload):
        raise _missing(id)
    access.check_own(caller, owners.get(tx, upload.artifact_id))
    return upload


def under_way(tx: Tx, artifact_id: str, caller: Caller, path: str = "", most: int = LISTED) -> list[Upload]:
    """Uploads into an artifact that are not complete, by path, from this path on."""
    artifact = owners.get(tx, artifact_id)
    access.check_own(caller, artifact)
    return [upload for upload in rows.open_of_artifact(tx, artifact.key, most, path) if not _is_over(tx, upload)]


def parts(tx: Tx, upload: Upload, after: int = -1, most: int = uploads.MOST_PARTS) -> list[Part]:
    """Parts by their numbers, those behind a number."""
    return rows.parts(tx, upload, after, most)


def settle_length(tx: Tx, id: str, length: int, caller: Caller) -> Upload:
    """Say how long the file will be; what was said before cannot be changed."""
    held = _hold_open(tx, id, caller)
    uploads.check_settles(held.upload, length)
    if held.upload.length == length:
        return held.upload
    return _save(tx, held.upload, replace(held.upload, length=length))


def append(tx: Tx, id: str, offset: int, stored: Stored, caller: Caller) -> Upload:
    """Take durable bytes that begin where the others end; of two writers at one offset, the second one is refused."""
    held = _hold_open(tx, id, caller)
    upload = held.upload
    uploads.check_offset(upload, offset)
    uploads.check_room(upload, stored.size_bytes)
    last = rows.last_part(tx, upload)
    number = 1 if last is None else last.number + 1
    _check_number(upload, number)
    rows.put_part(tx, upload, Part(number, stored.place, stored.size_bytes, stored.sha256, tx.now))
    return _grow(tx, upload, stored.size_bytes)


def put_part(tx: Tx, id: str, number: int, stored: Stored, caller: Caller) -> Upload:
    """Take a numbered part, in any order; the one that had the number before is given up."""
    held = _hold_open(tx, id, caller)
    upload = held.upload
    _check_number(upload, number)
    before = rows.part(tx, upload, number)
    if before is not None:
        file_rows.bury(tx, [before.place])
    rows.put_part(tx, upload, Part(number, stored.place, stored.size_bytes, stored.sha256, tx.now, stored.md5))
    return _grow(tx, upload, stored.size_bytes - (before.size_bytes if before else 0))


def complete(tx: Tx, id: str, whole: Whole, caller: Caller) -> File:
    """Make what came the content of its path, all at once; parts that were not chosen are given up."""
    held = _hold_open(tx, id, caller)
    upload = held.upload
    uploads.check_whole(upload, whole)
    key, is_known = file_rows.hold_blob(tx, whole.sha256, whole.size_bytes)
    if is_known:
        rows.bury_parts(tx, upload.key)
    else:
        _drop_others(tx, upload, whole)
        rows.hand_over(tx, upload, key)
    ended = replace(upload, length=whole.size_bytes, received=whole.size_bytes, completed_at=tx.now)
    _save(tx, upload, ended)
    return files.attach_blob(tx, held.artifact, upload.said, Blob(whole.sha256, whole.size_bytes, ()), key)


def abort(tx: Tx, id: str, caller: Caller) -> None:
    """Give up what came; of a complete upload only its memory goes."""
    rows.forget(tx, _hold(tx, id, caller).upload.key)


def expire(tx: Tx, most: int) -> int:
    """Give up uploads that nobody went on with in time."""
    gone = rows.expired(tx, most)
    for key in gone:
        rows.forget(tx, key)
    return len(gone)


def _hold(tx: Tx, id: str, caller: Caller) -> _Held:
    """Everybody locks the artifact first and its upload then, so nobody waits in a circle."""
    known = get(tx, id, caller)
    artifact = owners.lock(tx, known.artifact_id)
    upload = rows.lock(tx, id)
    if upload is None:
        raise _missing(id)
    access.check_own(caller, artifact)
    return _Held(artifact, upload)


def _hold_open(tx: Tx, id: str, caller: Caller) -> _Held:
    held = _hold(tx, id, caller)
    uploads.check_going_on(held.upload)
    artifacts.check_takes_bytes(held.artifact)
    return held


def _grow(tx: Tx, upload: Upload, size_bytes: int) -> Upload:
    return _save(tx, upload, replace(upload, received=upload.received + size_bytes))


def _save(tx: Tx, before: Upload, after: Upload) -> Upload:
    """Write a locked upload as it became; its time begins anew."""
    after = replace(after, revision=before.revision + 1, touched_at=tx.now, expires_at=tx.now + before.lifetime)
    if rows.save(tx, before, after) != 1:
        raise Conflict(f"upload {before.id} was changed by somebody else meanwhile: look again", Kind.CHANGED_MEANWHILE)
    return after


def _drop_others(tx: Tx, upload: Upload, whole: Whole) -> None:
    if whole.numbers is None:
        return
    others = [part for part in rows.parts(tx, upload) if part.number not in whole.numbers]
    file_rows.bury(tx, [part.place for part in others])
    rows.drop_parts(tx, upload, [part.number for part in others])


def _check_number(upload: Upload, number: int) -> None:
    if number > uploads.MOST_PARTS:
        raise Conflict(
            f"upload {upload.id} has {uploads.MOST_PARTS} parts already: begin it again with larger ones",
            Kind.TOO_MANY_PARTS,
        )


def _is_over(tx: Tx, upload: Upload) -> bool:
    return upload.expires_at <= tx.now


def _missing(id: str) -> NotFound:
    return NotFound(
        f"there is no upload {id[:64]}: it was given up, it expired, or its artifact is committed, failed or gone",
        Kind.UNKNOWN_UPLOAD,
    )
