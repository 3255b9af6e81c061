"""Which artifacts may have been kept long enough, a page at a time, and what jobs make of them."""

from collections.abc import Collection
from datetime import datetime

import msgspec

from cableferry.core.artifacts import Artifact
from cableferry.core.retention import Uses
from cableferry.store.artifacts import COLUMNS, artifact_of
from cableferry.store.tx import Tx, micros, moment, statement

_KEYS = "(SELECT value FROM json_each(?))"
_PG_KEYS = "(SELECT json_array_elements_text(?::json)::bigint)"
_SILENT = "touched_at <= ? AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.artifact_key = artifacts.key AND"
_SILENT += " u.touched_at > ?) ORDER BY touched_at LIMIT ?"

_STALLED = statement(
    "artifacts_stalled",
    f"SELECT {COLUMNS} FROM artifacts WHERE (state = 'created' OR state = 'uploading') AND {_SILENT}",
)
_FORGOTTEN = statement(
    "artifacts_never_committed", f"SELECT {COLUMNS} FROM artifacts WHERE state = 'registered' AND {_SILENT}"
)
# a page of all artifacts, whether they may go or not: then every page costs the same
_PAGE = statement(
    "artifacts_by_age",
    f"SELECT {COLUMNS} FROM artifacts WHERE key > ? ORDER BY key LIMIT ?",
)
_COUNTED = """count(j.key),
    count(CASE WHEN u.used_as = 'input' AND j.state NOT IN ('succeeded', 'failed', 'cancelled') THEN 1 END),
    count(CASE WHEN u.used_as <> 'input' THEN 1 END)
    FROM artifacts a LEFT JOIN artifact_uses u ON u.artifact_key = a.key LEFT JOIN jobs j ON j.key = u.job_key"""
_USES = statement(
    "uses_of_artifacts",
    sqlite=f"SELECT a.key, a.last_used_at, {_COUNTED} WHERE a.key IN {_KEYS} GROUP BY a.key, a.last_used_at",
    postgres=f"SELECT a.key, a.last_used_at, {_COUNTED} WHERE a.key IN {_PG_KEYS} GROUP BY a.key, a.last_used_at",
)
_RELEASE = statement(
    "artifacts_released",
    """UPDATE artifacts SET last_used_at = ?
    WHERE key IN (SELECT artifact_key FROM artifact_uses WHERE job_key = ?)""",
)


def stalled(tx: Tx, since: datetime, most: int) -> list[Artifact]:
    """Open artifacts that nothing was sent to since then, the longest silent first."""
    params = (micros(since), micros(since), most)
    return [artifact_of(row) for asked in (_STALLED, _FORGOTTEN) for row in tx.all(asked, params)]


def page(tx: Tx, after: int, most: int) -> list[Artifact]:
    """The next artifacts in the order of their age."""
    return [artifact_of(row) for row in tx.all(_PAGE, (after, most))]


def uses(tx: Tx, keys: Collection[int]) -> dict[int, Uses]:
    """What jobs make of each of these artifacts."""
    rows = tx.all(_USES, (msgspec.json.encode(list(keys)).decode(),))
    return {key: Uses(takers, makers, jobs, moment(used_at)) for key, used_at, jobs, takers, makers in rows}


def release(tx: Tx, job_key: int) -> None:
    """Note on the artifacts that a job uses that it did until now, since it is about to be deleted."""
    tx.run(_RELEASE, (micros(tx.now), job_key))
