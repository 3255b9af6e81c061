"""One artifact of what a job wrote: created once, brought file by file, committed when it is whole."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from cableferry.client import artifacts as asking
from cableferry.client import crowd, transfers
from cableferry.client.answers import Artifact, File
from cableferry.client.artifacts import Description
from cableferry.client.errors import Conflict, Invalid, NotFound
from cableferry.client.resuming import Whole
from cableferry.client.transfers import WrongHash
from cableferry.core import contents
from cableferry.core.jobs import Cause
from cableferry.daemon.collecting.walking import Output, Tree
from cableferry.daemon.staging import outcomes
from cableferry.daemon.staging.desk import Desk
from cableferry.daemon.staging.outcomes import Cancelled, Failed, Unusable
from cableferry.daemon.tailing import redacting
from cableferry.daemon.tailing.redacting import Masks
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody

TRIES = 3
THREADS = 4
_CHANGING = frozenset({"bad-digest", "malformed"})
_AGAIN = frozenset({"hash-mismatch", "changed-meanwhile", "committed"})


class What(msgspec.Struct, frozen=True):
    """Which artifact it is to be: of which attempt of which job, and where its bytes stay.

    `can_find` says that the server lists artifacts by their job, so that a lost id is found again.
    What `masks` match does not leave this machine: for logs that the server keeps.
    """

    job_id: str
    attempt: int
    role: Literal["output", "log"]
    worker_id: str
    residence: Literal["managed", "posix"] = "managed"
    metadata: Mapping[str, object] = {}
    can_find: bool = True
    threads: int = THREADS
    masks: Masks = ()

    @property
    def body(self) -> CreateArtifactBody:
        """The same in every try, so that one key makes one artifact."""
        said = {
            "job_id": self.job_id,
            "attempt": self.attempt,
            "worker_id": self.worker_id,
            "artifact_role": self.role,
            **self.metadata,
        }
        return CreateArtifactBody(
            type="log" if self.role == "log" else "blob",
            residence=self.residence,
            name=f"{self.role}-{self.job_id[:8]}",
            metadata=msgspec.Raw(msgspec.json.encode(said, order="sorted")),
        )


class Brought(msgspec.Struct, frozen=True):
    """One file as the server has it now."""

    path: str
    sha256: str
    size_bytes: int


class Stored(msgspec.Struct, frozen=True):
    """What the server has now, committed; without an id there was nothing to store."""

    artifact_id: str | None
    files: int = 0
    bytes: int = 0
    sha256: str | None = None


class Memory(msgspec.Struct, frozen=True):
    """What the caller's journal knows: the artifact of an earlier try, and where to note a new one."""

    known: str | None = None
    created: Callable[[str], object] = lambda id_: None


NOTHING = Memory()


def collect(
    desk: Desk, what: What, tree: Tree, files: Sequence[Output], memory: Memory = NOTHING
) -> Stored | Failed | Cancelled:
    """Every file, or a reason; the journal is told of a new artifact before anything is brought to it."""
    # elsewhere is a file found by its name only, so one whose name is no text cannot be told of
    files = files if what.residence == "managed" else [file for file in files if not file.is_spelled_out]
    if not files:
        return Stored(None)
    try:
        artifact = _opened(desk, what, memory.known) or _created(desk, what, tree, memory.created)
        return _Bringing(desk, what, tree, artifact.id).store(artifact, files)
    except WrongHash as error:
        return Failed(Cause.STORING, f"storing: {error}", may_pass=True)
    except outcomes.KNOWN as error:
        return outcomes.failed(error, Cause.STORING, f"storing {what.role}: ")


def _opened(desk: Desk, what: What, known: str | None) -> Artifact | None:
    """The artifact that an earlier try made, unless the server has given it up meanwhile."""
    if known is not None:
        try:
            artifact = desk.artifacts.get(known)
        except NotFound:
            return None
        return None if artifact.status == "FAILED" else artifact
    ours = _earlier(desk, what)
    return next((artifact for artifact in ours if artifact.status != "FAILED"), None)


def _earlier(desk: Desk, what: What) -> list[Artifact]:
    if not what.can_find:
        return []
    wanted = asking.Wanted(job_id=what.job_id, residence=what.residence)
    said = msgspec.json.decode(what.body.metadata)
    return [artifact for artifact in desk.artifacts.find(wanted) if _is_ours(artifact, said)]


def _is_ours(artifact: Artifact, said: Mapping[str, object]) -> bool:
    kept = msgspec.json.decode(artifact.metadata)
    names = ("job_id", "attempt", "worker_id", "artifact_role")
    return isinstance(kept, dict) and all(kept.get(name) == said[name] for name in names)


