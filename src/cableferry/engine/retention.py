"""What becomes of artifacts by themselves: stalled ones fail, and those that were kept long enough go."""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from cableferry.core import retention
from cableferry.core.artifacts import Artifact
from cableferry.core.retention import Retention
from cableferry.engine import artifacts
from cableferry.store import artifacts as artifact_rows
from cableferry.store import retention as rows
from cableferry.store import uploads
from cableferry.store.tx import News, Tx

LOOKED_AT_ONCE = 500
CHANGED_AT_ONCE = 50


class Due(msgspec.Struct, frozen=True):
    """An artifact that fails or goes, and why."""

    artifact: Artifact
    becomes: Literal["failed", "deleted"]
    reason: str


class Page(msgspec.Struct, frozen=True):
    """What may go of a page of artifacts, and behind which key the next page begins; None behind the last one."""

    due: list[Due]
    last: int | None


def stalled(tx: Tx, patience: timedelta, most: int = CHANGED_AT_ONCE) -> list[Due]:
    """Open artifacts that nothing was sent to for so long."""
    found = rows.stalled(tx, tx.now - patience, most)
    return [Due(artifact, "failed", retention.stalled(artifact)) for artifact in found]


def fail_stalled(tx: Tx, patience: timedelta, most: int = CHANGED_AT_ONCE) -> list[Due]:
    """Fail them; the bytes of their unfinished uploads are given up with them."""
    return [due for each in stalled(tx, patience, most) if (due := _fail(tx, each, tx.now - patience)) is not None]


def look(tx: Tx, kept: Retention, after: int, most: int = LOOKED_AT_ONCE) -> Page:
    """What may go by now of the next artifacts in the order of their age."""
    cut = kept.cut(tx.now)
    page = rows.page(tx, after, most) if cut is not None else []
    old = [artifact for artifact in page if cut is not None and artifact.created_at <= cut]
    uses = rows.uses(tx, [artifact.key for artifact in old]) if old else {}
    said = ((artifact, retention.why(kept, artifact, uses[artifact.key], tx.now)) for artifact in old)
    due = [Due(artifact, "deleted", reason) for artifact, reason in said if reason is not None]
    # keys grow with age, so whatever follows one that is too young is too young as well
    return Page(due, page[-1].key if page and len(old) == len(page) == most else None)


def delete_due(tx: Tx, kept: Retention, id: str) -> Due | None:
    """Delete an artifact that still may go, now that nobody else can take it up."""
    artifact = artifact_rows.lock(tx, id)
    if artifact is None:
        return None
    reason = retention.why(kept, artifact, rows.uses(tx, [artifact.key])[artifact.key], tx.now)
    if reason is None:
        return None
    uploads.bury_of_artifact(tx, artifact.key)
    artifact_rows.delete(tx, artifact)
    tx.announce(News("artifact", id, "deleted"))
    return Due(artifact, "deleted", reason)


def _fail(tx: Tx, due: Due, since: datetime) -> Due | None:
    artifact = artifact_rows.lock(tx, due.artifact.id)
    if artifact is None or not artifact.is_open or artifact.touched_at > since:
        return None
    return Due(artifacts.give_up(tx, artifact, due.reason), due.becomes, due.reason)
