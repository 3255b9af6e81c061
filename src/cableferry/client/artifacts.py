"""Artifacts of a server of the EMX2 protocol, as a Python client."""

import contextlib
from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from cableferry.client import verbs
from cableferry.client.answers import Artifact, ArtifactList, File, FileList
from cableferry.client.http import Content, Streaming
from cableferry.client.verbs import Verbs
from cableferry.wire.emx2 import artifacts as wire

HOME = "/artifacts"
PAGE = 1000
# one large file is hashed before there is an answer
VERIFY_SECONDS = 1800
COLLECT_SECONDS = 3600


class Wanted(msgspec.Struct, frozen=True):
    """Which artifacts of a list; `q` is part of a name or the beginning of an id."""

    status: str | None = None
    type: str | None = None
    format: str | None = None
    residence: str | None = None
    name: str | None = None
    job_id: str | None = None
    q: str | None = None
    order: str | None = None


class Description(msgspec.Struct, frozen=True):
    """What is said of a file besides its bytes."""

    path: str
    content_type: str | None = None
    role: str | None = None


class Artifacts:
    """The artifacts of one server; every method is one call, repeated until it is answered or patience ends."""

    def __init__(self, ask: Verbs) -> None:
        self._ask = ask

    def create(self, body: wire.CreateArtifactBody, key: str | None = None) -> Artifact:
        return verbs.read(self._ask.post(HOME, body, key), Artifact)

    def get(self, id: str) -> Artifact:
        return verbs.read(self._ask.get(_at(id)), Artifact)

    def page(self, wanted: Wanted, limit: int = 100, offset: int = 0) -> ArtifactList:
        fields = msgspec.structs.asdict(wanted) | {"limit": limit, "offset": offset or None}
        return verbs.read(self._ask.get(HOME + verbs.query(fields)), ArtifactList)

    def find(self, wanted: Wanted, most: int | None = None) -> Iterator[Artifact]:
        """All artifacts of a list, page by page, or the first ones."""
        seen = 0
        while most is None or seen < most:
            page = self.page(wanted, PAGE if most is None else min(PAGE, most - seen), seen)
            yield from page.items
            seen += len(page.items)
            if not page.items or seen >= page.total_count:
                return

    def commit(self, id: str, sha256: str | None = None, size_bytes: int | None = None) -> Artifact:
        """Committing the same again changes nothing, so this needs no key."""
        return verbs.read(self._ask.tell(f"{_at(id)}/commit", wire.CommitBody(sha256, size_bytes)), Artifact)

    def delete(self, id: str) -> None:
        self._ask.delete(_at(id))

    def verify(self, id: str) -> Iterator[wire.VerifiedBody]:
        """Have the server hash an artifact's bytes again, portion by portion."""
        after = ""
        while True:
            reply = self._ask.tell(f"{_at(id)}/verify", wire.VerifyBody(after), VERIFY_SECONDS)
            portion = verbs.read(reply, wire.VerifiedBody)
            yield portion
            if portion.after is None:
                return
            after = portion.after

    def collect(self, is_rehearsal: bool) -> wire.CollectionBody:
        """Remove what is to go, or only hear what would."""
        reply = self._ask.tell(f"{HOME}/collect", wire.CollectBody(is_rehearsal), COLLECT_SECONDS)
        return verbs.read(reply, wire.CollectionBody)

    def files(self, id: str, prefix: str = "") -> Iterator[File]:
        """All files, page by page, also of servers that know pages by their offset only."""
        seen = 0
        while True:
            query = verbs.query({"prefix": prefix or None, "limit": PAGE, "offset": seen or None})
            page = verbs.read(self._ask.get(f"{_at(id)}/files{query}"), FileList)
            yield from page.items
            seen += len(page.items)
            if not page.items or seen >= page.total_count:
                return

    def put(self, id: str, said: Description, content: Content) -> File:
        """Bring a file in one request."""
        headers = {"Content-Type": said.content_type or "application/octet-stream"}
        target = file_at(id, said.path) + verbs.query({"role": said.role})
        return verbs.read(self._ask.put(target, content, headers), File)

    def declare(self, id: str, path: str, body: wire.FileMetadataBody) -> File:
        """Note a file whose bytes lie elsewhere."""
        return verbs.read(self._ask.put(file_at(id, path), body), File)

    def remove(self, id: str, path: str) -> None:
        self._ask.delete(file_at(id, path))

    @contextlib.contextmanager
    def reading(self, id: str, path: str, start: int = 0) -> Iterator[Streaming]:
        """The bytes of a file from some byte on; a server without ranges begins at the first."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self._ask.reading(file_at(id, path), headers) as streaming:
            yield streaming


def _at(id: str) -> str:
    return f"{HOME}/{verbs.part(id)}"


def file_at(id: str, path: str) -> str:
    return f"{_at(id)}/files/{quote(path, safe='/~')}"
