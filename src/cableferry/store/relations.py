"""What belongs to many rows at once: one statement for all of them, however many there are."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, cast

import msgspec

from cableferry.core.artifacts import Artifact, File, Use
from cableferry.core.jobs import Job, Transition
from cableferry.core.workers import Worker
from cableferry.store import artifacts, files, history, jobs, workers
from cableferry.store.searches import Keys
from cableferry.store.tx import Row, Statement, Tx, statement

_IDS = "(SELECT value FROM json_each(?))"
_PG_IDS = "(SELECT json_array_elements_text(?::json))"
_PG_KEYS = "(SELECT json_array_elements_text(?::json)::bigint)"
# as the index says it
_IS_HELD = "(x.state = 'claimed' OR x.state = 'submitted' OR x.state = 'running' OR x.state = 'suspect')"


class _Few(NamedTuple):
    """The first few rows of each owner, which an index of `table` leads to; `x` is one of them."""

    table: str
    key: str
    owner: str
    where: str
    order: str


def _of_each(name: str, columns: str, few: _Few, rest: str, *, are_texts: bool = False) -> Statement:
    """SQLite looks up the few keys of an owner and then their rows, PostgreSQL takes the rows at once."""
    table, key, owner, where, order = few
    chosen = f"FROM {table} x WHERE x.{owner} = k.owner AND {where} ORDER BY {order} LIMIT ?"
    cast_as = "" if are_texts else "::bigint"
    return statement(
        name,
        sqlite=f"""SELECT {columns} FROM (SELECT value AS owner FROM json_each(?)) AS k
        JOIN {table} r ON r.{owner} = k.owner AND r.{key} IN (SELECT x.{key} {chosen}) {rest}""",
        postgres=f"""SELECT {columns} FROM (SELECT json_array_elements_text(?::json){cast_as} AS owner) AS k
        CROSS JOIN LATERAL (SELECT x.* {chosen}) AS r {rest}""",
    )


_TRANSITIONS = _of_each(
    "transitions_of_jobs",
    history.COLUMNS,
    _Few("transitions", "seq", "job_key", "x.seq > ?", "x.seq"),
    "ORDER BY r.job_key, r.seq",
)
_FILES = _of_each(
    "files_of_artifacts",
    files.COLUMNS,
    _Few("files", "key", "artifact_key", "x.path > ? AND x.path >= ? AND x.path < ?", "x.path"),
    "ORDER BY r.artifact_key, r.path",
)
_INPUTS = _of_each(
    "inputs_of_jobs",
    f"r.job_key, {artifacts.COLUMNS}",
    _Few("artifact_uses", "artifact_key", "job_key", f"x.used_as = '{Use.INPUT}'", "x.artifact_key"),
    f"JOIN artifacts ON key = r.artifact_key WHERE r.used_as = '{Use.INPUT}' ORDER BY r.job_key, r.artifact_key",
)
_USER = f"r.artifact_key, r.used_as, {jobs.COLUMNS}"
_JOB = "JOIN jobs j ON j.key = r.job_key WHERE j.pool = ?"
_LATEST = " ORDER BY r.artifact_key, r.job_key DESC, r.used_as"
# the latest jobs first: an artifact may have been used for years
_USERS = _of_each(
    "users_of_artifacts",
    _USER,
    _Few("artifact_uses", "job_key", "artifact_key", "x.job_key > 0", "x.job_key DESC"),
    _JOB + _LATEST,
)
_MAKERS = _of_each(
    "makers_of_artifacts",
    _USER,
    _Few("artifact_uses", "job_key", "artifact_key", f"x.used_as <> '{Use.INPUT}'", "x.job_key DESC"),
    f"{_JOB} AND r.used_as <> '{Use.INPUT}' {_LATEST}",
)
_TAKERS = _of_each(
    "takers_of_artifacts",
    _USER,
    _Few("artifact_uses", "job_key", "artifact_key", f"x.used_as = '{Use.INPUT}'", "x.job_key DESC"),
    f"{_JOB} AND r.used_as = '{Use.INPUT}' {_LATEST}",
)
_PRODUCTS = _of_each(
    "products_of_jobs",
    f"r.job_key, r.used_as, {artifacts.COLUMNS}",
    _Few("artifact_uses", "artifact_key", "job_key", f"x.used_as <> '{Use.INPUT}'", "x.artifact_key"),
    f"JOIN artifacts ON key = r.artifact_key WHERE r.used_as <> '{Use.INPUT}' ORDER BY r.job_key, r.artifact_key",
)
_HELD = _of_each(
    "jobs_held_by_workers",
    jobs.COLUMNS,
    _Few("jobs", "key", "worker", _IS_HELD, "x.key"),
    "JOIN jobs j ON j.key = r.key ORDER BY j.worker, j.key",
    are_texts=True,
)
_WORKERS = statement(
    "workers_by_ids",
    sqlite=f"SELECT {workers.COLUMNS} FROM workers WHERE id IN {_IDS}",
    postgres=f"SELECT {workers.COLUMNS} FROM workers WHERE id IN {_PG_IDS}",
)
_ARTIFACTS = statement(
    "artifacts_by_keys",
    sqlite=f"SELECT {artifacts.COLUMNS} FROM artifacts WHERE key IN {_IDS}",
    postgres=f"SELECT {artifacts.COLUMNS} FROM artifacts WHERE key IN {_PG_KEYS}",
)
_KEYS_OF = {
    table: statement(
        f"keys_of_{table}",
        sqlite=f"SELECT min(key), max(key) FROM {table} WHERE id IN {_IDS}",
        postgres=f"SELECT min(key), max(key) FROM {table} WHERE id IN {_PG_IDS}",
    )
    for table in ("jobs", "artifacts")
}


class User(msgspec.Struct, frozen=True):
    """A job that uses an artifact, and as what."""

    artifact_key: int
    used_as: Use
    job: Job


def transitions(tx: Tx, job_keys: Collection[int], after: int, most: int) -> list[Transition]:
    """The first transitions of each job behind a sequence number."""
    return [history.transition_of(row) for row in tx.all(_TRANSITIONS, (_json(job_keys), after, most))]


def files_of(tx: Tx, artifact_keys: Collection[int], prefix: str, after: str, most: int) -> list[File]:
    """The first files of each artifact that begin with a prefix and come behind a path."""
    params = (_json(artifact_keys), after, prefix, prefix + files.END, most)
    return [files.file_of(row) for row in tx.all(_FILES, params)]


def inputs(tx: Tx, job_keys: Collection[int], most: int) -> list[tuple[int, Artifact]]:
    """The artifacts that each job takes as input, each with the key of its job."""
    return [(row[0], artifacts.artifact_of(row[1:])) for row in tx.all(_INPUTS, (_json(job_keys), most))]


def users(tx: Tx, pool: str, artifact_keys: Collection[int], most: int) -> list[User]:
    """The latest jobs that use each artifact."""
    return _users(tx.all(_USERS, (_json(artifact_keys), most, pool)))


def makers(tx: Tx, pool: str, artifact_keys: Collection[int], most: int) -> list[User]:
    """The latest jobs that made each artifact, as their output or their log."""
    return _users(tx.all(_MAKERS, (_json(artifact_keys), most, pool)))


def takers(tx: Tx, pool: str, artifact_keys: Collection[int], most: int) -> list[User]:
    """The latest jobs that took each artifact as input."""
    return _users(tx.all(_TAKERS, (_json(artifact_keys), most, pool)))


def products(tx: Tx, job_keys: Collection[int], most: int) -> list[tuple[int, Use, Artifact]]:
    """What each job made, each with the key of its job."""
    rows = tx.all(_PRODUCTS, (_json(job_keys), most))
    return [(row[0], Use(row[1]), artifacts.artifact_of(row[2:])) for row in rows]


def held(tx: Tx, worker_ids: Collection[str], most: int) -> list[Job]:
    """The first jobs that each worker holds."""
    return [jobs.job_of(row) for row in tx.all(_HELD, (_json(worker_ids), most))]


def workers_of(tx: Tx, ids: Collection[str]) -> list[Worker]:
    return [workers.worker_of(row) for row in tx.all(_WORKERS, (_json(ids),))]


def artifacts_of(tx: Tx, keys: Collection[int]) -> list[Artifact]:
    return [artifacts.artifact_of(row) for row in tx.all(_ARTIFACTS, (_json(keys),))]


def keys_of(tx: Tx, table: str, ids: Collection[str]) -> Keys | None:
    """Between which keys the rows of these ids lie; nowhere if there are none."""
    first, last = cast(Row, tx.one(_KEYS_OF[table], (_json(ids),)))
    return None if first is None else (first, last)


def _users(rows: Sequence[Row]) -> list[User]:
    return [User(row[0], Use(row[1]), jobs.job_of(row[2:])) for row in rows]


def _json(values: Collection[str] | Collection[int]) -> str:
    return msgspec.json.encode(list(values)).decode()
