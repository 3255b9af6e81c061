"""Many pending jobs at once: copies of the one that is there, row for row."""

from collections.abc import Sequence
from functools import partial

from cableferry.store import connect
from cableferry.store.tx import Statement, Store, Tx, statement

_BATCH = 50_000
_COLUMNS = statement("columns", "SELECT name FROM pragma_table_info(?) ORDER BY cid")
_NUMBERS = """WITH RECURSIVE numbers (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"""
# ids keep the order and the shape of real ones: the time in front, the rest scattered by a multiplication
_ID = "substr(j.id, 1, 8) || printf('-%04x-7%03x-8%03x-%012x', n >> 12, n & 4095, n % 4093, n * 2654435761)"


def pending_jobs(database: str, count: int) -> None:
    """Add so many copies of the first job, its body and its history to a SQLite database."""
    store = connect.open_store(database)
    try:
        copies = [
            _copy(store, "jobs", "key", _ID),
            _copy(store, "job_bodies", "job_key"),
            _copy(store, "transitions", "job_key"),
        ]
        for first in range(2, count + 2, _BATCH):
            store.write(partial(_run, copies, first, min(first + _BATCH, count + 2) - 1))
    finally:
        store.close()


def _run(copies: Sequence[Statement], first: int, last: int, tx: Tx) -> int:
    """One transaction: every table's rows of the jobs from first to last."""
    return sum(tx.run(copy, (first, last)) for copy in copies)


def _copy(store: Store, table: str, key: str, id_: str = "j.id") -> Statement:
    """Rows of the first job under the keys of the others."""
    columns = store.read(lambda tx: _names(tx, table))
    values = {key: "n", "id": id_}
    chosen = ", ".join(values.get(column, f"j.{column}") for column in columns)
    source = f"{_NUMBERS} SELECT {chosen} FROM numbers, {table} j WHERE j.{key} = 1"  # noqa: S608  # names of the schema
    text = f"INSERT INTO {table} ({', '.join(columns)}) {source}"
    return statement(f"copied_{table}", text)


def _names(tx: Tx, table: str) -> list[str]:
    return [str(name) for (name,) in tx.all(_COLUMNS, (table,))]
