"""The jobs a worker holds: taken, started, looked at, ended, forgotten."""

import socket
import time
from collections.abc import Collection, Iterable

import msgspec
import structlog

from cableferry.client.answers import Job
from cableferry.core.jobs import State
from cableferry.daemon import launch, progress
from cableferry.daemon.config import Config
from cableferry.daemon.decide import Push, Seen, decide, report, stopped
from cableferry.daemon.journal import Held, Journal, Stage, Stop
from cableferry.daemon.launch import NotRunnable
from cableferry.schedulers.protocol import Accepted, Scheduler, Ticket
from cableferry.wire.emx2.bodies import TransitionBody
from cableferry.wire.emx2.words import STATES

log = structlog.get_logger()


class Holding:
    """Every change is in the journal before anything follows from it."""

    def __init__(self, config: Config, journal: Journal, scheduler: Scheduler) -> None:
        self._config = config
        self._journal = journal
        self._scheduler = scheduler
        self._held = {held.id: held for held in journal.held()}

    def ids(self) -> frozenset[str]:
        return frozenset(self._held)

    @property
    def busy(self) -> int:
        """How many jobs take a place."""
        return sum(held.stage is not Stage.ENDED for held in self._held.values())

    @property
    def room(self) -> int:
        return max(0, self._config.max_concurrent_jobs - self.busy)

    def take(self, jobs: Iterable[Job]) -> bool:
        """Hold jobs the server gave us; False when an earlier attempt of one has yet to end here."""
        fenced = []
        for job in filter(launch.is_safe, jobs):
            known = self._held.get(job.id)
            if known is None:
                log.info("job claimed", job=job.id, processor=job.processor, attempt=job.attempt)
                self._note(launch.held(job, time.time()))
            elif known.epoch != job.epoch:
                fenced.append(job.id)
        self.stop(fenced)
        return not fenced

    def recover(self, jobs: Iterable[Job]) -> None:
        """Hold jobs the server thinks we have: one that runs here runs on, one that cannot is lost."""
        for job in filter(launch.is_safe, jobs):
            held = launch.held(job, time.time())
            known = self._scheduler.find(held.name, held.claimed_at).tickets
            called = known[0].called if known else None
            log.info("job recovered", job=job.id, called=called)
            if called is not None:
                self._note(msgspec.structs.replace(held, called=called, stage=Stage.STARTED), _begun(held, job))
            elif STATES[job.status] is State.CLAIMED:
                self._note(held)
            else:
                lost = msgspec.structs.replace(held, stage=Stage.ENDED)
                self._note(lost, [report(lost, State.FAILED, "lost: this worker knows nothing of it any more")])

    def stop(self, ids: Collection[str]) -> None:
        for id_ in self.ids() & set(ids):
            held = self._held[id_]
            if held.stop is not Stop.SERVER:
                log.info("job to be stopped", job=held.id)
                self._note(stopped(held, Stop.SERVER, time.time()))

    def advance(self) -> None:
        """Do for every job what is next."""
        for held in list(self._held.values()):
            match held.stage:
                case Stage.CLAIMED if held.stop is Stop.SERVER:
                    self._note(msgspec.structs.replace(held, stage=Stage.ENDED))
                case Stage.CLAIMED:
                    self._launch(held)
                case Stage.STARTED:
                    self._look(held)
                case Stage.ENDED:
                    pass

    def forget_told(self) -> None:
        """Let go of ended jobs about which nothing is left to tell."""
        untold = self._journal.untold()
        for held in list(self._held.values()):
            if held.stage is Stage.ENDED and (held.id not in untold or held.stop is Stop.SERVER):
                self._journal.forget(held.id)
                del self._held[held.id]

    def _launch(self, held: Held) -> None:
        try:
            submission = self._scheduler.submit(launch.order(self._config, held))
        except NotRunnable as error:
            self._refuse(held, str(error))
            return
        if not isinstance(submission, Accepted):
            self._refuse(held, submission.reason)
            return
        called = submission.ticket.called
        log.info("job started", job=held.id, called=called)
        started = msgspec.structs.replace(held, stage=Stage.STARTED, called=called)
        self._note(started, _begun(started))

    def _refuse(self, held: Held, reason: str) -> None:
        log.warning("job not started", job=held.id, reason=reason)
        ended = msgspec.structs.replace(held, stage=Stage.ENDED)
        self._note(ended, [report(ended, State.FAILED, reason)])

    def _look(self, held: Held) -> None:
        ticket = Ticket(held.name, held.called or "")
        sighting = self._scheduler.sight([ticket], time.time()).jobs[held.name]
        output = launch.places(self._config, held).output
        # read after the sighting, so that the last line of an ended job is among them
        read = progress.read(output, held.progress_offset)
        seen = Seen(sighting, time.time(), read.lines, read.offset, str(output), self._config.stop_seconds)
        decision = decide(held, seen)
        if decision.push is not None:
            self._scheduler.cancel(ticket, decision.push is Push.KILL)
        if decision.held != held:
            self._note(decision.held, decision.reports)
        if decision.held.stage is Stage.ENDED:
            log.info("job ended", job=held.id, exit_code=sighting.exit_code, signal=sighting.signal)

    def _note(self, held: Held, reports: Iterable[TransitionBody] = ()) -> None:
        self._journal.note(held, reports)
        self._held[held.id] = held


def _begun(held: Held, job: Job | None = None) -> list[TransitionBody]:
    """What is told of a started job, as far as the server does not know it."""
    known = State.CLAIMED if job is None else STATES[job.status]
    submitted = report(held, State.SUBMITTED, f"local process {held.called}")
    running = report(held, State.RUNNING, f"running on {socket.gethostname()}")
    return {State.CLAIMED: [submitted, running], State.SUBMITTED: [running]}.get(known, [])
