"""Rows of a job's history: one per move and one per report that moved nothing."""

from collections.abc import Collection
from datetime import datetime
from datetime import timedelta as _span

import msgspec
from msgspec import Raw

from cableferry.core.jobs import Cause, Job, Payload, State, Transition
from cableferry.store.tx import EPOCH, Row, Tx, micros, statement

_STATES = {state.value: state for state in State}

_HISTORY = {
    "job_key": "bigint", "seq": "bigint", "attempt": "bigint", "epoch": "bigint", "old": "text", "new": "text",
    "cause": "text", "actor": "text", "at": "bigint", "worker": "text", "detail": "text", "slurm_job_id": "text",
    "output_artifact_id": "text", "log_artifact_id": "text", "phase": "text", "message": "text",
    "progress": "float8", "remarks": "text",
}  # fmt: skip
COLUMNS = ", ".join(_HISTORY)
_RECORD = statement(
    "transition_added",
    sqlite=f"INSERT INTO transitions ({', '.join(_HISTORY)}) VALUES ({', '.join('?' * len(_HISTORY))})",
    postgres=f"""INSERT INTO transitions ({", ".join(_HISTORY)})
    SELECT * FROM unnest({", ".join(f"?::{kind}[]" for kind in _HISTORY.values())})""",
)
_HISTORY_OF = statement(
    "history_of_job",
    f"SELECT {COLUMNS} FROM transitions WHERE job_key = ? AND seq > ? ORDER BY seq LIMIT ?",
)
_REPORTS_OF = statement(
    "reports_of_state",
    f"""SELECT {COLUMNS} FROM transitions WHERE job_key = ? AND attempt = ? AND new = ?
    ORDER BY seq DESC LIMIT 100""",
)
_RECENT = statement(
    "recent_transitions",
    f"""SELECT {", ".join(f"t.{name}" for name in _HISTORY)} FROM transitions t
    WHERE t.at >= ? AND (t.at, t.job_key, t.seq) < (?, ?, ?)
    AND EXISTS (SELECT 1 FROM jobs j WHERE j.key = t.job_key AND j.pool = ?)
    AND (CAST(? AS TEXT) IS NULL OR t.actor = ?) AND (CAST(? AS TEXT) IS NULL OR t.new = ?)
    ORDER BY t.at DESC, t.job_key DESC, t.seq DESC LIMIT ?""",
)


class Sought(msgspec.Struct, frozen=True):
    """Since which moment, before which place in all histories together, by whom, and to which state."""

    since: datetime
    before: tuple[int, ...] = (2**62, 2**62, 2**62)
    actor: str | None = None
    state: State | None = None


def record(tx: Tx, transitions: Collection[Transition]) -> None:
    tx.run_many(_RECORD, [_history_row(transition) for transition in transitions])


def of_job(tx: Tx, job_key: int, after: int, most: int) -> list[Transition]:
    return [transition_of(row) for row in tx.all(_HISTORY_OF, (job_key, after, most))]


def reports(tx: Tx, job: Job, state: State) -> list[Transition]:
    """The latest reports of one state in the job's present attempt, newest first."""
    return [transition_of(row) for row in tx.all(_REPORTS_OF, (job.key, job.attempt, state.value))]


def recent(tx: Tx, pool: str, sought: Sought, most: int) -> list[Transition]:
    """Of all jobs together, the latest first."""
    to = sought.state and sought.state.value
    params = (micros(sought.since), *sought.before, pool, sought.actor, sought.actor, to, to, most)
    return [transition_of(row) for row in tx.all(_RECENT, params)]


def place(of: Transition) -> tuple[int, int, int]:
    """Where it stands among all histories together."""
    return micros(of.at) or 0, of.job_key, of.seq


def _history_row(t: Transition) -> Row:
    p = t.payload
    return (
        t.job_key, t.seq, t.attempt, t.epoch, t.old and t.old.value, t.new.value, t.cause and t.cause.value, t.actor,
        micros(t.at), p.worker, p.detail, p.slurm_job_id, p.output_artifact_id, p.log_artifact_id, p.phase,
        p.message, p.progress, None if p.remarks is None else bytes(p.remarks).decode(),
    )  # fmt: skip


def transition_of(row: Row) -> Transition:
    values = (
        *row[:4],
        _STATES[row[4]] if row[4] else None,
        _STATES[row[5]],
        Cause(row[6]) if row[6] else None,
        row[7],
        EPOCH + _span(microseconds=row[8]),
        _payload(row[9:]),
    )
    return Transition(*values)


def _payload(row: Row) -> Payload:
    *said, remarks = row
    values = (*said, Raw(remarks.encode()) if remarks else None)
    return Payload(*values)
