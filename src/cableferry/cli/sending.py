"""A file or a folder on its way into an artifact."""

import fnmatch
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from cableferry.cli.commands import usage
from cableferry.client import crowd, transfers
from cableferry.client.answers import Artifact, File
from cableferry.client.artifacts import Artifacts, Description
from cableferry.core import contents
from cableferry.core.errors import Invalid


class Source(msgspec.Struct, frozen=True):
    """One file of ours and the path it gets."""

    file: Path
    path: str
    size_bytes: int


class Sent(msgspec.Struct, frozen=True):
    """What was brought, and what was there already."""

    artifact: Artifact
    files: int
    bytes: int
    skipped: int


def sources(named: Sequence[Path], exclude: Sequence[str]) -> list[Source]:
    """Every file, a folder's under its path within the folder; what is excluded by its name or its path is left out."""
    found = [source for path in named for source in _sources(path) if not _is_excluded(source.path, exclude)]
    twice = {source.path for source in found} if len({source.path for source in found}) < len(found) else set()
    if twice:
        path = next(path for path in twice if sum(source.path == path for source in found) > 1)
        raise usage(f"two files would get the path {path}: bring them in two artifacts, or from a folder above both")
    if not found:
        raise usage("there is no file to bring")
    return found


def _sources(path: Path) -> Iterator[Source]:
    if not path.is_dir():
        yield _source(path, path.name)
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            # what is no file, and links to elsewhere, are not what a folder holds
            if file.is_file() and not file.is_symlink():
                yield _source(file, file.relative_to(path).as_posix())


def _source(file: Path, path: str) -> Source:
    try:
        return Source(file, contents.check_path(path), file.stat().st_size)
    except OSError as error:
        raise usage(f"{file}: {error.strerror}") from error
    except Invalid as refusal:
        raise usage(f"{file}: {refusal.detail}") from refusal


def _is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """By the whole path, or by any folder or file name in it."""
    names = (path, *path.split("/"))
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)


def send(
    artifacts: Artifacts, artifact: Artifact, found: Sequence[Source], threads: int, moved: Callable[[int], None]
) -> Sent:
    """Bring what is not there yet."""
    known = {file.path: file for file in artifacts.files(artifact.id)}
    brought = crowd.each(partial(_bring, artifacts, artifact.id, known, moved), found, threads)
    return Sent(artifact, len(found), sum(source.size_bytes for source in found), brought.count(False))


def _bring(artifacts: Artifacts, id: str, known: dict[str, File], moved: Callable[[int], None], source: Source) -> bool:
    """Whether the file had to be sent."""
    if _is_there(known.get(source.path), source):
        moved(source.size_bytes)
        return False
    transfers.upload(artifacts, id, Description(source.path), source.file, moved)
    return True


def _is_there(known: File | None, source: Source) -> bool:
    """Whether an earlier run brought these very bytes."""
    if known is None or not known.is_stored or known.size_bytes != source.size_bytes:
        return False
    return transfers.measured(source.file).sha256 == known.sha256
