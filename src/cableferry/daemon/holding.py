"""The jobs that the daemon holds, in its head and in its journal; they never differ."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import structlog

from cableferry.client.answers import Job
from cableferry.core.jobs import State
from cableferry.daemon import launch
from cableferry.daemon.config import Config
from cableferry.daemon.decide import Decision, stopped
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.journal import Journal
from cableferry.wire.emx2.bodies import TransitionBody

log = structlog.get_logger()


class Holding:
    """Every change is in the journal before anything follows from it; `ended` is told of each job that is over."""

    def __init__(
        self,
        config: Config,
        journal: Journal[Held, TransitionBody],
        ended: Callable[[Held], object],
    ) -> None:
        self._config = config
        self._journal = journal
        self._ended = ended
        self._held = {held.id: held for held in journal.held()}

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def get(self, id: str) -> Held | None:
        return self._held.get(id)

    def ids(self) -> tuple[str, ...]:
        return tuple(self._held)

    def restless(self) -> list[Held]:
        """Those that may need something at any time; the others only wait for what is seen of them."""
        waiting = (Stage.SUBMITTED, Stage.STARTED)
        return [held for held in self._held.values() if held.stage not in waiting or held.stop is not None]

    def names(self) -> frozenset[str]:
        return frozenset(held.name for held in self._held.values())

    @property
    def room(self) -> int:
        return max(0, self._config.max_concurrent_jobs - sum(held.takes_room for held in self._held.values()))

    def take(self, jobs: Iterable[Job], now: float) -> bool:
        """Hold jobs the server gave us; False when an earlier attempt of one has yet to end here."""
        is_all, taken = True, dict[str, Decision]()
        for job in filter(launch.is_safe, jobs):
            known = self._held.get(job.id)
            if known is None and job.id not in taken:
                log.info("job claimed", job=job.id, processor=job.processor, attempt=job.attempt)
                attempt = job.attempt if job.attempt > 0 else self._journal.next_attempt(job.id)
                taken[job.id] = Decision(launch.held(self._config, job, attempt, now))
            elif known is not None and known.epoch != job.epoch:
                self.stop([job.id], now)
                is_all = False
        self.note(*taken.values())
        return is_all

    def recover(self, jobs: Iterable[Job], now: float) -> None:
        """Hold jobs the server thinks we have: whether they run is for the scheduler to say."""
        found: dict[str, Decision] = {}
        for job in filter(launch.is_safe, jobs):
            if job.id not in self._held:
                log.info("job recovered", job=job.id, status=job.status)
                attempt = job.attempt if job.attempt > 0 else self._journal.last_attempt(job.id)
                held = launch.held(self._config, job, attempt, now)
                # whoever told of it may still be there, and is given time to tell more
                asked_at = 0 if held.told is State.CLAIMED else now
                found[job.id] = Decision(msgspec.structs.replace(held, stage=Stage.INTENT, asked_at=asked_at))
        self.note(*found.values())

    def stop(self, ids: Iterable[str], now: float) -> None:
        found = [held for id_ in ids if (held := self._held.get(id_)) is not None]
        living = [held for held in found if held.stop is not Stop.SERVER and held.stage is not Stage.DONE]
        for held in living:
            log.info("job to be stopped", job=held.id)
        self.note(*(Decision(stopped(held, Stop.SERVER, now)) for held in living))

    def leave_unsubmitted(self) -> None:
        """Let go of what nobody submitted: whoever has our place holds it too, and we may not end it."""
        left = [held for held in self if held.stage in (Stage.CLAIMED, Stage.READY)]
        for held in left:
            log.info("job left to another", job=held.id)
        self._forget(left)

    def note(self, *decisions: Decision) -> None:
        """What has changed, on disk at once and together."""
        changed = [each for each in decisions if self._held.get(each.held.id) != each.held or each.reports]
        if not changed:
            return
        self._journal.note_all([(each.held, each.reports) for each in changed])
        for each in changed:
            known = self._held.get(each.held.id)
            self._held[each.held.id] = each.held
            _tell(known, each.held)
            if each.held.stage is Stage.ENDED and (known is None or known.stage is not Stage.ENDED):
                self._ended(each.held)

    def told(self) -> list[Held]:
        """The jobs about which nothing is left to tell."""
        done = [held for held in self if held.stage is Stage.DONE]
        untold = self._journal.untold() if done else frozenset()
        return [held for held in done if held.id not in untold or held.stop is Stop.SERVER]

    def forget(self, held: Held) -> None:
        """Let go of one of them, once nothing is left of it either."""
        if self._held.get(held.id) == held:
            self._forget([held])

    def _forget(self, gone: Sequence[Held]) -> None:
        if gone:
            self._journal.forget(*(held.id for held in gone))
        for held in gone:
            del self._held[held.id]


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
