"""What the law says of jobs and workers, in as few words as it takes and with none of the product's own rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cableferry.core.errors import Kind
from cableferry.core.jobs import State

S = State
NEXT = {
    S.READY: {S.CANCELLED},
    S.CLAIMED: {S.SUBMITTED, S.FAILED, S.CANCELLED},
    S.SUBMITTED: {S.RUNNING, S.FAILED, S.CANCELLED},
    S.RUNNING: {S.SUCCEEDED, S.FAILED, S.CANCELLED},
}
HELD = {S.CLAIMED, S.SUBMITTED, S.RUNNING}
SILENCE = {S.CLAIMED: 300, S.SUBMITTED: 600, S.RUNNING: 900}
REQUEUED_PROFILE = "gpu"
SESSION = timedelta(seconds=90)
TOLERANCE = timedelta(seconds=60)
GRACE = 5

Lane = tuple[str, str | None]


@dataclass
class Job:
    """A job as an outsider would describe it."""

    place: int
    lane: Lane
    priority: int
    timeout: int | None
    state: State = S.READY
    worker: str | None = None
    epoch: int = 0
    attempt: int = 1
    due: datetime | None = None
    ends: datetime | None = None
    rows: int = 1
    said: set[tuple[int, State, str | None, str | None]] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return self.state not in NEXT

    @property
    def is_held(self) -> bool:
        return self.state in HELD


@dataclass
class Worker:
    """A worker: what it offers at most (None for no limit), and whose session it is."""

    offers: dict[Lane, int | None]
    session: str | None = None
    heard: datetime | None = None


class Model:
    """All jobs and workers; each method does what the law says or names the refusal."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.beat_at = now
        self.jobs: dict[str, Job] = {}
        self.deleted: set[str] = set()
        self.workers: dict[str, Worker] = {}
        self.told: list[tuple[str, str, State, str | None]] = []

    def register(self, worker: str, offers: dict[Lane, int | None], session: str | None) -> Kind | None:
        known = self.workers.get(worker)
        is_other = known and session and known.session not in (None, session)
        if is_other and known.heard and self.now < known.heard + SESSION:
            return Kind.SESSION_CONFLICT
        heard = self.now if session else known.heard if known else None
        self.workers[worker] = Worker(offers, session or (known.session if known else None), heard)
        return None

    def heartbeat(self, worker: str, session: str | None) -> Kind | None:
        if worker not in self.workers:
            return Kind.UNKNOWN_WORKER
        if self.is_revoked(worker, session):
            return Kind.SESSION_REVOKED
        self.hear(worker, session)
        return None

    def hear(self, worker: str, session: str | None) -> None:
        if session and self.workers[worker].session == session:
            self.workers[worker].heard = self.now

    def is_revoked(self, worker: str, session: str | None) -> bool:
        return session is not None and self.workers[worker].session not in (None, session)

    def create(self, id: str, lane: Lane, priority: int, timeout: int | None) -> None:
        self.jobs[id] = Job(len(self.jobs) + len(self.deleted), lane, priority, timeout)

    def claim(self, id: str, worker: str, session: str | None) -> Kind | None:
        if worker not in self.workers:
            return Kind.UNKNOWN_WORKER
        if self.is_revoked(worker, session):
            return Kind.SESSION_REVOKED
        if id not in self.jobs:
            return self._gone(id)
        job = self.jobs[id]
        if job.state is not S.READY:
            return Kind.ALREADY_ENDED if job.is_over else Kind.ALREADY_CLAIMED
        if not self._offers(worker, job.lane):
            return Kind.NOT_OFFERED
        if not self.has_room(worker, job.lane):
            return Kind.NO_ROOM
        self._lease(job, worker)
        return None

    def claim_many(self, worker: str, session: str | None, most: int) -> list[str] | Kind:
        if worker not in self.workers:
            return Kind.UNKNOWN_WORKER
        if self.is_revoked(worker, session):
            return Kind.SESSION_REVOKED
        claimed: list[str] = []
        for name in sorted(self.waiting(), key=lambda name: (-self.jobs[name].priority, self.jobs[name].place)):
            if len(claimed) < most and self.has_room(worker, self.jobs[name].lane):
                self._lease(self.jobs[name], worker)
                claimed.append(name)
        return claimed

    def report(self, id: str, worker: str, state: State, epoch: int | None, detail: str | None) -> Kind | None:
        if id not in self.jobs:
            return self._gone(id)
        job, said = self.jobs[id], (self.jobs[id].attempt, state, worker, detail)
        is_move = state in NEXT.get(job.state, ())
        if not is_move and said in job.said and epoch in (None, job.epoch):
            return None
        if epoch not in (None, job.epoch) or job.worker not in (None, worker) or (is_move and job.worker is None):
            return Kind.STALE_LEASE
        if not is_move and not (job.is_held and state is job.state):
            return Kind.ALREADY_ENDED if job.is_over else Kind.ILLEGAL_MOVE
        job.said.add(said)
        self.told.append((id, worker, state, detail))
        self._go(job, state)
        return None

    def cancel(self, id: str) -> Kind | None:
        if id not in self.jobs:
            return self._gone(id)
        if self.jobs[id].is_over:
            return Kind.ALREADY_ENDED
        self._go(self.jobs[id], S.CANCELLED)
        return None

    def delete(self, id: str) -> Kind | None:
        if id not in self.jobs:
            return self._gone(id)
        del self.jobs[id]
        self.deleted.add(id)
        return None

    def stops(self, worker: str, holding: list[str], ended: set[str]) -> dict[str, str]:
        """What a worker must let go of, and why."""
        lost = [job for job in holding if job not in ended and not self._holds(worker, job)]
        return {job: self._reason(job) for job in lost}

    def beat(self) -> None:
        """Forgive a silence of the server."""
        gap, self.beat_at = self.now - self.beat_at, self.now
        if gap <= TOLERANCE:
            return
        for job in self.jobs.values():
            job.due = job.due and job.due + gap
            job.ends = job.ends and job.ends + gap
        for worker in self.workers.values():
            worker.heard = worker.heard and worker.heard + gap

    def sweep(self) -> int:
        late = [job for job in self.jobs.values() if job.due is not None and job.due <= self.now]
        for job in late:
            is_out_of_time = job.ends is not None and job.ends <= self.now
            if job.state is S.CLAIMED and not is_out_of_time and job.lane[1] == REQUEUED_PROFILE:
                self._go(job, S.READY)
                job.worker, job.attempt, job.epoch, job.ends = None, job.attempt + 1, job.epoch + 1, None
            else:
                self._go(job, S.FAILED)
        return len(late)

    def waiting(self) -> list[str]:
        return [name for name, job in self.jobs.items() if job.state is S.READY]

    def held(self) -> Iterator[str]:
        return (name for name, job in self.jobs.items() if job.is_held)

    def has_room(self, worker: str, lane: Lane) -> bool:
        limits = [(offer, limit) for offer, limit in self.workers[worker].offers.items() if fits(offer, lane)]
        return any(limit is None or self._load(worker, offer) < limit for offer, limit in limits)

    def _load(self, worker: str, offer: Lane) -> int:
        return sum(fits(offer, job.lane) for job in self.jobs.values() if job.is_held and job.worker == worker)

    def _offers(self, worker: str, lane: Lane) -> bool:
        return any(fits(offer, lane) for offer in self.workers[worker].offers)

    def _holds(self, worker: str, id: str) -> bool:
        return id in self.jobs and self.jobs[id].worker == worker and self.jobs[id].is_held

    def _reason(self, id: str) -> str:
        if id not in self.jobs:
            return "deleted" if id in self.deleted else "unknown"
        if not self.jobs[id].is_over:
            return "fenced"
        return "cancelled" if self.jobs[id].state is S.CANCELLED else "ended"

    def _gone(self, id: str) -> Kind:
        return Kind.DELETED_JOB if id in self.deleted else Kind.UNKNOWN_JOB

    def _lease(self, job: Job, worker: str) -> None:
        job.worker, job.epoch = worker, job.epoch + 1
        job.ends = None if job.timeout is None else self.now + timedelta(seconds=job.timeout + GRACE)
        job.said.add((job.attempt, S.CLAIMED, worker, f"Claimed by worker {worker}"))
        self._go(job, S.CLAIMED)

    def _go(self, job: Job, state: State) -> None:
        """One more row in the history; a held job has until its silence is too long or its own time is over."""
        job.state, job.rows = state, job.rows + 1
        silent = self.now + timedelta(seconds=SILENCE[state]) if state in SILENCE else None
        job.ends = job.ends if job.is_held else None
        job.due = silent and min(silent, job.ends or silent)


def fits(offer: Lane, lane: Lane) -> bool:
    processor, profile = offer
    return processor in ("*", lane[0]) and (profile in ("*", None) or lane[1] in (None, profile))
