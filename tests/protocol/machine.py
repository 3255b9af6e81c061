"""Every use case of jobs and workers in any order, on the real engine and on the model, which must agree."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from cableferry.core.errors import Kind, Refusal
from cableferry.core.jobs import Report, State
from cableferry.core.policy import Limits, Rules, Stalled, Timeouts
from cableferry.core.workers import Offer, Session
from cableferry.engine import jobs, workers
from cableferry.store import connect
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import words
from cableferry.wire.emx2.words import MOVES
from tests.engine.trusted import Clock
from tests.engine.world import World, a_report, a_speaker
from tests.protocol import model
from tests.protocol.model import Lane, Model

S = State
LANES: list[Lane] = [("embed", "gpu"), ("embed", "cpu"), ("embed", None), ("align", "cpu")]
OFFERS: list[Lane] = [*LANES, ("*", "*"), ("*", "gpu"), ("align", "*")]
WORKERS = ["w1", "w2", "w3"]
SESSIONS = [None, None, "boot-0001", "boot-0002"]
REPORTED = [S.CLAIMED, S.SUBMITTED, S.RUNNING, S.SUCCEEDED, S.FAILED, S.CANCELLED]
TIMEOUTS = Timeouts(
    default=Limits(claimed_seconds=300, submitted_seconds=600, started_seconds=900),
    profiles={"gpu": Limits(after_claimed=Stalled.PENDING)},
    grace_seconds=model.GRACE,
    most_attempts=1000,
)

lanes = st.sampled_from(LANES)
names = st.sampled_from(WORKERS)
sessions = st.sampled_from(SESSIONS)
offers = st.dictionaries(st.sampled_from(OFFERS), st.none() | st.integers(0, 2), min_size=1, max_size=3)
# a few words for everything, so that the same report comes twice; epochs are as far off as this
details = st.sampled_from([None, "a", "b"])
epochs = st.sampled_from([None, None, 0, -1, 1])


class Ground:
    """One database for all runs; each run has a pool and workers of its own on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = Clock()
        self.runs = 0
        self.store = self._opened()

    def _opened(self) -> Any:
        return connect.open_store(self.url, clock=self.clock, notify=False, pool_size=2)

    def reopen(self) -> None:
        self.store.close()
        self.store = self._opened()


