"""Artifacts for people who look on: bytes by a plain link, folders, and the jobs that one came from and went to."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import media
from cableferry.core.access import Need
from cableferry.dialects.dispositions import attachment
from cableferry.dialects.endpoint import Call, Content, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.engine import files, folders, lineage
from cableferry.store.tx import Tx
from cableferry.wire import texts
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import artifacts as wire
from cableferry.wire.ui import jobs as job_wire

# whatever others wrote: no page of ours, no script, no form, and no type but the one that is said
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_SANDBOX = "sandbox; default-src 'none'"

Path = Annotated[str, Meta(max_length=4096, pattern=texts.NO_NUL)]


class ProvenanceQuery(msgspec.Struct, frozen=True):
    """How many jobs away from the artifact."""

    levels: Annotated[int, Meta(ge=1, le=lineage.MOST_LEVELS)] = 3


class TreeQuery(msgspec.Struct, frozen=True):
    """Which folder, the outermost if none is named; with `q`, the files anywhere whose path contains it."""

    folder: Path = ""
    q: Path = ""
    after: Path = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


def download(tx: Tx, call: Call) -> Content:
    stored = files.get(tx, call.path["artifact_id"], call.path["path"])
    file = stored.file
    if not file.is_stored:
        raise files.no_content(file, stored.artifact.id)
    return Content(
        pieces=tuple((piece.place, piece.size_bytes) for piece in stored.pieces),
        size_bytes=file.size_bytes or 0,
        content_type=file.content_type or media.UNKNOWN,
        etag=f'"{file.sha256}"',
        modified_at=file.created_at,
        headers={**_GUARDS, "Content-Disposition": attachment(file.path), "Content-Security-Policy": _SANDBOX},
        sha256=file.sha256,
    )


def provenance(tx: Tx, call: Call) -> wire.Provenance:
    found = lineage.of(tx, desk(call).rules.pool, call.path["artifact_id"], call.query.levels)
    ties = [
        wire.TieItem(found.artifacts[tie.artifact].id, found.jobs[tie.job].id, tie.used_as.value)
        for tie in found.ties.values()
    ]
    shown = [wire.row(each) for each in found.artifacts.values()]
    return wire.Provenance(shown, [job_wire.row(job) for job in found.jobs.values()], ties, found.is_cut)


def tree(tx: Tx, call: Call) -> wire.Tree:
    artifact, query = call.path["artifact_id"], call.query
    if query.q:
        found = folders.sought(tx, artifact, query.q, query.after, query.limit)
    else:
        found = folders.inside(tx, artifact, query.folder.strip("/"), query.after, query.limit)
    shown = [wire.FolderItem(each.path, each.files, each.size_bytes) for each in found.folders]
    after = found.files[-1].path if found.has_more else None
    return wire.Tree(shown, [wire.file(each) for each in found.files], after)


_ONE = f"{PREFIX}/artifacts/{{artifact_id}}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{_ONE}/files/{{path:path}}", download, Need.READ, "Save a file by a plain link, whole or in ranges",
        answer=None, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{_ONE}/tree", tree, Need.READ, "List what is in a folder of an artifact, or the files that are sought",
        answer=wire.Tree, query=TreeQuery, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{_ONE}/provenance", provenance, Need.READ, "Show the jobs and artifacts that an artifact came from",
        answer=wire.Provenance, query=ProvenanceQuery, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