def _created(desk: Desk, what: What, tree: Tree, created: Callable[[str], object]) -> Artifact:
    """A new one; the key makes it once, and another one when the server gave it up or the site's mind has changed."""
    url = f"file://{tree.root}" if what.residence == "posix" else None
    body = msgspec.structs.replace(what.body, content_url=url)
    said = hashlib.sha256(msgspec.json.encode(body)).hexdigest()[:16]
    key = f"{what.job_id}-a{what.attempt}-{what.role}-{len(_earlier(desk, what))}-{said}"
    artifact = desk.artifacts.create(body, key)
    created(artifact.id)
    return artifact


class _Bringing:
    """The files of one tree on their way into one artifact."""

    def __init__(self, desk: Desk, what: What, tree: Tree, id_: str) -> None:
        self._desk = desk
        self._what = what
        self._tree = tree
        self._id = id_

    def store(self, artifact: Artifact, files: Sequence[Output]) -> Stored:
        for tries_left in reversed(range(TRIES)):
            if artifact.status == "COMMITTED":
                break
            try:
                artifact = self._committed(self._brought(files))
            except Conflict as refusal:
                # a file that changed under our hands, or a commit whose answer was lost
                if not tries_left or refusal.kind not in _AGAIN:
                    raise
                artifact = self._desk.artifacts.get(self._id)
        if artifact.status not in ("COMMITTED", ""):
            reason = artifact.detail or "the server did not say why"
            raise Unusable(f"artifact {artifact.id} is {artifact.status}: {reason}")
        return Stored(artifact.id, len(files), artifact.size_bytes or 0, artifact.sha256)

    def _brought(self, files: Sequence[Output]) -> list[Brought]:
        """All of them at the server, and nothing else there."""
        artifacts = self._desk.artifacts
        present = {file.path: file for file in artifacts.files(self._id)}
        brought = crowd.each(partial(self._bring, present), files, self._what.threads)
        for path in present.keys() - {file.path for file in files}:
            artifacts.remove(self._id, path)
        return brought

    def _committed(self, brought: Sequence[Brought]) -> Artifact:
        """The server computes the same hash from what it has; any other is a refusal."""
        whole = contents.tree_hash((each.path, each.sha256) for each in brought)
        committed = self._desk.artifacts.commit(self._id, whole, sum(each.size_bytes for each in brought))
        if committed.sha256 not in (None, whole):
            raise WrongHash(f"artifact {self._id} was committed with SHA-256 {committed.sha256}, not {whole}")
        return committed

    def _bring(self, present: Mapping[str, File], file: Output) -> Brought:
        """One file, unless the server has these very bytes."""
        with self._opened(file) as descriptor:
            for tries_left in reversed(range(TRIES)):
                whole = self._measured(file, descriptor)
                try:
                    if not _is_there(present.get(file.path), whole):
                        self._send(file, whole)
                    break
                except Invalid as refusal:
                    # other bytes went out than were hashed
                    if not tries_left or refusal.kind not in _CHANGING:
                        raise
        return Brought(file.path, whole.sha256, whole.size_bytes)

    @contextlib.contextmanager
    def _opened(self, file: Output) -> Iterator[int]:
        """The file, or a copy without its secrets that is gone when it is closed."""
        descriptor = self._tree.open(file.place)
        try:
            if not self._what.masks or self._what.residence != "managed":
                yield descriptor
                return
            with tempfile.TemporaryFile() as copy:
                redacting.copied(descriptor, copy, self._what.masks, self._desk.look)
                copy.flush()
                yield copy.fileno()
        finally:
            os.close(descriptor)

    def _measured(self, file: Output, descriptor: int) -> Whole:
        """The file that is open, whatever stands under its name by now."""
        # a copy is made anew each time, and so it is never remembered
        name = b"" if self._what.masks else os.fsencode(self._tree.root / file.place)
        sha256 = self._desk.verified.of_open(name, descriptor, self._desk.look)
        return Whole(Path(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor).st_size, sha256)

    def _send(self, file: Output, whole: Whole) -> None:
        artifacts = self._desk.artifacts
        if self._what.residence == "managed":
            transfers.bring(artifacts, self._id, Description(file.path), whole, self._desk.tick)
            return
        answer = artifacts.declare(self._id, file.path, FileMetadataBody(None, whole.sha256, whole.size_bytes))
        if answer.sha256 not in (None, whole.sha256):
            raise WrongHash(f"the server has {file.path} with SHA-256 {answer.sha256}, not {whole.sha256}")


def _is_there(known: File | None, whole: Whole) -> bool:
    return known is not None and (known.sha256, known.size_bytes) == (whole.sha256, whole.size_bytes)
