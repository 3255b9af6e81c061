"""Artifacts for people who look on: bytes by a plain link, and which jobs an artifact came from and went to."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import media
from cableferry.core.access import Need
from cableferry.core.artifacts import Artifact, Use
from cableferry.dialects.dispositions import attachment
from cableferry.dialects.endpoint import Call, Content, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.engine import artifacts, browsing, files
from cableferry.store.tx import Tx
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
_MOST_INPUTS = 50


class ProvenanceQuery(msgspec.Struct, frozen=True):
    """How many of the latest jobs around the artifact."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


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
    """What a job took is told of those that made this artifact."""
    limit = call.query.limit
    artifact = artifacts.get(tx, call.path["artifact_id"])
    found = browsing.users(tx, desk(call).rules.pool, [artifact.key], limit + 1)
    shown = found[:limit]
    makers = [each.job.key for each in shown if each.used_as is not Use.INPUT]
    taken: dict[int, list[Artifact]] = {}
    for key, each in browsing.inputs(tx, makers, _MOST_INPUTS) if makers else ():
        taken.setdefault(key, []).append(each)
    items = [
        wire.UseItem(use.used_as.value, job_wire.row(use.job), [wire.row(each) for each in taken.get(use.job.key, ())])
        for use in shown
    ]
    return wire.Provenance(items, len(items), len(found) > limit)


_ONE = f"{PREFIX}/artifacts/{{artifact_id}}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{_ONE}/files/{{path:path}}", download, Need.READ, "Save a file by a plain link, whole or in ranges",
        answer=None, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{_ONE}/provenance", provenance, Need.READ, "Show the jobs that made or used an artifact",
        answer=wire.Provenance, query=ProvenanceQuery, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
