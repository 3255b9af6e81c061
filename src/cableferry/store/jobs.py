"""Rows of jobs, their history and their tombstones."""

from collections.abc import Collection, Sequence
from datetime import datetime
from datetime import timedelta as _span
from typing import cast

import msgspec

from cableferry.core.jobs import Cause, Draft, Job, Preference, State, Wish
from cableferry.core.policy import Place
from cableferry.core.workers import Load
from cableferry.store.tx import EPOCH, Row, Tx, micros, statement

# bodies by subquery: joined rows of this width cost SQLite ten times as much to read
_PLAIN = Job.__struct_fields__[:32]
_PLACED = ("preferred_worker", "is_pinned", "kept_for", "remarks")
COLUMNS = ", ".join(f"j.{name}" for name in (*_PLAIN, *_PLACED))
COLUMNS += """, (SELECT b.parameters FROM job_bodies b WHERE b.job_key = j.key),
    (SELECT b.inputs FROM job_bodies b WHERE b.job_key = j.key)"""
_FROM = "FROM jobs j"
_IDS = "(SELECT value FROM json_each(?))"
_PG_IDS = "(SELECT json_array_elements_text(?::json))"
_PG_KEYS = "(SELECT json_array_elements_text(?::json)::bigint)"
_IS_HELD = "(state = 'claimed' OR state = 'submitted' OR state = 'running' OR state = 'suspect')"
_STATES = {state.value: state for state in State}

_INSERT = statement(
    "job_added",
    """INSERT INTO jobs (id, pool, state, attempt, epoch, revision, processor, profile, priority,
    timeout_seconds, submit_user, created_by, created_at, moved_at, touched_at, preferred_worker, is_pinned,
    kept_for, due_at)
    VALUES (?, ?, ?, 1, 0, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key""",
)
_INSERT_BODY = statement("job_body_added", "INSERT INTO job_bodies (job_key, parameters, inputs) VALUES (?, ?, ?)")
_GET = statement("job_by_id", f"SELECT {COLUMNS} {_FROM} WHERE j.id = ?")
_LOCK = statement(
    "job_by_id_locked",
    sqlite=f"SELECT {COLUMNS} {_FROM} WHERE j.id = ?",
    postgres=f"SELECT {COLUMNS} {_FROM} WHERE j.id = ? FOR UPDATE OF j",
)
_LOCK_MANY = statement(
    "jobs_by_ids_locked",
    sqlite=f"SELECT {COLUMNS} {_FROM} WHERE j.id IN {_IDS}",
    postgres=f"SELECT {COLUMNS} {_FROM} WHERE j.id IN {_PG_IDS} ORDER BY j.key FOR UPDATE OF j",
)
_BY_KEYS = statement(
    "jobs_by_keys",
    sqlite=f"SELECT {COLUMNS} {_FROM} WHERE j.key IN {_IDS}",
    postgres=f"SELECT {COLUMNS} {_FROM} WHERE j.key IN {_PG_KEYS}",
)

_FIND_MANY = statement(
    "jobs_by_ids",
    sqlite=f"SELECT {COLUMNS} {_FROM} WHERE j.id IN {_IDS}",
    postgres=f"SELECT {COLUMNS} {_FROM} WHERE j.id IN {_PG_IDS}",
)

