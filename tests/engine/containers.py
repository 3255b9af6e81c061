"""The engine under the rules of the worker contract, in the words of its stories."""

from datetime import timedelta

from msgspec import Raw

from cableferry.core.access import Caller, Person, Role
from cableferry.core.jobs import Draft, Job, Payload, Preference, Report, State, Wish
from cableferry.core.policy import Limits, Repeats, Rules, Stalled, Timeouts
from cableferry.core.workers import Offer, Worker
from cableferry.engine import jobs, operating, sweeps, workers
from cableferry.engine.jobs import Asked
from cableferry.engine.operating import Order
from cableferry.store import projection
from cableferry.wire.opeva import PROCESSOR, words
from tests.engine.world import TOLERANCE, World, a_speaker

RULES = Rules(
    pool="opeva",
    moves=words.MOVES,
    timeouts=Timeouts(
        default=Limits(claimed_seconds=100, started_seconds=100, after_claimed=Stalled.PENDING),
        most_attempts=1000,
        unheard_seconds=40,
    ),
    word=words.word,
    stopping=words.STOPPING,
    skipped=words.SKIPPED,
    repeats=Repeats.OF_STATE,
    offers=(Offer(PROCESSOR),),
    offline_after=timedelta(seconds=60),
    has_preferences=True,
    is_projected=True,
)
OPERATOR = Person("olga", Role.MANAGER)


class Containers(World):
    """Workers that are known once they are heard of, and jobs that may prefer one of them."""

    def hear(self, worker: str = "w1", info: bytes | None = None) -> Worker:
        self.write(workers.hear, self.rules, worker, None if info is None else Raw(info))
        return self.read(workers.get, self.rules, worker)

    def launch(self, worker: str | None = None, is_pinned: bool = False) -> Job:
        preference = None if worker is None else Preference(worker, is_pinned)
        return self.write(jobs.create, self.rules, Draft(PROCESSOR, preference=preference))

    def poll(self, worker: str = "w1") -> str | None:
        """The id of the job that a worker gets when it asks for one."""
        self.hear(worker)
        found = self.write(jobs.claim_many, self.rules, a_speaker(worker), 1)
        return found[0].id if found else None

    def say(self, job: Job, word: str, worker: str | None = "w1", remarks: bytes | None = None) -> Job:
        """A worker's word, taken as the contract takes it."""
        payload = Payload(worker, remarks=None if remarks is None else Raw(remarks))
        if word == words.STOP_REQUESTED:
            report = Report(job.id, self.get(job.id).state, payload, f"worker:{worker}", wish=Wish.STOP)
        else:
            said = words.SAID[word]
            report = Report(job.id, said.state, payload, f"worker:{worker}", said.cause)
        use = jobs.give_back if word == words.QUEUED else jobs.report
        return self.write(use, self.rules, report)

    def at(self, word: str, worker: str = "w1") -> Job:
        """A job that the contract says is there."""
        job = self.launch()
        if word == "queued":
            return job
        if word == "canceled":
            return self.stop(job).after
        assert job.id == self.poll(worker)
        if word in ("running", "stop_requested", "stopped", "finished"):
            self.say(job, "running", worker)
        if word in ("stop_requested", "stopped"):
            self.stop(job)
        if word in ("stopped", "finished", "failed"):
            self.say(job, word, worker)
        return self.get(job.id)

    def word(self, job: Job) -> str:
        return jobs.word_of(self.rules, self.get(job.id))

    def stop(self, job: Job, caller: Caller = OPERATOR) -> Asked:
        return self.write(jobs.ask_to_stop, self.rules, job.id, caller, Payload(detail="enough"))

    def order(self, job: Job, is_forced: bool = False) -> Order:
        return Order(job.id, OPERATOR.actor, Payload(detail="because"), is_forced)

    def requeue(self, job: Job, is_forced: bool = False, preference: Preference | None = None) -> Job:
        return self.write(operating.requeue, self.rules, self.order(job, is_forced), preference)

    def fail(self, job: Job, is_forced: bool = False) -> Job:
        return self.write(operating.fail, self.rules, self.order(job, is_forced))

    def call_off(self, job: Job, is_forced: bool = False) -> Job:
        return self.write(operating.cancel, self.rules, self.order(job, is_forced))

    def look_for_absent(self) -> int:
        return self.write(sweeps.resolve_offline, self.rules, TOLERANCE)

    def states(self, job: Job) -> list[tuple[State | None, State]]:
        return [(row.old, row.new) for row in self.history(job.id)]

    def marked(self) -> set[str]:
        """The jobs whose files are behind; they are not after this."""
        marks = self.read(projection.marked, self.rules.pool, 100)
        self.write(projection.unmark, self.rules.pool, marks)
        return {mark.job for mark in marks}
