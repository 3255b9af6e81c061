"""What staging is done with and what it may touch, and the checks that every input goes through."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from cableferry.client import transfers
from cableferry.client.answers import Artifact, File
from cableferry.client.artifacts import Artifacts
from cableferry.core import contents
from cableferry.core.errors import Invalid
from cableferry.daemon.staging.outcomes import Mismatch, Stopped, Unusable
from cableferry.daemon.staging.verified import Verified
from cableferry.daemon.staging.web import Web

THREADS = 4


class Site(msgspec.Struct, frozen=True):
    """What a site allows: the folders under which posix artifacts lie, and the places on the web."""

    roots: tuple[Path, ...] = ()
    web: Web = Web()
    threads: int = THREADS


class Order(msgspec.Struct, frozen=True):
    """The inputs as the job has them, and two folders of this attempt on one file system."""

    inputs: bytes
    input_dir: Path
    scratch_dir: Path


class Desk:
    """What the work is done with; `is_cancelled` is asked about once per mebibyte.

    `moved` is told of the bytes that went over the network, `looked` of those that were read to be hashed.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        verified: Verified,
        is_cancelled: Callable[[], bool] = lambda: False,
        moved: Callable[[int], object] = transfers.ignore,
        looked: Callable[[int], object] = transfers.ignore,
    ) -> None:
        self.artifacts = artifacts
        self.verified = verified
        self._is_cancelled = is_cancelled
        self._moved = moved
        self._looked = looked

    def tick(self, moved: int) -> None:
        self.go_on()
        self._moved(moved)

    def look(self, looked: int) -> None:
        self.go_on()
        self._looked(looked)

    def go_on(self) -> None:
        if self._is_cancelled():
            raise Stopped


class Brought(msgspec.Struct, frozen=True):
    """One artifact in its place."""

    place: Path | None
    outside: Path | None = None
    files: int = 0
    bytes: int = 0


def check_names(files: Iterable[File]) -> None:
    """A server does not lead us out of the folder that its files belong in."""
    for file in files:
        try:
            contents.check_path(file.path)
        except Invalid as refusal:
            raise Unusable(f"a file named {file.path[:100]!r} is not taken: {refusal.detail}") from refusal


def check_file(file: File, found: str) -> str:
    """The hash of what is there, which must be the one that the artifact lists."""
    if file.sha256 is not None and is_hash(file.sha256) and found != file.sha256.lower():
        raise Mismatch(f"{file.path} has SHA-256 {found}, not {file.sha256}")
    return found


def check_whole(artifact: Artifact, hashes: Sequence[tuple[str, str]]) -> None:
    """The hash of all files together; some artifacts have none, or only what their creator said."""
    if artifact.sha256 is None or not is_hash(artifact.sha256):
        return
    if not hashes:
        raise Mismatch("it has no files, though it has a hash")
    found = contents.tree_hash(hashes)
    if found != artifact.sha256.lower():
        paths = ", ".join(sorted(path for path, _ in hashes)[:3])
        raise Mismatch(f"its files ({paths}{', ...' if len(hashes) > 3 else ''}) have {found}, not {artifact.sha256}")


def is_hash(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdefABCDEF" for letter in text)
