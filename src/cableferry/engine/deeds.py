"""What happened lately, for operators: the moves of all jobs, and what people did besides."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from cableferry.core.jobs import Job, Transition
from cableferry.store import deeds, history, jobs
from cableferry.store.deeds import Deed
from cableferry.store.history import Sought
from cableferry.store.tx import Tx

KEPT = timedelta(days=400)
_LONGEST = 500


class Moved(msgspec.Struct, frozen=True):
    """One entry of a job's history, with its job."""

    transition: Transition
    job: Job


def note(tx: Tx, actor: str, what: str, about: str | None) -> None:
    """Remember that somebody did something, in the transaction that does it."""
    deeds.add(tx, actor, what, None if about is None else about[:_LONGEST])


def moves(tx: Tx, pool: str, sought: Sought, most: int) -> Sequence[Moved]:
    """What was said of jobs, the latest first; of those that were deleted nothing is left."""
    found = history.recent(tx, pool, sought, most)
    known = {job.key: job for job in jobs.by_keys(tx, sorted({each.job_key for each in found}))}
    return [Moved(each, known[each.job_key]) for each in found if each.job_key in known]


def others(tx: Tx, sought: Sought, most: int) -> Sequence[Deed]:
    """What people did besides, the latest first."""
    return deeds.recent(tx, sought.since, sought.before[:2], sought.actor, most)


def forget(tx: Tx) -> int:
    return deeds.forget(tx, tx.now - KEPT)
