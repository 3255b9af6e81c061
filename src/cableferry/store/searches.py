"""Rows by any of their columns, in several orders, a page at a time: for people who look around."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from cableferry.core.artifacts import Artifact, File
from cableferry.core.jobs import Job, Transition
from cableferry.core.searches import Match, Place, Search
from cableferry.core.workers import Worker
from cableferry.store import artifacts, files, history, jobs, workers
from cableferry.store.tx import Row, Tx, micros, statement

T = TypeVar("T")

Keys = tuple[int, int]
EVERY: Keys = (0, 2**63 - 1)

_NOTHING = Match()
# SQLite looks past upper and lower case by itself
_EACH, _LIKE = "json_each(?)", "LIKE"
_PG_EACH, _PG_LIKE = "json_array_elements_text(?::json)", "ILIKE"
_WAYS = {False: ("ASC", ">"), True: ("DESC", "<")}


class Found(msgspec.Struct, Generic[T], frozen=True):
    """A value, and where it stands in the order that was asked for."""

    value: T
    place: Place


class Table(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """What can be asked of one kind of row; `key` bounds what is looked at, and the first order is the usual one.

    `sought` are the columns in which a text is looked for.
    """

    name: str
    columns: str
    source: str
    key: str
    conditions: Mapping[str, str]
    orders: Mapping[str, tuple[str, ...]]
    value: Callable[[Row], T]
    pool: str | None = None
    sought: tuple[str, ...] = ()


JOBS: Table[Job] = Table(
    name="jobs",
    columns=jobs.COLUMNS,
    source="jobs j",
    key="j.key",
    conditions={
        "id": "j.id", "status": "j.state", "processor": "j.processor", "profile": "j.profile", "worker_id": "j.worker",
        "submit_user": "j.submit_user", "slurm_job_id": "j.slurm_job_id",
        "output_artifact_id": "j.output_artifact_id", "created_at": "j.created_at", "updated_at": "j.touched_at",
    },
    orders={"created_at": ("j.key",), "updated_at": ("j.touched_at", "j.key")},
    value=jobs.job_of,
    pool="j.pool = ?",
    sought=(
        "j.id", "j.processor", "j.profile", "j.submit_user", "j.worker", "j.slurm_job_id", "j.detail", "j.message",
    ),
)  # fmt: skip
TRANSITIONS: Table[Transition] = Table(
    name="transitions",
    columns=history.COLUMNS,
    source="transitions t",
    key="t.job_key",
    conditions={
        "job_id": "(SELECT o.id FROM jobs o WHERE o.key = t.job_key)", "from_status": "t.old", "to_status": "t.new",
        "worker_id": "t.worker", "actor": "t.actor", "timestamp": "t.at",
    },
    orders={"job_id": ("t.job_key", "t.seq"), "timestamp": ("t.at", "t.job_key", "t.seq")},
    value=history.transition_of,
    pool="EXISTS (SELECT 1 FROM jobs j WHERE j.key = t.job_key AND j.pool = ?)",
)  # fmt: skip
WORKERS: Table[Worker] = Table(
    name="workers",
    columns=workers.COLUMNS,
    source="workers w",
    key="0",
    conditions={"worker_id": "w.id", "hostname": "w.hostname", "last_heartbeat_at": "w.seen_at"},
    orders={"worker_id": ("w.id",), "last_heartbeat_at": ("w.seen_at", "w.id")},
    value=workers.worker_of,
    pool="w.pool = ?",
)
ARTIFACTS: Table[Artifact] = Table(
    name="artifacts",
    columns=artifacts.COLUMNS,
    source="artifacts a",
    key="a.key",
    conditions={
        "id": "a.id", "name": "a.name", "type": "a.type", "format": "a.format", "residence": "a.residence",
        "status": "a.state", "sha256": "a.sha256", "job_id": "a.job_id", "created_by": "a.created_by",
        "created_at": "a.created_at",
    },
    orders={
        "created_at": ("a.key",), "updated_at": ("a.touched_at", "a.key"), "name": ("coalesce(a.name, '')", "a.key"),
        "size_bytes": ("coalesce(a.size_bytes, -1)", "a.key"),
    },
    value=artifacts.artifact_of,
)  # fmt: skip
FILES: Table[File] = Table(
    name="files",
    columns=files.COLUMNS,
    source="files f",
    key="f.artifact_key",
    conditions={
        "artifact_id": "(SELECT o.id FROM artifacts o WHERE o.key = f.artifact_key)", "path": "f.path",
        "role": "f.role", "sha256": "f.sha256", "content_type": "f.content_type",
    },
    orders={
        "path": ("f.artifact_key", "f.path"),
        "size_bytes": ("coalesce(f.size_bytes, -1)", "f.artifact_key", "f.path"),
    },
    value=files.file_of,
)  # fmt: skip

_TIMES = frozenset({"created_at", "updated_at", "timestamp", "last_heartbeat_at"})
_CONTAINED = frozenset({"name", "path", "hostname"})
_TEXTS = frozenset({"w.id", "f.path", "coalesce(a.name, '')"})


def _where(table: Table[T], each: str, like: str) -> str:
    """Every condition there is; one that is not asked for is given as null and lets every row through."""
    parts = [table.pool] if table.pool else []
    parts.append(f"{table.key} BETWEEN ? AND ?")
    if table.sought:
        found = " OR ".join(f"{column} {like} ? ESCAPE '!'" for column in table.sought)
        parts.append(f"(CAST(? AS TEXT) IS NULL OR {found})")
    for name, column in table.conditions.items():
        if name in _TIMES:
            parts += [f"(CAST(? AS BIGINT) IS NULL OR {column} {sign} ?)" for sign in (">=", "<=")]
        else:
            parts.append(f"(CAST(? AS TEXT) IS NULL OR {column} IN (SELECT value FROM {each}))")
        if name in _CONTAINED:
            parts.append(
                f"(CAST(? AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM {each} AS e"
                f" WHERE lower({column}) LIKE e.value ESCAPE '!'))"
            )
    return " AND ".join(parts)


def _page(table: Table[T], order: str, is_descending: bool, each: str, like: str) -> str:
    columns = table.orders[order]
    direction, sign = _WAYS[is_descending]
    behind = f"({', '.join(columns)}) {sign} ({', '.join('?' * len(columns))})"
    ordered = ", ".join(f"{column} {direction}" for column in columns)
    where = f"{_where(table, each, like)} AND (CAST(? AS BIGINT) IS NULL OR {behind})"
    return f"""SELECT {", ".join(columns)}, {table.columns} FROM {table.source}
        WHERE {where} ORDER BY {ordered} LIMIT ? OFFSET ?"""


_TABLES: tuple[Table[Any], ...] = (JOBS, TRANSITIONS, WORKERS, ARTIFACTS, FILES)
_PAGES = {
    (table.name, order, is_descending): statement(
        f"{table.name}_by_{order}{'_descending' if is_descending else ''}",
        sqlite=_page(table, order, is_descending, _EACH, _LIKE),
        postgres=_page(table, order, is_descending, _PG_EACH, _PG_LIKE),
    )
    for table in _TABLES
    for order in table.orders
    for is_descending in _WAYS
}
_COUNTS = {
    table.name: statement(
        f"{table.name}_counted",
        sqlite=f"SELECT count(*) FROM {table.source} WHERE {_where(table, _EACH, _LIKE)}",
        postgres=f"SELECT count(*) FROM {table.source} WHERE {_where(table, _PG_EACH, _PG_LIKE)}",
    )
    for table in _TABLES
}

_LAST_JOB = statement("last_job_key", "SELECT coalesce(max(key), 0) FROM jobs")


def find(tx: Tx, table: Table[T], pool: str, search: Search, keys: Keys = EVERY) -> list[Found[T]]:
    """A page of what is asked for, among the rows whose key lies between these two."""
    order = search.order or next(iter(table.orders))
    columns = table.orders[order]
    bounds = _tightened(keys, search) if columns[0] == table.key else keys
    behind = (None, *(None for _ in columns)) if search.behind is None else (1, *search.behind)
    params = (*_asked(table, pool, search, bounds), *behind, search.limit, search.offset)
    rows = tx.all(_PAGES[table.name, order, search.is_descending], params)
    return [Found(table.value(row[len(columns) :]), row[: len(columns)]) for row in rows]


def count(tx: Tx, table: Table[T], pool: str, search: Search, keys: Keys = EVERY) -> int:
    """How many rows are asked for, on all pages together."""
    return int(cast(Row, tx.one(_COUNTS[table.name], _asked(table, pool, search, keys)))[0])


def latest(tx: Tx, most: int) -> Keys:
    """The keys of so many jobs at the most, which came last."""
    last = int(cast(Row, tx.one(_LAST_JOB))[0])
    return max(0, last - most + 1), last


def is_place(table: Table[T], order: str, place: Place) -> bool:
    """Whether a row could stand there in this order."""
    columns = table.orders[order]
    return len(place) == len(columns) and all(map(_is_value, columns, place))


def _is_value(column: str, value: str | int) -> bool:
    if column in _TEXTS:
        return isinstance(value, str) and "\0" not in value
    return isinstance(value, int) and abs(value) < 2**63


def _tightened(keys: Keys, search: Search) -> Keys:
    """In the order of age a page begins right where the one before it ended."""
    if search.behind is None:
        return keys
    first, last = keys
    place = int(search.behind[0])
    return (first, min(last, place)) if search.is_descending else (max(first, place), last)


def _asked(table: Table[T], pool: str, search: Search, keys: Keys) -> Row:
    matches = (part for name in table.conditions for part in _match(name, search.matches.get(name, _NOTHING)))
    text = None if search.text is None else _pattern(search.text)
    sought = (text,) * (len(table.sought) + 1) if table.sought else ()
    return (*([pool] if table.pool else ()), *keys, *sought, *matches)


def _match(name: str, match: Match) -> Iterator[str | int | None]:
    """The values for the parts that `_where` has for a column."""
    if name in _TIMES:
        since, until = micros(match.since), micros(match.until)
        yield from (since, since, until, until)
    else:
        yield from _twice(match.equals)
    if name in _CONTAINED:
        yield from _twice(None if match.contains is None else [_pattern(text) for text in match.contains])


def _twice(texts: Sequence[str] | None) -> tuple[str | None, str | None]:
    encoded = None if texts is None else msgspec.json.encode(list(texts)).decode()
    return encoded, encoded


def _pattern(text: str) -> str:
    escaped = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