# what a change may touch, with the type of each on Postgres, in the order of _changed
_CHANGED = {
    "state": "text", "wish": "text", "cause": "text", "attempt": "bigint", "epoch": "bigint", "revision": "bigint",
    "worker": "text", "slurm_job_id": "text", "output_artifact_id": "text", "log_artifact_id": "text",
    "detail": "text", "phase": "text", "message": "text", "progress": "float8", "moved_at": "bigint",
    "touched_at": "bigint", "claimed_at": "bigint", "submitted_at": "bigint", "started_at": "bigint",
    "ended_at": "bigint", "due_at": "bigint", "ends_by": "bigint", "preferred_worker": "text",
    "is_pinned": "bigint", "kept_for": "text", "remarks": "text",
}  # fmt: skip
_SAVE = statement(
    "job_changed",
    sqlite=f"UPDATE jobs SET {', '.join(f'{name} = ?' for name in _CHANGED)} WHERE key = ? AND revision = ?",
    postgres=f"""UPDATE jobs SET {", ".join(f"{name} = n.{name}" for name in _CHANGED)}
    FROM unnest({", ".join(f"?::{kind}[]" for kind in _CHANGED.values())}, ?::bigint[], ?::bigint[])
    AS n ({", ".join(_CHANGED)}, key, seen) WHERE jobs.key = n.key AND jobs.revision = n.seen""",
)
_TOUCH = statement("job_touched", "UPDATE jobs SET touched_at = ?, due_at = ? WHERE key = ? AND revision = ?")
_LOADS = statement(
    "loads_of_worker",
    f"SELECT processor, profile, count(*) FROM jobs WHERE worker = ? AND {_IS_HELD} GROUP BY processor, profile",
)
_HELD_BY = statement(
    "held_by_worker", f"SELECT id, state, epoch, wish FROM jobs WHERE worker = ? AND {_IS_HELD} ORDER BY key"
)
_ALL_HELD = f"SELECT {COLUMNS} {_FROM} WHERE j.worker = ? AND j.pool = ? AND {_IS_HELD} ORDER BY j.key"
_HELD = statement("held_jobs_of_worker", sqlite=_ALL_HELD, postgres=_ALL_HELD + " FOR UPDATE OF j")
_LATE = f"SELECT {COLUMNS} {_FROM} WHERE j.due_at <= ? AND j.pool = ? ORDER BY j.due_at LIMIT ?"
_OVERDUE = statement(
    "overdue_jobs",
    sqlite=_LATE,
    postgres=_LATE + " FOR UPDATE OF j SKIP LOCKED",
)
_FORGIVE = statement(
    "forgive_silence", "UPDATE jobs SET due_at = due_at + ?, ends_by = ends_by + ? WHERE due_at IS NOT NULL"
)
_ENDED_BY = statement(
    "jobs_ended_by_worker",
    """SELECT (ended_at - CAST(? AS BIGINT)) / CAST(? AS BIGINT), state, count(*) FROM jobs
    WHERE worker = ? AND ended_at >= ? GROUP BY 1, 2""",
)
_DELETE = statement("job_deleted", "DELETE FROM jobs WHERE key = ? AND revision = ?")
_BURY = statement(
    "tombstone_added",
    "INSERT INTO tombstones (job_id, worker, state, deleted_by, deleted_at, slurm_job_id) VALUES (?, ?, ?, ?, ?, ?)",
)
_TOMBSTONE = statement("tombstone", "SELECT state, deleted_at FROM tombstones WHERE job_id = ?")
_BURIED = statement(
    "buried_jobs",
    sqlite=f"SELECT job_id FROM tombstones WHERE job_id IN {_IDS}",
    postgres=f"SELECT job_id FROM tombstones WHERE job_id IN {_PG_IDS}",
)
_FORGET_TOMBSTONES = statement("old_tombstones_removed", "DELETE FROM tombstones WHERE deleted_at < ?")


class Held(msgspec.Struct, frozen=True, gc=False):
    """A job a worker holds, as far as its daemon must know."""

    id: str
    state: State
    epoch: int
    wish: Wish | None


ANYWHERE = Place()


def add(tx: Tx, id: str, pool: str, draft: Draft, place: Place = ANYWHERE) -> Job:
    """A new job, ready to be claimed."""
    now = micros(tx.now)
    asked = (
        draft.processor,
        draft.profile,
        draft.priority,
        draft.timeout_seconds,
        draft.submit_user,
        draft.created_by,
    )
    kept = (*_preferred(place.preference), place.kept_for, micros(place.due_at))
    row = tx.one(_INSERT, (id, pool, State.READY.value, *asked, now, now, now, *kept))
    key = cast(Row, row)[0]
    tx.run(_INSERT_BODY, (key, bytes(draft.parameters).decode(), bytes(draft.inputs).decode()))
    return Job(
        key=key, id=id, pool=pool, state=State.READY, wish=None, cause=None, attempt=1, epoch=0, revision=1,
        processor=draft.processor, profile=draft.profile, priority=draft.priority,
        timeout_seconds=draft.timeout_seconds, submit_user=draft.submit_user, created_by=draft.created_by,
        worker=None, slurm_job_id=None, output_artifact_id=None, log_artifact_id=None, detail=None, phase=None,
        message=None, progress=None, created_at=tx.now, moved_at=tx.now, touched_at=tx.now, claimed_at=None,
        submitted_at=None, started_at=None, ended_at=None, due_at=place.due_at, ends_by=None,
        parameters=draft.parameters, inputs=draft.inputs, preference=place.preference, kept_for=place.kept_for,
    )  # fmt: skip


def get(tx: Tx, id: str) -> Job | None:
    row = tx.one(_GET, (id,))
    return job_of(row) if row else None


def lock(tx: Tx, id: str) -> Job | None:
    """The job as it is now and stays until this transaction ends."""
    row = tx.one(_LOCK, (id,))
    return job_of(row) if row else None


def lock_many(tx: Tx, ids: Collection[str]) -> dict[str, Job]:
    jobs = (job_of(row) for row in tx.all(_LOCK_MANY, (_json(ids),)))
    return {job.id: job for job in jobs}


