"""Rows of artifacts, and which jobs they are the input or the output of."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast

import msgspec

from cableferry.core.artifacts import Artifact, Draft, Filter, Residence, Stage, Use, first_stage
from cableferry.core.paging import Page
from cableferry.store.tx import Row, Statement, Tx, micros, moment, statement

COLUMNS = """key, id, state, revision, type, format, residence, name, metadata, content_url, job_id, sha256,
    declared_sha256, size_bytes, table_schema, schema_error, detail, created_by, created_at, touched_at, committed_at"""
_FROM = f"SELECT {COLUMNS} FROM artifacts"
_IDS = "(SELECT value FROM json_each(?))"
_PG_IDS = "(SELECT json_array_elements_text(?::json))"
_STAGES = {stage.value: stage for stage in Stage}
_RESIDENCES = {residence.value: residence for residence in Residence}

_INSERT = statement(
    "artifact_added",
    """INSERT INTO artifacts (id, state, revision, type, format, residence, name, metadata, content_url, job_id,
    created_by, created_at, touched_at) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key""",
)
_GET = statement("artifact_by_id", f"{_FROM} WHERE id = ?")
_LOCK = statement("artifact_by_id_locked", sqlite=f"{_FROM} WHERE id = ?", postgres=f"{_FROM} WHERE id = ? FOR UPDATE")
_FIND_MANY = statement(
    "artifacts_by_ids", sqlite=f"{_FROM} WHERE id IN {_IDS}", postgres=f"{_FROM} WHERE id IN {_PG_IDS}"
)
# whoever uses an artifact keeps it from being deleted, and lets others use it too
_HOLD_MANY = statement(
    "artifacts_by_ids_held",
    sqlite=f"{_FROM} WHERE id IN {_IDS}",
    postgres=f"{_FROM} WHERE id IN {_PG_IDS} ORDER BY key FOR SHARE",
)
_SAVE = statement(
    "artifact_changed",
    """UPDATE artifacts SET state = ?, revision = ?, sha256 = ?, declared_sha256 = ?, size_bytes = ?, table_schema = ?,
    schema_error = ?, detail = ?, touched_at = ?, committed_at = ? WHERE key = ? AND revision = ?""",
)
_DELETE = statement("artifact_deleted", "DELETE FROM artifacts WHERE key = ?")
_NEWEST_NAMED = statement(
    "newest_artifact_of_name", f"{_FROM} WHERE name = ? AND state = 'committed' ORDER BY key DESC LIMIT 1"
)

_USE = statement(
    "artifact_used",
    """INSERT INTO artifact_uses (artifact_key, job_key, used_as)
    SELECT key, ?, ? FROM artifacts WHERE id = ? ON CONFLICT DO NOTHING""",
)
_USED_BY = statement(
    "jobs_using_artifact",
    """SELECT j.id FROM artifact_uses u JOIN jobs j ON j.key = u.job_key WHERE u.artifact_key = ? AND u.used_as = ?
    AND j.state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY j.key LIMIT 3""",
)

# a name or a job leads into an index, whatever else is asked; the rest is compared row by row
_MATCHES = """(CAST(? AS TEXT) IS NULL OR state = ?) AND (CAST(? AS TEXT) IS NULL OR type = ?)
    AND (CAST(? AS TEXT) IS NULL OR format = ?) AND (CAST(? AS TEXT) IS NULL OR residence = ?)
    AND (CAST(? AS TEXT) IS NULL OR name = ?) AND (CAST(? AS TEXT) IS NULL OR job_id = ?)
    AND (CAST(? AS TEXT) IS NULL OR lower(name) LIKE ? ESCAPE '!' OR id LIKE ? ESCAPE '!')"""
_LEADS = {"": "", "name": "name = ? AND ", "job_id": "job_id = ? AND "}


class _Search(msgspec.Struct, frozen=True):
    """The statements of one way into the rows."""

    oldest: Statement
    newest: Statement
    counting: Statement


def _search(led_by: str) -> _Search:
    suffix, where = f"_of_{led_by}" if led_by else "", f"WHERE {_LEADS[led_by]}{_MATCHES}"
    return _Search(
        statement(f"artifacts_page{suffix}", f"{_FROM} {where} ORDER BY key LIMIT ? OFFSET ?"),
        statement(f"newest_artifacts_page{suffix}", f"{_FROM} {where} ORDER BY key DESC LIMIT ? OFFSET ?"),
        statement(f"artifacts_count{suffix}", f"SELECT count(*) FROM artifacts {where}"),
    )


_SEARCHES = {led_by: _search(led_by) for led_by in _LEADS}


def add(tx: Tx, id: str, draft: Draft) -> Artifact:
    stage, now = first_stage(draft.residence), micros(tx.now)
    said = (draft.type, draft.format, draft.residence.value, draft.name, bytes(draft.metadata).decode())
    params = (id, stage.value, *said, draft.content_url, draft.job_id, draft.created_by, now, now)
    key = cast(Row, tx.one(_INSERT, params))[0]
    return Artifact(
        key=key, id=id, stage=stage, revision=1, type=draft.type, format=draft.format, residence=draft.residence,
        name=draft.name, metadata=draft.metadata, content_url=draft.content_url, job_id=draft.job_id, sha256=None,
        declared_sha256=None, size_bytes=None, table_schema=None, schema_error=None, detail=None,
        created_by=draft.created_by, created_at=tx.now, touched_at=tx.now, committed_at=None,
    )  # fmt: skip


def get(tx: Tx, id: str) -> Artifact | None:
    row = tx.one(_GET, (id,))
    return artifact_of(row) if row else None


def lock(tx: Tx, id: str) -> Artifact | None:
    """The artifact as it is now and stays until this transaction ends."""
    row = tx.one(_LOCK, (id,))
    return artifact_of(row) if row else None


def find_many(tx: Tx, ids: Collection[str]) -> dict[str, Artifact]:
    return _by_id(tx.all(_FIND_MANY, (_json(ids),)))


def hold_many(tx: Tx, ids: Collection[str]) -> dict[str, Artifact]:
    """The same, kept from being changed or deleted until this transaction ends."""
    return _by_id(tx.all(_HOLD_MANY, (_json(ids),)))


def newest_named(tx: Tx, name: str) -> Artifact | None:
    row = tx.one(_NEWEST_NAMED, (name,))
    return artifact_of(row) if row else None


def find(tx: Tx, wanted: Filter, page: Page, newest_first: bool = False) -> list[Artifact]:
    """A page in the order of age."""
    search, params = _asked(wanted)
    rows = tx.all(search.newest if newest_first else search.oldest, (*params, page.limit, page.offset))
    return [artifact_of(row) for row in rows]


def count(tx: Tx, wanted: Filter) -> int:
    search, params = _asked(wanted)
    return int(cast(Row, tx.one(search.counting, params))[0])


def save(tx: Tx, before: Artifact, after: Artifact) -> int:
    """Write the artifact as it became, if it still is as it was."""
    a = after
    schema = None if a.table_schema is None else bytes(a.table_schema).decode()
    content = (a.sha256, a.declared_sha256, a.size_bytes, schema, a.schema_error, a.detail)
    times = (micros(a.touched_at), micros(a.committed_at))
    return tx.run(_SAVE, (a.stage.value, a.revision, *content, *times, before.key, before.revision))


def delete(tx: Tx, artifact: Artifact) -> int:
    return tx.run(_DELETE, (artifact.key,))


def use(tx: Tx, job_key: int, used_as: Use, ids: Collection[str]) -> None:
    """Note what an artifact is to a job."""
    for each in ids:
        tx.run(_USE, (job_key, used_as.value, each))


def unfinished_users(tx: Tx, artifact: Artifact, used_as: Use) -> list[str]:
    """Some of the jobs that are not over and use this artifact."""
    return [row[0] for row in tx.all(_USED_BY, (artifact.key, used_as.value))]


def _asked(wanted: Filter) -> tuple[_Search, Sequence[str | None]]:
    """The way into the rows, and its parameters."""
    led_by = "name" if wanted.name is not None else "job_id" if wanted.job_id is not None else ""
    lead = (getattr(wanted, led_by),) if led_by else ()
    exact = (wanted.stage, wanted.type, wanted.format, wanted.residence, wanted.name, wanted.job_id)
    pairs = [text for value in exact for text in (_text(value), _text(value))]
    return _SEARCHES[led_by], (*lead, *pairs, *_pattern(wanted.search))


def _text(value: str | None) -> str | None:
    return None if value is None else str(value)


def _pattern(search: str | None) -> tuple[str | None, str, str]:
    """Part of a name, or how an id begins."""
    text = (search or "").lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return search, f"%{text}%", f"{text}%"


def _by_id(rows: Sequence[Row]) -> dict[str, Artifact]:
    return {row[1]: artifact_of(row) for row in rows}


def _json(values: Collection[str]) -> str:
    return msgspec.json.encode(list(values)).decode()


def artifact_of(row: Row) -> Artifact:
    values = (
        *row[:2],
        _STAGES[row[2]],
        *row[3:6],
        _RESIDENCES[row[6]],
        row[7],
        msgspec.Raw(row[8].encode()),
        *row[9:14],
        None if row[14] is None else msgspec.Raw(row[14].encode()),
        *row[15:18],
        cast(datetime, moment(row[18])),
        cast(datetime, moment(row[19])),
        moment(row[20]),
    )
    return Artifact(*values)
