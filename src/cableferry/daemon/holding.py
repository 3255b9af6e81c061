"""The jobs that the daemon holds, in its head and in its journal; they never differ."""

from collections.abc import Iterable, Iterator

import msgspec
import structlog

from cableferry.client.answers import Job
from cableferry.daemon import launch
from cableferry.daemon.config import Config
from cableferry.daemon.decide import Decision, stopped
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.journal import Journal
from cableferry.wire.emx2.bodies import TransitionBody

log = structlog.get_logger()


class Holding:
    """Every change is in the journal before anything follows from it."""

    def __init__(self, config: Config, journal: Journal[Held, TransitionBody]) -> None:
        self._config = config
        self._journal = journal
        self._held = {held.id: held for held in journal.held()}

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def get(self, id: str) -> Held | None:
        return self._held.get(id)

    def ids(self) -> tuple[str, ...]:
        return tuple(self._held)

    def names(self) -> frozenset[str]:
        return frozenset(held.name for held in self._held.values())

    @property
    def room(self) -> int:
        return max(0, self._config.max_concurrent_jobs - sum(held.takes_room for held in self._held.values()))

    def take(self, jobs: Iterable[Job], now: float) -> bool:
        """Hold jobs the server gave us; False when an earlier attempt of one has yet to end here."""
        is_all = True
        for job in filter(launch.is_safe, jobs):
            known = self._held.get(job.id)
            if known is None:
                log.info("job claimed", job=job.id, processor=job.processor, attempt=job.attempt)
                attempt = job.attempt if job.attempt > 0 else self._journal.next_attempt(job.id)
                self.note(Decision(launch.held(self._config, job, attempt, now)))
            elif known.epoch != job.epoch:
                self.stop([job.id], now)
                is_all = False
        return is_all

    def recover(self, jobs: Iterable[Job], now: float) -> None:
        """Hold jobs the server thinks we have: whether they run is for the scheduler to say."""
        for job in filter(launch.is_safe, jobs):
            if job.id not in self._held:
                log.info("job recovered", job=job.id, status=job.status)
                attempt = job.attempt if job.attempt > 0 else self._journal.last_attempt(job.id)
                held = launch.held(self._config, job, attempt, now)
                self.note(Decision(msgspec.structs.replace(held, stage=Stage.INTENT)))

    def stop(self, ids: Iterable[str], now: float) -> None:
        for id_ in ids:
            held = self._held.get(id_)
            if held is not None and held.stop is not Stop.SERVER and held.stage is not Stage.DONE:
                log.info("job to be stopped", job=held.id)
                self.note(Decision(stopped(held, Stop.SERVER, now)))

    def leave_unsubmitted(self) -> None:
        """Let go of what nobody submitted: whoever has our place holds it too, and we may not end it."""
        for held in self:
            if held.stage in (Stage.CLAIMED, Stage.READY):
                log.info("job left to another", job=held.id)
                self._journal.forget(held.id)
                del self._held[held.id]

    def note(self, decision: Decision) -> None:
        known = self._held.get(decision.held.id)
        if known != decision.held or decision.reports:
            self._journal.note(decision.held, decision.reports)
            self._held[decision.held.id] = decision.held
            _tell(known, decision.held)

    def forget_told(self) -> list[Held]:
        """Let go of jobs about which nothing is left to tell; what they were is given back."""
        untold = self._journal.untold()
        gone = [held for held in self if held.stage is Stage.DONE]
        gone = [held for held in gone if held.id not in untold or held.stop is Stop.SERVER]
        for held in gone:
            self._journal.forget(held.id)
            del self._held[held.id]
        return gone


def _tell(old: Held | None, new: Held) -> None:
    """One line for each step of a job, so that one query of the log tells its story."""
    if old is None or old.stage is new.stage:
        return
    match new.stage:
        case Stage.SUBMITTED:
            log.info("job submitted", job=new.id, called=new.called, name=new.name)
        case Stage.STARTED:
            log.info("job started", job=new.id, called=new.called)
        case Stage.ENDED:
            end = new.end
            log.info(
                "job ended",
                job=new.id,
                called=new.called,
                ending=None if end is None else end.ending,
                exit_code=None if end is None else end.exit_code,
                signal=None if end is None else end.signal,
            )
        case Stage.DONE if new.called is None and new.stop is not Stop.SERVER:
            log.warning("job not started", job=new.id, reason=new.remark)
        case _:
            pass
