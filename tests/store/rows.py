"""Statements that these tests write and count with."""

from cableferry.store.tx import Store, Tx, micros, statement

ADD = statement("row_added", "INSERT INTO throttles (subject, failures, last_at, blocked_until) VALUES (?, ?, 0, 0)")
BUMP = statement("row_bumped", "UPDATE throttles SET failures = failures + 1 WHERE subject = ?")
BUMP_BY = statement("row_bumped_by", "UPDATE throttles SET failures = failures + ? WHERE subject = ?")
ALL = statement("rows", "SELECT subject, failures FROM throttles ORDER BY subject")
ONE = statement("row", "SELECT subject, failures FROM throttles WHERE subject = ?")
ADD_MANY = statement(
    "rows_added",
    sqlite="INSERT INTO throttles (subject, failures, last_at, blocked_until) VALUES (?, ?, 0, 0)",
    postgres="""INSERT INTO throttles (subject, failures, last_at, blocked_until)
    SELECT subject, failures, 0, 0 FROM unnest(?::text[], ?::bigint[]) AS new (subject, failures)""",
)
ADD_JOB = statement(
    "job",
    """INSERT INTO jobs (id, pool, state, attempt, epoch, revision, processor, profile, priority,
    created_at, moved_at, touched_at) VALUES (?, 'p', ?, 1, 0, 1, ?, ?, 0, ?, ?, ?)""",
)
MOVE_JOB = statement("job_moved", "UPDATE jobs SET state = ? WHERE id = ?")
DELETE_JOB = statement("job_deleted", "DELETE FROM jobs WHERE id = ?")


def add(tx: Tx, *subjects: str) -> None:
    for subject in subjects:
        tx.run(ADD, (subject, 0))


def add_job(tx: Tx, id: str, state: str = "ready", processor: str = "x", profile: str | None = None) -> None:
    at = micros(tx.now)
    tx.run(ADD_JOB, (id, state, processor, profile, at, at, at))


def subjects(store: Store) -> list[str]:
    return [subject for subject, _ in store.read(lambda tx: tx.all(ALL))]
