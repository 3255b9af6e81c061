"""The engine over a real store, with a clock that tests move and words that read as what they do."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from cableferry.core.access import Caller, Person, Role
from cableferry.core.jobs import Draft, Job, Payload, Report, State, Transition
from cableferry.core.logs import Chunk, Log
from cableferry.core.policy import Limits, Rules, Timeouts
from cableferry.core.workers import Offer, Registration, Session, Speaker, Worker
from cableferry.engine import jobs, logs, sweeps, sync, workers
from cableferry.engine.logs import Said
from cableferry.engine.sync import Cycle, Synced
from cableferry.store import lanes
from cableferry.store.tx import News, Store, Tx
from cableferry.wire.emx2 import words
from cableferry.wire.emx2.words import MOVES
from tests.engine.trusted import Clock

P = ParamSpec("P")
T = TypeVar("T")

LIMITS = Timeouts(default=Limits(claimed_seconds=300, submitted_seconds=3600, started_seconds=7200))
RULES = Rules(pool="emx2", moves=MOVES, timeouts=LIMITS, word=words.word)
MANAGER = Person("mia", Role.MANAGER)
TOLERANCE = timedelta(seconds=60)

ON_THE_WAY = {
    State.READY: (),
    State.CLAIMED: (),
    State.SUBMITTED: (State.SUBMITTED,),
    State.RUNNING: (State.SUBMITTED, State.RUNNING),
    State.SUCCEEDED: (State.SUBMITTED, State.RUNNING, State.SUCCEEDED),
    State.FAILED: (State.FAILED,),
    State.CANCELLED: (State.CANCELLED,),
}


class World:
    """One store, its clock, the rules of its contract and the news it told."""

    def __init__(self, store: Store, clock: Clock, rules: Rules = RULES) -> None:
        self.store = store
        self.clock = clock
        self.rules = rules
        self.news: list[News] = []
        store.on_news(self._hear)

    def _hear(self, news: Iterable[News]) -> None:
        self.news.extend(news)

    def write(self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **named: P.kwargs) -> T:
        return self.store.write(lambda tx: work(tx, *args, **named))

    def read(self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **named: P.kwargs) -> T:
        return self.store.read(lambda tx: work(tx, *args, **named))

    def with_rules(self, **changed: object) -> "World":
        return World(self.store, self.clock, msgspec.structs.replace(self.rules, **changed))

    def register(self, id: str = "w1", *offers: Offer, session: Session | None = None) -> Worker:
        """A worker with these offers, or embed on gpu without a limit."""
        said = Registration(id, "head-1", offers or (Offer("embed", "gpu"),), session)
        return self.write(workers.register, self.rules, said)

    def create(self, processor: str = "embed", profile: str | None = "gpu", **said: object) -> Job:
        return self.write(jobs.create, self.rules, Draft(processor, profile, **said))

    def claim(self, id: str, worker: str = "w1", session: str | None = None) -> Job:
        return self.write(jobs.claim, self.rules, id, a_speaker(worker, session))

    def claim_many(self, most: int, worker: str = "w1", session: str | None = None) -> list[Job]:
        return self.write(jobs.claim_many, self.rules, a_speaker(worker, session), most)

    def report(self, id: str, state: State, worker: str | None = "w1", epoch: int | None = None, **said: object) -> Job:
        return self.write(jobs.report, self.rules, a_report(id, state, worker, epoch, **said))

    def report_many(self, *reports: Report) -> list[object]:
        return list(self.write(jobs.report_many, self.rules, reports))

    def sync(
        self,
        *reports: Report,
        holding: Iterable[str] = (),
        claim: int = 0,
        worker: str = "w1",
        session: str | None = None,
    ) -> Synced:
        return self.write(sync.sync, self.rules, Cycle(a_speaker(worker, session), reports, list(holding), claim))

    def cancel(self, id: str, caller: Caller = MANAGER) -> Job:
        return self.write(jobs.cancel, self.rules, id, caller)

    def delete(self, id: str, caller: Caller = MANAGER) -> None:
        self.write(jobs.delete, self.rules, id, caller)

    def sweep(self, most: int = 500) -> int:
        return self.write(sweeps.resolve_stalled, self.rules, TOLERANCE, most)

    def beat(self) -> timedelta:
        return self.write(sweeps.beat, TOLERANCE)

    def keep_beating(self, **span: float) -> None:
        """Let time pass as it does for a server that lives: a beat at least every half minute."""
        left = timedelta(**span)
        while left > timedelta(0):
            step = min(left, timedelta(seconds=30))
            self.clock.now += step
            left -= step
            self.beat()

    def append(self, id: str, start: int, content: bytes, worker: str = "w1", **said: object) -> Log:
        """A chunk of stdout under the job's present epoch, of a worker that keeps a mebibyte."""
        how = {"epoch": None, "stream": "stdout", "most_bytes": 2**20, **said}
        most = how.pop("most_bytes")
        return self.write(logs.append, self.rules, Said(id, worker, chunk=Chunk(start, content), **how), most)

    def get(self, id: str) -> Job:
        return self.read(jobs.get, self.rules, id)

    def history(self, id: str) -> list[Transition]:
        return self.read(jobs.history, self.rules, id)

    def a_job(self, state: State = State.READY, worker: str = "w1", **said: object) -> Job:
        """A job that went the usual way to a state, in the hands of a registered worker."""
        job = self.create(**said)
        if state is not State.READY:
            job = self.claim(job.id, worker)
        for new in ON_THE_WAY[state]:
            job = self.report(job.id, new, worker)
        return job

    def settle(self) -> list[News]:
        """What was told since the last call; a write of nothing comes behind whatever is still being told."""
        self.write(sweeps.fold_tallies)
        told = [*self.news]
        self.news.clear()
        return told

    def tallies(self) -> dict[tuple[State, str, str | None], int]:
        found = self.read(lanes.tallies, self.rules.pool)
        return {(tally.state, tally.processor, tally.profile): tally.jobs for tally in found}


def a_speaker(worker: str = "w1", session: str | None = None) -> Speaker:
    return Speaker(worker, session, f"worker:{worker}")


def a_report(id: str, state: State, worker: str | None = "w1", epoch: int | None = None, **said: object) -> Report:
    actor = f"worker:{worker}" if worker else MANAGER.actor
    return Report(id, state, Payload(worker=worker, **said), actor, epoch=epoch)