class Protocol(RuleBasedStateMachine):
    """A run: jobs are named by bundles, workers by a few names that runs do not share."""

    ground: Ground
    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.ground.runs += 1
        self.pool = f"pool{self.ground.runs}"
        self.clock = self.ground.clock
        self.clock.passes(seconds=1)
        self._enter()
        self.world.beat()
        self.model = Model(self.clock.now)

    def _enter(self) -> None:
        self.world = World(self.ground.store, self.clock, Rules(self.pool, MOVES, TIMEOUTS, words.word))

    @initialize(limit=st.none() | st.integers(1, 2))
    def begin_with_two_workers(self, limit: int | None) -> None:
        self.register("w1", {("*", "*"): limit}, None)
        self.register("w2", {("embed", "gpu"): limit, ("align", "*"): 1}, "boot-0001")

    @rule(worker=names, offered=offers, session=sessions)
    def register(self, worker: str, offered: dict[Lane, int | None], session: str | None) -> None:
        worker = self._own(worker)
        said = [Offer(*lane, limit) for lane, limit in offered.items()]

        expected = self.model.register(worker, offered, session)

        boot = None if session is None else Session(session)
        assert expected == refused(lambda: self.world.register(worker, *said, session=boot))

    @rule(worker=names, session=sessions)
    def heartbeat(self, worker: str, session: str | None) -> None:
        worker = self._own(worker)
        expected = self.model.heartbeat(worker, session)

        speaker = a_speaker(worker, session)
        assert expected == refused(lambda: self.world.write(workers.heartbeat, self.world.rules, speaker))

    @rule(target=known, lane=lanes, priority=st.integers(-1, 1), timeout=st.none() | st.sampled_from([50, 400, 2000]))
    def create(self, lane: Lane, priority: int, timeout: int | None) -> str:
        job = self.world.create(*lane, priority=priority, timeout_seconds=timeout)
        self.model.create(job.id, lane, priority, timeout)
        return job.id

    @rule(target=known, lane=lanes, count=st.integers(2, 4))
    def create_some(self, lane: Lane, count: int) -> MultipleResults[str]:
        return multiple(*[self.create(lane, 0, None) for _ in range(count)])

    @precondition(lambda self: self.model.waiting())
    @rule(place=st.integers(0, 9), worker=names)
    def claim_what_waits(self, place: int, worker: str) -> None:
        waiting = self.model.waiting()
        self.claim(waiting[place % len(waiting)], worker, None)

    @rule(job=known, worker=names, session=sessions)
    def claim(self, job: str, worker: str, session: str | None) -> None:
        worker = self._own(worker)
        expected = self.model.claim(job, worker, session)

        assert expected == refused(lambda: self.world.claim(job, worker, session))

    @rule(worker=names, session=sessions, most=st.integers(1, 4))
    def claim_many(self, worker: str, session: str | None, most: int) -> None:
        worker = self._own(worker)
        expected = self.model.claim_many(worker, session, most)

        found = outcome(lambda: [job.id for job in self.world.claim_many(most, worker, session)])
        assert expected == found

    @rule(job=known, state=st.sampled_from(REPORTED), off=epochs, detail=details)
    def report_as_holder(self, job: str, state: State, off: int | None, detail: str | None) -> None:
        holder = self.model.jobs[job].worker if job in self.model.jobs else None
        self._report(self._said(job, holder or self._own("w1"), state, off, detail))

    @precondition(lambda self: any(self.model.held()))
    @rule(place=st.integers(0, 9), step=st.integers(0, 2), detail=details)
    def report_the_next_step(self, place: int, step: int, detail: str | None) -> None:
        held = list(self.model.held())
        job = held[place % len(held)]
        states = sorted(model.NEXT[self.model.jobs[job].state], reverse=True)
        self._report(self._said(job, self.model.jobs[job].worker or "", states[step % len(states)], None, detail))

    @precondition(lambda self: self.model.told)
    @rule(place=st.integers(0, 99), off=epochs)
    def repeat_a_report(self, place: int, off: int | None) -> None:
        job, worker, state, detail = self.model.told[-1 - place % min(10, len(self.model.told))]
        self._report(self._said(job, worker, state, off, detail))

    @rule(job=known, worker=names, state=st.sampled_from(REPORTED), off=epochs, detail=details)
    def report_as_anyone(self, job: str, worker: str, state: State, off: int | None, detail: str | None) -> None:
        self._report(self._said(job, self._own(worker), state, off, detail))

    @rule(
        worker=names,
        session=sessions,
        said=st.lists(st.tuples(known, st.sampled_from(REPORTED), epochs, details), max_size=4),
        holding=st.lists(known, max_size=3, unique=True),
        claim=st.integers(0, 2),
    )
    def sync(
        self,
        worker: str,
        session: str | None,
        said: list[tuple[str, State, int | None, str | None]],
        holding: list[str],
        claim: int,
    ) -> None:
        worker = self._own(worker)
        reports = [self._said(job, worker, state, off, detail) for job, state, off, detail in said]
        self._sync(worker, session, reports, holding, claim)

    @precondition(lambda self: any(self.model.held()))
    @rule(place=st.integers(0, 9), detail=details, times=st.integers(1, 2), claim=st.integers(0, 2))
    def sync_as_holder(self, place: int, detail: str | None, times: int, claim: int) -> None:
        held = list(self.model.held())
        job = held[place % len(held)]
        worker, state = self.model.jobs[job].worker or "", self.model.jobs[job].state
        steps = [state, *sorted(model.NEXT[state], reverse=True)[:1]]
        reports = [self._said(job, worker, step, None, detail) for step in steps for _ in range(times)]
        self._sync(worker, None, reports, held, claim)

    def _sync(self, worker: str, session: str | None, reports: list[Report], holding: list[str], claim: int) -> None:
        if worker not in self.model.workers:
            assert Kind.UNKNOWN_WORKER is refused(lambda: self.world.sync(*reports, worker=worker))
            return

        is_revoked = self.model.is_revoked(worker, session)
        if not is_revoked:
            self.model.hear(worker, session)
        expected = [self._expected(report) for report in reports]
        synced = self.world.sync(*reports, holding=holding, claim=claim, worker=worker, session=session)

        assert expected == [found.kind if isinstance(found, Refusal) else None for found in synced.outcomes]
        ended = {found.id for found in synced.outcomes if not isinstance(found, Refusal) and found.is_final}
        assert self.model.stops(worker, holding, ended) == {stop.job: stop.reason for stop in synced.stops}
        claimed = [] if is_revoked or claim == 0 else self.model.claim_many(worker, session, claim)
        assert claimed == [job.id for job in synced.claimed]
        assert is_revoked == (synced.no_claims is not None)

    @rule(job=known)
    def cancel(self, job: str) -> None:
        assert self.model.cancel(job) == refused(lambda: self.world.cancel(job))

    @rule(job=known)
    def delete(self, job: str) -> None:
        assert self.model.delete(job) == refused(lambda: self.world.delete(job))

    @rule(seconds=st.sampled_from([1, 10, 55]))
    def time_passes(self, seconds: int) -> None:
        self._passes(seconds)

    @rule(minutes=st.sampled_from([2, 5, 6, 10, 16]))
    def time_passes_while_the_server_lives(self, minutes: int) -> None:
        for _ in range(minutes):
            self._passes(60)
            self.model.beat()
            self.world.beat()

    @precondition(lambda self: any(job.due for job in self.model.jobs.values()))
    @rule()
    def the_next_lease_ends(self) -> None:
        due = min(job.due for job in self.model.jobs.values() if job.due)
        while self.clock.now < due:
            self._passes(min(60, (due - self.clock.now).total_seconds()))
            self.model.beat()
            self.world.beat()
        self.sweep()

    @rule()
    def sweep(self) -> None:
        self.model.beat()
        expected = self.model.sweep()

        assert expected == self.world.sweep()

    @rule(minutes=st.sampled_from([0, 3, 90]))
    def restart(self, minutes: int) -> None:
        self.ground.reopen()
        self._enter()
        self._passes(60 * minutes)
        self.model.beat()
        self.world.beat()

    @invariant()
    def both_tell_the_same_of_every_job(self) -> None:
        self.world.read(self._compare)

    @invariant()
    def the_counts_agree(self) -> None:
        counted: dict[tuple[State, str, str | None], int] = {}
        for job in self.model.jobs.values():
            place = (job.state, *job.lane)
            counted[place] = counted.get(place, 0) + 1

        assert counted == self.world.tallies()

    def _compare(self, tx: Tx) -> None:
        for name, expected in self.model.jobs.items():
            job, history = jobs.get(tx, self.world.rules, name), jobs.history(tx, self.world.rules, name)
            said = (expected.state, expected.worker, expected.epoch, expected.attempt, expected.rows)
            assert said == (job.state, job.worker, job.epoch, job.attempt, job.revision)
            assert (expected.due, expected.ends) == (job.due_at, job.ends_by)
            assert [None, *(row.new for row in history)] == [*(row.old for row in history), job.state]
            assert list(range(1, job.revision + 1)) == [row.seq for row in history]
            fences = [(row.attempt, row.epoch) for row in history]
            assert sorted(fences) == fences
            assert (job.attempt, job.epoch) == fences[-1]
            assert job.is_final is (job.ended_at is not None)

    def _report(self, report: Report) -> None:
        assert self._expected(report) == refused(lambda: self.world.write(jobs.report, self.world.rules, report))

    def _expected(self, report: Report) -> Kind | None:
        worker, detail = report.payload.worker or "", report.payload.detail
        return self.model.report(report.job, worker, report.state, report.epoch, detail)

    def _said(self, job: str, worker: str, state: State, off: int | None, detail: str | None) -> Report:
        present = self.model.jobs[job].epoch if job in self.model.jobs else 1
        epoch = None if off is None else max(0, present + off)
        return a_report(job, state, worker, epoch, detail=detail)

    def _passes(self, seconds: float) -> None:
        self.clock.passes(seconds=seconds)
        self.model.now += timedelta(seconds=seconds)

    def _own(self, worker: str) -> str:
        return f"{worker} of {self.pool}"


def outcome(call: Callable[[], object]) -> object:
    """What came of it, or the kind of the refusal."""
    try:
        return call()
    except Refusal as refusal:
        return refusal.kind


def refused(call: Callable[[], object]) -> Kind | None:
    found = outcome(call)
    return found if isinstance(found, Kind) else None
