"""Every use case of files in any order, over real bytes and beside a model, which must agree."""

import asyncio
import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cableferry.core.artifacts import Artifact, Declared, Description, Draft, Stage
from cableferry.core.errors import Conflict, NotFound, Refusal
from cableferry.core.paging import Page
from cableferry.core.retention import Retention
from cableferry.core.uploads import Draft as Beginning
from cableferry.core.uploads import Whole
from cableferry.engine import artifacts, collecting, commits, files, uploads
from cableferry.engine.collecting import Keeping
from cableferry.engine.reading import Depot, StoredFile
from cableferry.store.blobs import Stored
from cableferry.store.blobs.opening import open_blobs
from cableferry.store.files import Blob, Piece
from cableferry.store.tx import statement
from tests.engine.world import MANAGER, World
from tests.protocol.machine import Ground

PLACES = statement(
    "places_with_rows", "SELECT place FROM blob_pieces UNION ALL SELECT place FROM upload_pieces ORDER BY place"
)
AT_ONCE = Keeping(Retention(), patience=timedelta(days=9000), grace=timedelta(0), orphans=timedelta(0))
HOUR = timedelta(hours=1)

# few of both, so that the same bytes and the same names come again
paths = st.sampled_from(["a", "b", "a/b", "a b#?%.csv", "\u00fc", "u\u0308"])
contents = st.sampled_from([b"", b"one", b"two", b"three" * 100])


class Kept(NamedTuple):
    """What a path holds: bytes, or only what was said of some."""

    sha256: str
    content: bytes | None


class Known:
    """An artifact as the model knows it."""

    def __init__(self) -> None:
        self.files: dict[str, Kept] = {}
        self.stage = Stage.CREATED

    @property
    def is_open(self) -> bool:
        return self.stage in (Stage.CREATED, Stage.UPLOADING)

    @property
    def sha256(self) -> str:
        """The formula of the protocol."""
        if len(self.files) == 1:
            return next(iter(self.files.values())).sha256
        whole = "".join(f"{path}:{self.files[path].sha256}" for path in sorted(self.files))
        return hashlib.sha256(whole.encode()).hexdigest()


