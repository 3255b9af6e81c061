"""Stored bytes read and hashed again, several files at once and outside any transaction."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from cableferry.core import contents, verification
from cableferry.core.artifacts import Artifact, File
from cableferry.core.paging import Page
from cableferry.core.verification import Content, Finding, Problem, Trouble
from cableferry.engine import artifacts as owners
from cableferry.engine import files as owners_files
from cableferry.engine.reading import Depot, chunks
from cableferry.store import failures
from cableferry.store import files as rows
from cableferry.store.files import Piece
from cableferry.store.tx import Tx

FILES_AT_ONCE = 1000
# files are taken until they have so many bytes together, so that an answer does not keep its reader waiting for long
BYTES_AT_ONCE = 2 * 1024**3
THREADS = 4
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


Found = Content | Trouble | None


class Verified(msgspec.Struct, frozen=True):
    """What was looked at and what is wrong with it; `after` is where to go on, None when all was seen.

    `unseen` are files that were only declared, or that lie where this server may not look.
    """

    artifact: Artifact
    files: int
    bytes: int
    unseen: int
    findings: list[Finding]
    after: str | None


class Portion(msgspec.Struct, frozen=True):
    """Some files of an artifact and where the bytes of their blobs lie, at one instant."""

    artifact: Artifact
    files: Sequence[File]
    pieces: Mapping[int, tuple[Piece, ...]]
    total: str | None
    after: str | None


def verify(depot: Depot, id: str, after: str = "", most: int = FILES_AT_ONCE) -> Verified:
    """Look at the next files of an artifact, behind this path."""
    seen = depot.store.read(partial(_portion, id=id, after=after, most=most))
    found = _found(depot, seen)
    said = {file.path: _judged(seen, file, found[file.path]) for file in seen.files}
    findings = _confirmed(depot, seen, [finding for finding in said.values() if finding is not None])
    _note(depot, seen, {finding.path for finding in findings if finding.problem is not Problem.UNREACHABLE})
    contents_found = [content for content in found.values() if content is not None]
    return Verified(
        artifact=seen.artifact,
        files=len(contents_found),
        bytes=sum(content.size_bytes or 0 for content in contents_found if isinstance(content, Content)),
        unseen=len(found) - len(contents_found),
        findings=[*_of_the_whole(depot, seen, after), *findings],
        after=seen.after,
    )


def check_file(depot: Depot, id: str, path: str) -> Finding | None:
    """What is wrong with the bytes of one stored file; what keeps them from being read is raised."""
    stored = depot.store.read(partial(owners_files.get, artifact_id=id, path=path))
    if not stored.file.is_stored:
        return None
    found = _read(depot, stored.pieces)
    return verification.compare(path, _where(stored.pieces), _expected(stored.file), found)


def _portion(tx: Tx, id: str, after: str, most: int) -> Portion:
    artifact = owners.get(tx, id)
    page = rows.page(tx, artifact.key, "", Page(most, after=after))
    some = list(_up_to(page, BYTES_AT_ONCE))
    is_over = len(some) == len(page) < most
    pieces = rows.pieces_of_many(tx, {file.blob_key for file in some if file.blob_key is not None})
    total = None if after else contents.add_up(rows.of_artifact(tx, artifact.key)).sha256
    return Portion(artifact, some, pieces, total, None if is_over else some[-1].path)


def _up_to(files: Sequence[File], most: int) -> Iterator[File]:
    """At least one, and no more than have so many bytes together."""
    size = 0
    for file in files:
        size += file.size_bytes or 0
        if size > most and size > (file.size_bytes or 0):
            return
        yield file


def _found(depot: Depot, seen: Portion) -> dict[str, Found]:
    """What lies behind each path; bytes that several files share are read once."""
    blobs = {file.blob_key: file for file in seen.files if file.blob_key is not None}
    outside = [file for file in seen.files if file.blob_key is None]
    with ThreadPoolExecutor(THREADS, "verify") as pool:
        stored = dict(zip(blobs, pool.map(lambda key: _stored(depot, seen.pieces.get(key, ())), blobs), strict=True))
        elsewhere = pool.map(lambda file: _elsewhere(depot, contents.location(seen.artifact, file.path)), outside)
        found: dict[str, Found] = dict(zip((file.path for file in outside), elsewhere, strict=True))
    return found | {file.path: stored[file.blob_key] for file in seen.files if file.blob_key is not None}


def _stored(depot: Depot, pieces: Sequence[Piece]) -> Content | Trouble:
    try:
        return _read(depot, pieces)
    except failures.BlobMissing as failure:
        return Trouble(Problem.MISSING, _where(pieces), str(failure))
    except failures.BlobFailure as failure:
        return Trouble(Problem.UNREACHABLE, _where(pieces), str(failure))


def _where(pieces: Sequence[Piece]) -> str:
    return " ".join(piece.place for piece in pieces)


def _read(depot: Depot, pieces: Sequence[Piece]) -> Content:
    """The bytes of all pieces, one behind the other."""
    sha256, size_bytes = hashlib.sha256(), 0
    for piece in pieces:
        for chunk in chunks(depot.blobs, piece.place, piece.size_bytes):
            sha256.update(chunk)
            size_bytes += len(chunk)
    return Content(sha256.hexdigest(), size_bytes)


def _elsewhere(depot: Depot, location: str) -> Found:
    """What lies outside; None where this server may not look."""
    sources = depot.looking.elsewhere
    if not sources.allows(location):
        return None
    sha256, size_bytes = hashlib.sha256(), 0
    try:
        with sources.opened(location) as opened:
            if opened.found.is_folder:
                return None
            for chunk in opened.chunks():
                sha256.update(chunk)
                size_bytes += len(chunk)
    except failures.BlobMissing as failure:
        return Trouble(Problem.MISSING, location, str(failure))
    except failures.BlobFailure as failure:
        return Trouble(Problem.UNREACHABLE, location, str(failure))
    return Content(sha256.hexdigest(), size_bytes)


def _judged(seen: Portion, file: File, found: Found) -> Finding | None:
    if found is None:
        return None
    if file.blob_key is None:
        return verification.compare(file.path, contents.location(seen.artifact, file.path), _expected(file), found)
    pieces = seen.pieces.get(file.blob_key, ())
    return verification.compare(file.path, _where(pieces), _expected(file), found)


def _expected(file: File) -> Content:
    """What was said of it; hashes of other kinds are kept as they were declared and cannot be compared."""
    return Content(_comparable(file.sha256), file.size_bytes)


def _comparable(sha256: str | None) -> str | None:
    return sha256.lower() if sha256 is not None and _SHA256.fullmatch(sha256) else None


def _of_the_whole(depot: Depot, seen: Portion, after: str) -> list[Finding]:
    """What is wrong with the artifact itself: its hash is not that of its files, or that of what it says it is."""
    artifact = seen.artifact
    if after or artifact.committed_at is None:
        return []
    place = None if seen.files else artifact.content_url
    found = Content(seen.total, artifact.size_bytes) if place is None else _elsewhere(depot, place)
    expected = Content(_comparable(artifact.sha256), artifact.size_bytes)
    finding = None if found is None else verification.compare(None, place, expected, found)
    return [] if finding is None else [finding]


def _confirmed(depot: Depot, seen: Portion, findings: Sequence[Finding]) -> list[Finding]:
    """Those whose file still is what it was: an open artifact may have changed while its bytes were read."""
    if not findings:
        return []
    now = depot.store.read(lambda tx: {file.path: file for file in rows.of_artifact(tx, seen.artifact.key)})
    then = {file.path: file for file in seen.files}
    return [finding for finding in findings if finding.path and now.get(finding.path) == then[finding.path]]


def _note(depot: Depot, seen: Portion, bad: Set[str | None]) -> None:
    """Damaged bytes are replaced by the next upload of the same ones; those that are whole again are not."""
    damaged = {file.blob_key for file in seen.files if file.path in bad and file.blob_key is not None}
    whole = {file.blob_key for file in seen.files if file.blob_key is not None} - damaged
    known = depot.store.read(partial(rows.damaged_among, keys=whole)) if whole else set()
    if not damaged and not known:
        return

    def write(tx: Tx) -> None:
        for key in damaged & seen.pieces.keys():
            rows.note_damage(tx, key, seen.pieces[key][0].place)
        for key in known:
            rows.note_health(tx, key)

    depot.store.write(write)
