"""Why a job is where it is, from all the engine can see."""

from collections.abc import Callable

from cableferry.core import explain, workers
from cableferry.core.explain import Claimable, Explanation, Situation
from cableferry.core.jobs import Job, State, Waiting
from cableferry.core.policy import Rules
from cableferry.engine import jobs
from cableferry.store import jobs as rows
from cableferry.store import lanes
from cableferry.store import workers as registered
from cableferry.store.tx import Tx

_MOST_WORKERS = 50
_MOST_AHEAD = 1000


def job(tx: Tx, rules: Rules, id: str, waiting_in: Callable[[Job], Waiting]) -> Explanation:
    """`waiting_in` reads what the scheduler says out of what the worker said, as the contract writes it."""
    job = jobs.get(tx, rules, id)
    known = registered.of_pool(tx, rules.pool)
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


def _claimable(tx: Tx, job: Job, known: list[workers.Worker]) -> list[Claimable]:
    if job.state is not State.READY:
        return []
    asked = known if job.kept_for is None else [worker for worker in known if worker.id == job.kept_for]
    fitting = [w for w in asked if any(workers.fits(offer, job.processor, job.profile) for offer in w.offers)]
    fitting.sort(key=lambda worker: worker.seen_at, reverse=True)
    return [Claimable(worker, rows.loads(tx, worker.id)) for worker in fitting[:_MOST_WORKERS]]


def _ahead(tx: Tx, job: Job) -> int:
    """How many ready jobs of its lane come before it, as far as a thousand."""
    if job.state is not State.READY:
        return 0
    head = lanes.lane_head(tx, job.pool, (job.processor, job.profile), _MOST_AHEAD, job.kept_for or lanes.NOBODY)
    return next((place for place, row in enumerate(head) if row[0] == job.key), len(head))
