"""Which jobs look different since they were last shown elsewhere: kept until whoever shows them has done so."""

from collections.abc import Collection

import msgspec

from cableferry.store.tx import Tx, micros, statement

# a job that changes again while it is being shown gets a later mark, which showing the earlier one does not remove
_MARK = statement(
    "job_marked",
    sqlite="""INSERT INTO unprojected (pool, job_id, marked_at) VALUES (?, ?, ?)
    ON CONFLICT (pool, job_id) DO UPDATE SET marked_at = max(excluded.marked_at, unprojected.marked_at + 1)""",
    postgres="""INSERT INTO unprojected (pool, job_id, marked_at)
    SELECT * FROM unnest(?::text[], ?::text[], ?::bigint[])
    ON CONFLICT (pool, job_id) DO UPDATE SET marked_at = greatest(excluded.marked_at, unprojected.marked_at + 1)""",
)
_MARKED = statement(
    "marked_jobs", "SELECT job_id, marked_at FROM unprojected WHERE pool = ? ORDER BY marked_at LIMIT ?"
)
_UNMARK = statement(
    "job_unmarked",
    sqlite="DELETE FROM unprojected WHERE pool = ? AND job_id = ? AND marked_at = ?",
    postgres="""DELETE FROM unprojected u USING unnest(?::text[], ?::text[], ?::bigint[]) AS n (pool, job_id, marked_at)
    WHERE u.pool = n.pool AND u.job_id = n.job_id AND u.marked_at = n.marked_at""",
)
_MARK_ALL = statement(
    "all_jobs_marked",
    """INSERT INTO unprojected (pool, job_id, marked_at) SELECT pool, id, CAST(? AS BIGINT) FROM jobs WHERE pool = ?
    ON CONFLICT (pool, job_id) DO NOTHING""",
)


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A job that has changed, and a number that a later change replaces."""

    job: str
    at: int


def mark(tx: Tx, pool: str, ids: Collection[str]) -> None:
    tx.run_many(_MARK, [(pool, job_id, micros(tx.now)) for job_id in sorted(ids)])


def mark_all(tx: Tx, pool: str) -> int:
    return tx.run(_MARK_ALL, (micros(tx.now), pool))


def marked(tx: Tx, pool: str, most: int) -> list[Mark]:
    """The jobs that wait longest to be shown."""
    return [Mark(*row) for row in tx.all(_MARKED, (pool, most))]


def unmark(tx: Tx, pool: str, shown: Collection[Mark]) -> int:
    """Forget the marks of jobs that were shown, save those that changed again meanwhile."""
    return tx.run_many(_UNMARK, [(pool, mark.job, mark.at) for mark in shown])
