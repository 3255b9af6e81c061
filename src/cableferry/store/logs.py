"""Rows of logs, of their bytes, and of who follows them."""

from datetime import datetime
from typing import cast

from cableferry.core.logs import ROW_BYTES, Chunk, Log
from cableferry.store.tx import Row, Tx, micros, moment, statement

COLUMNS = "key, job_key, attempt, stream, size_bytes, is_cut, touched_at, sealed_at, purged_at"

_OF_JOB = statement("logs_of_job", f"SELECT {COLUMNS} FROM logs WHERE job_key = ? ORDER BY attempt, stream")
_GET = statement("log_by_stream", f"SELECT {COLUMNS} FROM logs WHERE job_key = ? AND attempt = ? AND stream = ?")
_ADD = statement(
    "log_added",
    """INSERT INTO logs (job_key, attempt, stream, size_bytes, is_cut, touched_at) VALUES (?, ?, ?, 0, 0, ?)
    RETURNING key""",
)
_SAVE = statement("log_grown", "UPDATE logs SET size_bytes = ?, is_cut = ?, touched_at = ? WHERE key = ?")
_CHUNKS = statement(
    "log_chunks",
    "SELECT start, content FROM log_chunks WHERE log_key = ? AND start > ? AND start < ? ORDER BY start",
)
_LAST = statement(
    "last_log_chunk", "SELECT start, content FROM log_chunks WHERE log_key = ? ORDER BY start DESC LIMIT 1"
)
_ADD_CHUNK = statement("log_chunk_added", "INSERT INTO log_chunks (log_key, start, content) VALUES (?, ?, ?)")
_GROW_CHUNK = statement("log_chunk_grown", "UPDATE log_chunks SET content = ? WHERE log_key = ? AND start = ?")

_WATCH = statement(
    "log_watched",
    """INSERT INTO log_watches (job_key, until_at) VALUES (?, ?)
    ON CONFLICT (job_key) DO UPDATE SET until_at = excluded.until_at WHERE log_watches.until_at < excluded.until_at""",
)
_IS_WATCHED = statement("is_log_watched", "SELECT 1 FROM log_watches WHERE job_key = ? AND until_at > ?")
# few are watched and many are held, so the watched ones come first
_WATCHED = """FROM log_watches w {join} jobs j ON j.key = w.job_key WHERE w.until_at > ? AND j.worker = ?
    AND (j.state = 'claimed' OR j.state = 'submitted' OR j.state = 'running' OR j.state = 'suspect') ORDER BY j.key"""
_WATCHED_OF_WORKER = statement(
    "watched_jobs_of_worker",
    sqlite=f"SELECT j.id {_WATCHED.format(join='CROSS JOIN')}",
    postgres=f"SELECT j.id {_WATCHED.format(join='JOIN')}",
)
_FORGET_WATCHES = statement("old_log_watches_removed", "DELETE FROM log_watches WHERE until_at < ?")

_SETTLED = statement(
    "ended_jobs_with_open_logs",
    """SELECT DISTINCT j.id FROM logs l JOIN jobs j ON j.key = l.job_key WHERE l.sealed_at IS NULL AND j.pool = ?
    AND (j.state = 'succeeded' OR j.state = 'failed' OR j.state = 'cancelled') AND j.ended_at <= ? LIMIT ?""",
)
_SEAL = statement("logs_of_job_sealed", "UPDATE logs SET sealed_at = ? WHERE job_key = ? AND sealed_at IS NULL")
_SEALED = statement(
    "logs_sealed_before",
    f"""SELECT {COLUMNS} FROM logs WHERE sealed_at < ? AND sealed_at IS NOT NULL AND purged_at IS NULL
    ORDER BY sealed_at LIMIT ?""",
)
# from the end, so that what is left still begins where the log does
_PURGE_CHUNKS = statement(
    "log_chunks_purged",
    """DELETE FROM log_chunks WHERE log_key = ? AND start >= (SELECT min(start) FROM
    (SELECT start FROM log_chunks WHERE log_key = ? ORDER BY start DESC LIMIT ?) AS last)""",
)
_PURGED = statement("log_purged", "UPDATE logs SET purged_at = ? WHERE key = ?")