class Files(RuleBasedStateMachine):
    """A run over one database and one store of bytes; what is deleted is never heard of again."""

    ground: Ground
    known = Bundle("known")
    begun = Bundle("begun")

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.ground.store, self.ground.clock)
        self.world.clock.passes(seconds=1)
        self.depot = Depot(self.ground.store, open_blobs("memory:///"))
        self.model: dict[str, Known] = {}
        self.collect()

    def teardown(self) -> None:
        for id_ in self.model:
            self.world.write(artifacts.delete, id_, MANAGER)
        self.collect()
        asyncio.run(self.depot.blobs.close())

    @rule(target=known)
    def create(self) -> str:
        artifact: Artifact = self.world.write(artifacts.create, Draft())
        self.model[artifact.id] = Known()
        return artifact.id

    @rule(id_=known, path=paths, content=contents)
    def put(self, id_: str, path: str, content: bytes) -> None:
        blob = Blob(_sha256(content), len(content), (Piece(self._stored(content).place, len(content)),))

        if self._is_taken(id_, lambda: self.world.write(files.attach, id_, Description(path), blob, MANAGER)):
            self._hold(id_, path, content)

    @rule(id_=known, path=paths, content=contents)
    def declare(self, id_: str, path: str, content: bytes) -> None:
        said = Declared(_sha256(content), len(content))

        if self._is_taken(id_, lambda: self.world.write(files.declare, id_, Description(path), said, MANAGER)):
            self.model[id_].files[path] = Kept(_sha256(content), None)
            self.model[id_].stage = Stage.UPLOADING

    @rule(id_=known, path=paths)
    def remove(self, id_: str, path: str) -> None:
        was_there = id_ in self.model and path in self.model[id_].files
        outcome = _refused(lambda: self.world.write(files.remove, id_, path, MANAGER))

        assert self._expected(id_, NotFound if not was_there else None) == outcome
        if outcome is None:
            del self.model[id_].files[path]

    @rule(target=begun, id_=known, path=paths, content=contents)
    def begin(self, id_: str, path: str, content: bytes) -> tuple[str, str, str, bytes]:
        """An upload in two parts, the first of which is there."""
        said = Beginning(Description(path))
        if not self._is_taken(id_, lambda: self.world.write(uploads.create, id_, said, MANAGER, HOUR)):
            return id_, "", path, content
        upload = uploads_of(self.world, id_)
        self.world.write(uploads.append, upload, 0, self._stored(content[:2]), MANAGER)
        return id_, upload, path, content

    @rule(upload=consumes(begun))
    def complete(self, upload: tuple[str, str, str, bytes]) -> None:
        id_, upload_id, path, content = upload
        rest = self._stored(content[2:])
        if not upload_id:
            return
        appended = _refused(lambda: self.world.write(uploads.append, upload_id, len(content[:2]), rest, MANAGER))
        assert (appended is None) == (id_ in self.model and self.model[id_].is_open)
        if appended is None:
            revision = self.world.read(uploads.get, upload_id, MANAGER).revision
            self.world.write(uploads.complete, upload_id, Whole(revision, _sha256(content), len(content)), MANAGER)
            self._hold(id_, path, content)

    @rule(id_=known)
    def commit(self, id_: str) -> None:
        def commit() -> None:
            examined = commits.examine(self.depot, id_, MANAGER, Declared())
            self.world.write(artifacts.commit, id_, MANAGER, Declared(), examined)

        known = self.model.get(id_)
        may = known is not None and (not known.is_open or bool(known.files))
        assert (None if may else NotFound if known is None else Conflict) == _refused(commit)
        if known is not None and may and known.is_open:
            known.stage = Stage.COMMITTED
            assert known.sha256 == self.world.read(artifacts.get, id_).sha256

    @rule(id_=known)
    def delete(self, id_: str) -> None:
        outcome = _refused(lambda: self.world.write(artifacts.delete, id_, MANAGER))

        assert (None if id_ in self.model else NotFound) == outcome
        self.model.pop(id_, None)

    @rule()
    def collect(self) -> None:
        """Everything that nobody refers to goes, and nothing else."""
        asyncio.run(collecting.collect(self.depot, AT_ONCE))

        known = {row[0] for row in self.ground.store.read(lambda tx: tx.all(PLACES))}
        assert known == self._places()

    @invariant()
    def every_file_has_its_bytes(self) -> None:
        for id_, known in self.model.items():
            artifact = self.world.read(artifacts.get, id_)
            listed = {file.path: file for file in self.world.read(files.find, id_, "", Page()).files}
            assert known.stage is artifact.stage
            assert {path: kept.sha256 for path, kept in known.files.items()} == {
                path: file.sha256 for path, file in listed.items()
            }
            for path, kept in known.files.items():
                found = b"".join(StoredFile(self.depot, listed[path]).chunks()) if listed[path].is_stored else None
                assert kept.content == found

    def _stored(self, content: bytes) -> Stored:
        async def store() -> Stored:
            sink = self.depot.blobs.sink()
            await sink.write(content)
            stored = await sink.finish()
            sink.release()
            return stored

        return asyncio.run(store())

    def _places(self) -> set[str]:
        async def listed() -> set[str]:
            return {found.place async for found in self.depot.blobs.places()}

        return asyncio.run(listed())

    def _hold(self, id_: str, path: str, content: bytes) -> None:
        self.model[id_].files[path] = Kept(_sha256(content), content)
        self.model[id_].stage = Stage.UPLOADING

    def _is_taken(self, id_: str, work: Callable[[], object]) -> bool:
        outcome = _refused(work)
        assert self._expected(id_, None) == outcome
        return outcome is None

    def _expected(self, id_: str, otherwise: type[Refusal] | None) -> type[Refusal] | None:
        if id_ not in self.model:
            return NotFound
        return otherwise if self.model[id_].is_open else Conflict


def uploads_of(world: World, id_: str) -> str:
    """The upload that was begun last."""
    return str(max(world.read(uploads.under_way, id_, MANAGER), key=lambda upload: upload.key).id)


def _refused(work: Callable[[], object]) -> type[Refusal] | None:
    try:
        work()
    except Refusal as refusal:
        return type(refusal)
    return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
