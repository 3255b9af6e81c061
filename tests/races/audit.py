"""What must be true of every job after a race: one holder, one lease, a whole history, counts that agree."""

from collections.abc import Mapping, Sequence

from cableferry.core.jobs import State
from cableferry.core.policy import Limits, Rules, Timeouts
from cableferry.core.workers import Load
from cableferry.engine import jobs
from cableferry.store import jobs as rows
from cableferry.store import lanes
from cableferry.store.tx import Store, Tx
from cableferry.wire.emx2 import words

RULES = Rules(pool="emx2", moves=words.MOVES, timeouts=Timeouts(default=Limits()), word=words.word)


def each_claimed_once(store: Store, created: Sequence[str], claimed: Mapping[str, Sequence[str]]) -> None:
    """`claimed` is what each worker was told it holds."""
    told = {job_id: worker for worker, ids in claimed.items() for job_id in ids}
    count = sum(len(ids) for ids in claimed.values())

    assert len(created) == count == len(told)
    assert set(created) == set(told)
    store.read(lambda tx: _agree(tx, told))
    assert {State.CLAIMED: count} == store.read(_counts)
    for worker, ids in claimed.items():
        loads = store.read(lambda tx, holder=worker: rows.loads(tx, holder))
        assert [Load("embed", "gpu", len(ids))] * bool(ids) == loads


def _agree(tx: Tx, told: Mapping[str, str]) -> None:
    for job_id, worker in told.items():
        job, history = jobs.get(tx, RULES, job_id), jobs.history(tx, RULES, job_id)
        assert (State.CLAIMED, worker, 1, 1, 2) == (job.state, job.worker, job.epoch, job.attempt, job.revision)
        assert [(1, None, State.READY), (2, State.READY, State.CLAIMED)] == [(t.seq, t.old, t.new) for t in history]
        assert f"worker:{worker}" == history[1].actor


def _counts(tx: Tx) -> dict[State, int]:
    return {tally.state: tally.jobs for tally in lanes.tallies(tx, "emx2")}