def find_many(tx: Tx, ids: Collection[str]) -> dict[str, Job]:
    jobs = (job_of(row) for row in tx.all(_FIND_MANY, (_json(ids),)))
    return {job.id: job for job in jobs}


def by_keys(tx: Tx, keys: Sequence[int]) -> list[Job]:
    """The jobs under these keys, in this order."""
    found = {row[0]: row for row in tx.all(_BY_KEYS, (_json(keys),))}
    return [job_of(found[key]) for key in keys if key in found]


def save(tx: Tx, changes: Collection[tuple[Job, Job]]) -> int:
    """Write each job as it became, if it still is as it was; return how many were."""
    return tx.run_many(_SAVE, [(*_changed(after), before.key, before.revision) for before, after in changes])


def touch(tx: Tx, job: Job) -> int:
    """Note when a job was heard of and is due, if it still is as it was; return how many were."""
    return tx.run(_TOUCH, (micros(job.touched_at), micros(job.due_at), job.key, job.revision))


def ended_by(tx: Tx, worker: str, since: datetime, step: _span) -> list[tuple[int, State, int]]:
    """In which step since a moment how many jobs of a worker came to which end."""
    start = micros(since)
    rows = tx.all(_ENDED_BY, (start, step // _span(microseconds=1), worker, start))
    return [(place, State(state), count) for place, state, count in rows]


def loads(tx: Tx, worker: str) -> list[Load]:
    return [Load(*row) for row in tx.all(_LOADS, (worker,))]


def held_by(tx: Tx, worker: str) -> list[Held]:
    return [
        Held(job_id, _STATES[state], epoch, Wish(wish) if wish else None)
        for job_id, state, epoch, wish in tx.all(_HELD_BY, (worker,))
    ]


def held(tx: Tx, pool: str, worker: str) -> list[Job]:
    """All jobs that a worker holds, as they are now and stay until this transaction ends."""
    return [job_of(row) for row in tx.all(_HELD, (worker, pool))]


def overdue(tx: Tx, pool: str, most: int) -> list[Job]:
    """Held jobs whose due time has passed, the longest overdue first."""
    return [job_of(row) for row in tx.all(_OVERDUE, (micros(tx.now), pool, most))]


def forgive(tx: Tx, silence_micros: int) -> int:
    """Move every due time on by what nobody could have used."""
    return tx.run(_FORGIVE, (silence_micros, silence_micros))


def delete(tx: Tx, job: Job) -> int:
    return tx.run(_DELETE, (job.key, job.revision))


def bury(tx: Tx, job: Job, actor: str) -> None:
    """Remember that a job was deleted, for the worker that may still run it."""
    tx.run(_BURY, (job.id, job.worker, job.state.value, actor, micros(tx.now), job.slurm_job_id))


def is_buried(tx: Tx, id: str) -> bool:
    return tx.one(_TOMBSTONE, (id,)) is not None


def buried(tx: Tx, ids: Collection[str]) -> set[str]:
    return {row[0] for row in tx.all(_BURIED, (_json(ids),))}


def forget_tombstones(tx: Tx, before: datetime) -> int:
    return tx.run(_FORGET_TOMBSTONES, (micros(before),))


def _json(values: Collection[str] | Collection[int]) -> str:
    return msgspec.json.encode(list(values)).decode()


def job_of(row: Row) -> Job:
    values = (
        *row[:3],
        _STATES[row[3]],
        Wish(row[4]) if row[4] else None,
        Cause(row[5]) if row[5] else None,
        *row[6:23],
        *[None if value is None else EPOCH + _span(microseconds=value) for value in row[23:32]],
        msgspec.Raw(row[36].encode()),
        msgspec.Raw(row[37].encode()),
        Preference(row[32], bool(row[33])) if row[32] else None,
        row[34],
        msgspec.Raw(row[35].encode()) if row[35] else None,
    )
    return Job(*values)


def _preferred(preference: Preference | None) -> Row:
    return (None, 0) if preference is None else (preference.worker, int(preference.is_pinned))


def _changed(job: Job) -> Row:
    return (
        job.state.value, job.wish and job.wish.value, job.cause and job.cause.value, job.attempt, job.epoch,
        job.revision, job.worker, job.slurm_job_id, job.output_artifact_id, job.log_artifact_id, job.detail,
        job.phase, job.message, job.progress, micros(job.moved_at), micros(job.touched_at), micros(job.claimed_at),
        micros(job.submitted_at), micros(job.started_at), micros(job.ended_at), micros(job.due_at),
        micros(job.ends_by), *_preferred(job.preference), job.kept_for,
        None if job.remarks is None else bytes(job.remarks).decode(),
    )  # fmt: skip
