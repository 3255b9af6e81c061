"""Looking around: rows by any of their columns, and what belongs to many of them at once."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from cableferry.core import searches
from cableferry.core.artifacts import Artifact, File
from cableferry.core.errors import Invalid
from cableferry.core.jobs import Job, Transition
from cableferry.core.searches import Search
from cableferry.core.workers import Worker
from cableferry.store import artifacts as artifact_rows
from cableferry.store import jobs as job_rows
from cableferry.store import relations
from cableferry.store import searches as rows
from cableferry.store.relations import User
from cableferry.store.searches import EVERY, Found, Keys, Table
from cableferry.store.tx import Tx

T = TypeVar("T")

JOBS, TRANSITIONS, WORKERS, ARTIFACTS, FILES = rows.JOBS, rows.TRANSITIONS, rows.WORKERS, rows.ARTIFACTS, rows.FILES

# a text is looked for in every row, so it is not looked for in all rows there ever were
MOST_SEARCHED = 250_000

# the column whose ids say between which keys to look, and the table that knows them
_LEADS = {
    JOBS.name: ("id", "jobs"),
    TRANSITIONS.name: ("job_id", "jobs"),
    ARTIFACTS.name: ("id", "artifacts"),
    FILES.name: ("artifact_id", "artifacts"),
}


def find(tx: Tx, table: Table[T], pool: str, wanted: Search) -> list[Found[T]]:
    """A page of what is asked for; each row with the place from which the next page goes on."""
    keys = _keys(tx, table, wanted)
    return [] if keys is None else rows.find(tx, table, pool, wanted, keys)


def count(tx: Tx, table: Table[T], pool: str, wanted: Search) -> int:
    """How many rows there are on all pages together."""
    keys = _keys(tx, table, wanted)
    return 0 if keys is None else rows.count(tx, table, pool, wanted, keys)


def behind(table: Table[T], order: str, cursor: str) -> searches.Place:
    """The place that a cursor of this list stands for."""
    place = searches.behind(cursor, order)
    if not rows.is_place(table, order, place):
        raise Invalid("after holds the cursor of another list: give it one of this list's own rows")
    return place


def first_order(table: Table[T]) -> str:
    """The order of a list when none is asked for."""
    return next(iter(table.orders))


def jobs(tx: Tx, pool: str, ids: Collection[str]) -> dict[str, Job]:
    """These jobs, by id, as far as they belong to the pool."""
    return {job.id: job for job in job_rows.find_many(tx, ids).values() if job.pool == pool}


def jobs_by_key(tx: Tx, keys: Sequence[int]) -> dict[int, Job]:
    return {job.key: job for job in job_rows.by_keys(tx, keys)}


def workers(tx: Tx, pool: str, ids: Collection[str]) -> dict[str, Worker]:
    return {worker.id: worker for worker in relations.workers_of(tx, ids) if worker.pool == pool}


def artifacts(tx: Tx, ids: Collection[str]) -> dict[str, Artifact]:
    return artifact_rows.find_many(tx, ids)


def artifacts_by_key(tx: Tx, keys: Collection[int]) -> dict[int, Artifact]:
    return {artifact.key: artifact for artifact in relations.artifacts_of(tx, keys)}


def transitions(tx: Tx, job_keys: Collection[int], after: int, most: int) -> list[Transition]:
    """The first transitions of each job behind a sequence number."""
    return relations.transitions(tx, job_keys, after, most)


def files(tx: Tx, artifact_keys: Collection[int], prefix: str, after: str, most: int) -> list[File]:
    """The first files of each artifact that begin with a prefix and come behind a path."""
    return relations.files_of(tx, artifact_keys, prefix, after, most)


def inputs(tx: Tx, job_keys: Collection[int], most: int) -> list[tuple[int, Artifact]]:
    """The artifacts that each job takes as input, each with the key of its job."""
    return relations.inputs(tx, job_keys, most)


def users(tx: Tx, pool: str, artifact_keys: Collection[int], most: int) -> list[User]:
    """The latest jobs that use each artifact."""
    return relations.users(tx, pool, artifact_keys, most)


def held(tx: Tx, worker_ids: Collection[str], most: int) -> list[Job]:
    """The first jobs that each worker holds."""
    return relations.held(tx, worker_ids, most)


def _keys(tx: Tx, table: Table[T], wanted: Search) -> Keys | None:
    """Between which keys to look; None if what is asked for is nowhere."""
    if wanted.text is not None:
        return rows.latest(tx, MOST_SEARCHED)
    column, owners = _LEADS.get(table.name, ("", ""))
    match = wanted.matches.get(column)
    if match is None or match.equals is None:
        return EVERY
    return relations.keys_of(tx, owners, match.equals)
