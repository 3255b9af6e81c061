"""Why a job is where it is, from all the engine can see."""

from collections.abc import Callable

from cableferry.core import explain, workers
from cableferry.core.explain import Claimable, Explanation, Situation
from cableferry.core.jobs import Job, State, Waiting
from cableferry.core.policy import Rules
from cableferry.core.workers import Lane, Worker
from cableferry.engine import jobs
from cableferry.store import jobs as rows
from cableferry.store import lanes
from cableferry.store import workers as registered
from cableferry.store.tx import Tx

_MOST_WORKERS = 50
_MOST_AHEAD = 1000


def job(tx: Tx, rules: Rules, id: str, waiting_in: Callable[[Job], Waiting]) -> Explanation:
    """`waiting_in` reads what the scheduler says out of what the worker said, as the contract writes it."""
    return of(tx, rules, jobs.get(tx, rules, id), registered.of_pool(tx, rules.pool), waiting_in)


def of(tx: Tx, rules: Rules, job: Job, known: list[Worker], waiting_in: Callable[[Job], Waiting]) -> Explanation:
    """The same of a job at hand, with every worker of its contract."""
    return explain.explain(
        Situation(
            job=job,
            workers=known,
            claimable=_claimable(tx, job, known),
            ahead=_ahead(tx, job),
            waiting=waiting_in(job),
            silence=rules.worker_silence,
            now=tx.now,
        )
    )


def forecast(tx: Tx, rules: Rules, lane: Lane, priority: int) -> Explanation:
    """What would be said of such a job right after it was submitted."""
    known = registered.of_pool(tx, rules.pool)
    before = lanes.lane_head(tx, rules.pool, lane, _MOST_AHEAD)
    return explain.queueing(
        explain.Queueing(
            lane=lane,
            kept_for=None,
            workers=known,
            claimable=_offering(tx, lane, known),
            ahead=sum(row[1] >= priority for row in before),
            since=tx.now,
            silence=rules.worker_silence,
            now=tx.now,
        )
    )


def _claimable(tx: Tx, job: Job, known: list[Worker]) -> list[Claimable]:
    if job.state is not State.READY:
        return []
    asked = known if job.kept_for is None else [worker for worker in known if worker.id == job.kept_for]
    return _offering(tx, (job.processor, job.profile), asked)


def _offering(tx: Tx, lane: Lane, asked: list[Worker]) -> list[Claimable]:
    fitting = [worker for worker in asked if any(workers.fits(offer, *lane) for offer in worker.offers)]
    fitting.sort(key=lambda worker: worker.seen_at, reverse=True)
    return [Claimable(worker, rows.loads(tx, worker.id)) for worker in fitting[:_MOST_WORKERS]]


def _ahead(tx: Tx, job: Job) -> int:
    """How many ready jobs of its lane come before it, as far as a thousand."""
    if job.state is not State.READY:
        return 0
    head = lanes.lane_head(tx, job.pool, (job.processor, job.profile), _MOST_AHEAD, job.kept_for or lanes.NOBODY)
    return next((place for place, row in enumerate(head) if row[0] == job.key), len(head))
