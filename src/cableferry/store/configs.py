"""Rows of configurations: those that have names, and those that jobs were launched with."""

from cableferry.store.tx import Tx, micros, statement

_PUT = statement(
    "config_put",
    """INSERT INTO configs (pool, name, content, changed_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (pool, name) DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at""",
)
_GET = statement("config_by_name", "SELECT content FROM configs WHERE pool = ? AND name = ?")
_NAMES = statement("config_names", "SELECT name FROM configs WHERE pool = ? ORDER BY name")
_DELETE = statement("config_deleted", "DELETE FROM configs WHERE pool = ? AND name = ?")
_KEEP = statement("job_config_kept", "INSERT INTO job_configs (job_key, content) VALUES (?, ?)")
_OF_JOB = statement("config_of_job", "SELECT content FROM job_configs WHERE job_key = ?")


def put(tx: Tx, pool: str, name: str, content: str) -> None:
    """Keep a configuration under a name, in place of an earlier one."""
    tx.run(_PUT, (pool, name, content, micros(tx.now)))


def get(tx: Tx, pool: str, name: str) -> str | None:
    row = tx.one(_GET, (pool, name))
    return None if row is None else str(row[0])


def names(tx: Tx, pool: str) -> list[str]:
    return [row[0] for row in tx.all(_NAMES, (pool,))]


def delete(tx: Tx, pool: str, name: str) -> int:
    return tx.run(_DELETE, (pool, name))


def keep(tx: Tx, job_key: int, content: str) -> None:
    """Keep what a job was launched with for as long as there is the job."""
    tx.run(_KEEP, (job_key, content))


def of_job(tx: Tx, job_key: int) -> str | None:
    row = tx.one(_OF_JOB, (job_key,))
    return None if row is None else str(row[0])
