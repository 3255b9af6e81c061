"""The files of an artifact on their way into a folder."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from cableferry.cli.exits import Exit, Failure
from cableferry.client import crowd, transfers
from cableferry.client.answers import File
from cableferry.client.artifacts import Artifacts


class Fetched(msgspec.Struct, frozen=True):
    """What was brought, and what was there already."""

    artifact_id: str
    folder: str
    files: int
    bytes: int
    skipped: int


def chosen(artifacts: Artifacts, id: str, paths: Sequence[str]) -> list[File]:
    """All files, or those of these paths and folders."""
    files = [file for file in artifacts.files(id) if not paths or any(_is_at(file.path, path) for path in paths)]
    for path in paths:
        if not any(_is_at(file.path, path) for file in files):
            raise Failure(f"artifact {id} has no file {path}", Exit.NOT_FOUND)
    return files


def _is_at(file: str, path: str) -> bool:
    return file == path or file.startswith(path.rstrip("/") + "/")


def fetch(
    artifacts: Artifacts, id: str, files: Sequence[File], folder: Path, threads: int, moved: Callable[[int], None]
) -> Fetched:
    """Bring what is not there yet under the same paths."""
    _check_places(files)
    brought = crowd.each(partial(_bring, artifacts, id, folder, moved), files, threads)
    size = sum(file.size_bytes or 0 for file in files)
    return Fetched(id, str(folder), len(files), size, brought.count(False))


def _check_places(files: Sequence[File]) -> None:
    """A store takes what a disk cannot: one name for a file and for the folder of others."""
    folders = {str(folder) for file in files for folder in PurePosixPath(file.path).parents}
    for file in files:
        if file.path in folders:
            raise Failure(f"{file.path} is a file and a folder: bring one of them by naming its path", Exit.OTHER)


def _bring(artifacts: Artifacts, id: str, folder: Path, moved: Callable[[int], None], file: File) -> bool:
    target = transfers.place(folder, file.path)
    if _is_there(target, file):
        moved(file.size_bytes or 0)
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        transfers.download(artifacts, id, file, target, moved)
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror}", Exit.OTHER) from error
    return True


def _is_there(target: Path, file: File) -> bool:
    """Whether an earlier run brought these very bytes."""
    if file.sha256 is None or not target.is_file() or target.stat().st_size != file.size_bytes:
        return False
    with target.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
