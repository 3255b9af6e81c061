"""Artifacts of a server of the EMX2 protocol, as a Python client."""

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import msgspec

from cableferry.client import verbs
from cableferry.client.answers import Artifact, ArtifactList, File, FileList, Upload, UploadList
from cableferry.client.errors import BadAnswer
from cableferry.client.http import Content, Streaming
from cableferry.client.verbs import Verbs
from cableferry.wire import tus
from cableferry.wire.emx2 import artifacts as wire

HOME = "/artifacts"
PAGE = 1000
PART_BYTES = 32 * 1024 * 1024
_TUS = {"Tus-Resumable": tus.VERSION}
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
    """The artifacts of one server; every method is one call, repeated until it is answered or patience ends.

    Files larger than `part_bytes` come in parts of that size, where the server takes them so.
    """

    def __init__(self, ask: Verbs) -> None:
        self._ask = ask
        self.part_bytes = PART_BYTES

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

    def options(self, id: str) -> Mapping[str, str]:
        """What uploads into an artifact may do, as headers."""
        return self._ask.send("OPTIONS", f"{_at(id)}/uploads").headers

    def uploads(self, id: str, path: str = "") -> list[Upload]:
        """Uploads that are under way, those to this path first."""
        query = verbs.query({"path": path or None})
        return verbs.read(self._ask.get(f"{_at(id)}/uploads{query}"), UploadList).items

    def begin(self, id: str, said: Description, size_bytes: int, sha256: str) -> Upload:
        """Begin an upload that may be continued."""
        about = {"path": said.path, "filetype": said.content_type, "role": said.role, "sha256": sha256}
        headers = {
            "Upload-Length": str(size_bytes),
            "Upload-Metadata": tus.written({name: value for name, value in about.items() if value is not None}),
            "Idempotency-Key": str(uuid.uuid4()),
        }
        reply = self._ask.send("POST", f"{_at(id)}/uploads", headers={**_TUS, **headers})
        begun = reply.headers.get("location", "").rpartition("/")[2]
        if not begun:
            raise BadAnswer("the server began an upload and does not say where")
        return Upload(begun, said.path, 0, size_bytes, sha256)

    def upload(self, upload_id: str) -> Upload:
        return verbs.read(self._ask.get(_upload(upload_id)), Upload)

    def append(self, upload_id: str, offset: int, content: Content) -> int:
        """Bring the next bytes; where those after them belong."""
        headers = {**_TUS, "Upload-Offset": str(offset), "Content-Type": tus.PART_TYPE}
        reply = self._ask.send("PATCH", _upload(upload_id), content, headers)
        after = reply.headers.get("upload-offset", "")
        if not after.isdecimal():
            raise BadAnswer("the server took a part and does not say where the next one belongs")
        return int(after)

    def give_up(self, upload_id: str) -> None:
        self._ask.delete(_upload(upload_id))

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


def _upload(upload_id: str) -> str:
    return f"/uploads/{verbs.part(upload_id)}"


def file_at(id: str, path: str) -> str:
    return f"{_at(id)}/files/{quote(path, safe='/~')}"