def of_job(tx: Tx, job_key: int) -> list[Log]:
    return [log_of(row) for row in tx.all(_OF_JOB, (job_key,))]


def get(tx: Tx, job_key: int, attempt: int, stream: str) -> Log | None:
    row = tx.one(_GET, (job_key, attempt, stream))
    return log_of(row) if row else None


def add(tx: Tx, job_key: int, attempt: int, stream: str) -> Log:
    row = cast(Row, tx.one(_ADD, (job_key, attempt, stream, micros(tx.now))))
    return Log(row[0], job_key, attempt, stream, 0, False, tx.now)


def save(tx: Tx, log: Log) -> int:
    return tx.run(_SAVE, (log.size_bytes, int(log.is_cut), micros(log.touched_at), log.key))


def chunks(tx: Tx, log_key: int, start: int, most: int) -> list[Chunk]:
    """The rows that hold the bytes from `start` on; the first one may begin before it."""
    rows = tx.all(_CHUNKS, (log_key, start - ROW_BYTES, start + most))
    return [chunk for chunk in map(_chunk_of, rows) if chunk.start + len(chunk.content) > start]


def last_chunk(tx: Tx, log_key: int) -> Chunk | None:
    row = tx.one(_LAST, (log_key,))
    return _chunk_of(row) if row else None


def add_chunk(tx: Tx, log_key: int, chunk: Chunk) -> None:
    tx.run(_ADD_CHUNK, (log_key, chunk.start, chunk.content))


def grow_chunk(tx: Tx, log_key: int, chunk: Chunk) -> None:
    tx.run(_GROW_CHUNK, (chunk.content, log_key, chunk.start))


def watch(tx: Tx, job_key: int, until: datetime) -> None:
    """Note that somebody follows; a later note counts."""
    tx.run(_WATCH, (job_key, micros(until)))


def is_watched(tx: Tx, job_key: int) -> bool:
    return tx.one(_IS_WATCHED, (job_key, micros(tx.now))) is not None


def watched_of(tx: Tx, worker: str) -> list[str]:
    """The jobs that a worker holds and somebody follows."""
    return [row[0] for row in tx.all(_WATCHED_OF_WORKER, (micros(tx.now), worker))]


def forget_watches(tx: Tx) -> int:
    return tx.run(_FORGET_WATCHES, (micros(tx.now),))


def settled(tx: Tx, pool: str, before: datetime, most: int) -> list[str]:
    """Jobs that ended before then and whose logs are still open."""
    return [row[0] for row in tx.all(_SETTLED, (pool, micros(before), most))]


def seal(tx: Tx, job_key: int) -> int:
    return tx.run(_SEAL, (micros(tx.now), job_key))


def sealed(tx: Tx, before: datetime, most: int) -> list[Log]:
    """Logs that were sealed before then and still have their bytes here, the oldest first."""
    return [log_of(row) for row in tx.all(_SEALED, (micros(before), most))]


def purge(tx: Tx, log: Log, most: int) -> int:
    """Remove its bytes, at most so many rows of them; that there was a log stays known. Return how many rows went."""
    gone = tx.run(_PURGE_CHUNKS, (log.key, log.key, most))
    if gone < most:
        tx.run(_PURGED, (micros(tx.now), log.key))
    return gone


def log_of(row: Row) -> Log:
    values = (*row[:5], bool(row[5]), cast(datetime, moment(row[6])), moment(row[7]), moment(row[8]))
    return Log(*values)


def _chunk_of(row: Row) -> Chunk:
    return Chunk(row[0], bytes(row[1]))
