"""One daemon from its start until it is told to stop: look, decide, act, wait; its jobs go on without it."""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType

import structlog

from cableferry.client import emx2
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.daemon import launch, metrics, progress
from cableferry.daemon.act import Hands, failed
from cableferry.daemon.config import Config, Profile, profile_for
from cableferry.daemon.conversation import Conversation, Talked
from cableferry.daemon.crew import Crew
from cableferry.daemon.decide import Decision, Effect, Limits, Seen, decide
from cableferry.daemon.disks import Disks
from cableferry.daemon.errands import Errands
from cableferry.daemon.held import Held, Stage, Stop
from cableferry.daemon.holding import Holding
from cableferry.daemon.journal import Journal, Unwritable
from cableferry.daemon.metrics import Metrics
from cableferry.daemon.onlookers import Onlookers, Pulse, Worries
from cableferry.daemon.outcomes import Cancelled, Cleaned, Outcome, Uncollected, Unprepared, fold
from cableferry.daemon.scribe import Scribe, Sent
from cableferry.daemon.sole import Sole
from cableferry.daemon.tenure import Tenure
from cableferry.daemon.upstreams.protocol import Give
from cableferry.schedulers.protocol import Accepted, Phase, Refused, Scheduler, Sighting, Snapshot, Ticket, Unknown
from cableferry.wire.emx2.bodies import TransitionBody

log = structlog.get_logger()

TICK_SECONDS = 0.2
SOON_SECONDS = 1.0
_FRESH_SECONDS = 20.0
_MOST_TROUBLE_SECONDS = 30.0
_CREW = 8
_IDLE_LOOK_SECONDS = 30.0
_WRITING = (Phase.RUNNING, Phase.ENDED, Phase.GONE)
_LEAVING_SECONDS = 1.0
# so late at most is a job's time seen to be up while no look succeeds
_LIMITS_SECONDS = 5.0
_UNSUBMITTED = (Stage.CLAIMED, Stage.READY)
NOTHING_SEEN: Mapping[str, Sighting] = MappingProxyType({})
# few tries: while they last nothing else is told
_PATIENCE = Patience(tries=3, most_seconds=1)


Message = Talked | Snapshot | Sent | tuple[str, Outcome | Cleaned] | None


class Daemon:
    """Everything that changes is changed by one thread, which waits for nobody: others look, talk and act for it."""

    def __init__(self, config: Config, scheme: Scheme, scheduler: Scheduler, counted: Metrics | None = None) -> None:
        self._metrics = counted or Metrics(config)
        self._onlookers = Onlookers(config, self._metrics)
        state = Path(config.state_dir)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sole = Sole(state, None if config.backend == "simulate" else Path(config.jobs_dir))
        self._config = config
        self._scheduler = scheduler
        self._journal = Journal(state / "journal.db", Held, TransitionBody)
        self._session = self._journal.fact("session", str(uuid.uuid4()))
        self._holding = Holding(config, self._journal, self._metrics.ended)
        self._stopping = threading.Event()
        self._client = emx2.connect(config.server, scheme, _PATIENCE, self._stopping.wait, self._metrics.answered)
        self._errands = Errands(config, self._client, self._is_stopped, self._metrics)
        self._tenure = Tenure(config.worker_id)
        folders = [state] if config.backend == "simulate" else [state, Path(config.jobs_dir)]
        self._disks = Disks(config.worker_id, folders, config.least_free_bytes)
        self._hands = Hands(config, scheduler, self._errands, self._may_submit)
        self._conversation = Conversation(config, self._client, self._session)
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._voice: Crew[Talked] = Crew(1, lambda name, talked: self._inbox.put(talked))
        self._eyes: Crew[Snapshot] = Crew(1, lambda name, seen: self._inbox.put(seen))
        self._crew: Crew[Outcome | Cleaned] = Crew(_CREW, lambda name, outcome: self._inbox.put((name, outcome)))
        self._server_trouble: str | None = None
        self._server_trouble_kind = ""
        self.is_unknown = False
        self._scheduler_trouble: str | None = None
        # bringing bytes must not keep anybody from being submitted or stopped
        self._porters: Crew[Outcome] = Crew(_CREW, lambda name, outcome: self._inbox.put((name, outcome)))
        self._scribe = Scribe(self._errands, self._holding, self._inbox.put)
        self._acting: dict[str, str] = {}
        self._is_sure = False
        self._is_awake = True
        self._troubles = 0
        self._claimed = 0
        self._talk_due = self._look_due = self._pass_due = self._limits_due = self._stand_due = 0.0
        self._known_limits: dict[tuple[str, str | None], Limits] = {}
        self._looked_at = 0.0
        self._seen_at: float | None = None
        self._heard_at: float | None = None
        self._strangers: frozenset[Ticket] = frozenset()

    def stop(self) -> None:
        """From a signal or another thread: end the loop, leave the jobs."""
        self._stopping.set()
        self._inbox.put(None)

    def run(self) -> None:
        """Until it is stopped: neither a refusal nor silence of a server or a scheduler is a reason to go."""
        for processor in sorted({profile.processor for profile in self._config.profiles}):
            threading.Thread(target=self._listen, args=(processor,), daemon=True).start()
        self._onlookers.open()
        while not self._stopping.is_set():
            try:
                self._begin(time.monotonic())
                with contextlib.suppress(Empty):
                    self._take(self._inbox.get(timeout=TICK_SECONDS))
            except Unwritable as error:
                # what was not noted has not happened: it is found again, as after a kill
                self._disks.hit(str(error.strerror), time.monotonic())
        self._leave()

    def once(self) -> str | None:
        """One cycle to its end; what went wrong with the server or the scheduler, if anything did."""
        trouble: str | None
        try:
            trouble = self._cycle()
        except Unwritable as error:
            trouble = str(error)
        self._leave()
        return trouble

    def _cycle(self) -> str | None:
        self._disks.look(time.monotonic())
        self._talk(self._room)
        self._settle()
        self._look()
        self._settle()
        if self._server_trouble is None:
            while self._journal.outbox(1) and self._server_trouble is None:
                self._talk(0)
                self._settle()
        return self._server_trouble or self._tenure.displaced or self._scheduler_trouble or self._disks.trouble

    def _settle(self) -> None:
        """Until everything begun has been done and what follows from it as well."""
        self._consider(list(self._holding))
        while self._voice.busy or self._eyes.busy or self._crew.busy or self._porters.busy:
            self._take(self._inbox.get())

    def _leave(self) -> None:
        """What is being submitted right now is better known than found again, but nobody is waited for long."""
        end = time.monotonic() + _LEAVING_SECONDS
        while self._crew.busy and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(Empty, Unwritable):
                self._take(self._inbox.get(timeout=left))
        for crew in (self._voice, self._eyes, self._crew, self._porters):
            crew.dismiss()
        self._scribe.dismiss()
        self._stand()
        self._onlookers.close()
        log.info("worker stopped", worker=self._config.worker_id, left_running=len(self._holding.ids()))
        self._client.close()
        self._journal.close()
        self._sole.release()

    def _begin(self, now: float) -> None:
        """Let others begin what is due."""
        if now >= self._stand_due:
            self._stand_due = now + 2
            self._disks.look(now)
            self._stand()
        if self._disks.rests(now):
            return
        has_reports = self._troubles == 0 and bool(self._journal.outbox(1))
        if not self._voice.busy and (now >= self._talk_due or has_reports or (self._is_awake and not self._troubles)):
            self._is_awake = False
            self._talk(self._room)
        if not self._eyes.busy and now >= self._look_due:
            self._look()
        if now >= self._pass_due:
            self._pass_due = now + SOON_SECONDS
            self._consider(self._holding.restless())
        if now >= self._limits_due:
            self._limits_due = now + _LIMITS_SECONDS
            self._consider(list(self._holding))
        if not self._troubles:
            self._scribe.begin(now)

    def _talk(self, room: int) -> None:
        trouble = self._disks.trouble or self._scheduler_trouble
        give = Give(tuple(self._journal.outbox()), self._holding.ids(), room, trouble)
        is_sure, self._is_sure = self._is_sure, False
        self._voice.take("server", lambda: self._conversation.exchange(give, is_sure), lambda why: Talked(trouble=why))

    def _look(self) -> None:
        tickets = [held.ticket for held in self._holding if held.stage in (Stage.SUBMITTED, Stage.STARTED)]
        known = [ticket for ticket in tickets if ticket is not None]
        now, self._looked_at = time.time(), time.monotonic()
        self._eyes.take(
            "scheduler",
            lambda: self._scheduler.sight(known, now),
            lambda why: Snapshot(False, now, trouble=why),
        )

    @property
    def _room(self) -> int:
        """How many more jobs may come: none while there is no room on the disks for them."""
        return self._holding.room if self._disks.trouble is None else 0

    def _may_submit(self) -> bool:
        return self._tenure.may_submit(time.monotonic())

    def _is_stopped(self, id_: str) -> bool:
        held = self._holding.get(id_)
        return held is None or held.stop is Stop.SERVER

    def _take(self, message: Message) -> None:
        match message:
            case Talked():
                self._voice.done("server")
                self._heard(message)
            case Snapshot():
                self._eyes.done("scheduler")
                self._saw(message)
            case Sent():
                self._scribe.done(message)
            case (str(name), outcome):
                self._crew.done(name)
                self._porters.done(name)
                self._did(name, outcome)
            case None:
                self._is_awake = True

    def _heard(self, talked: Talked) -> None:
        now = time.time()
        self._tenure.hear(talked, time.monotonic())
        if talked.trouble is not None:
            self._bear(talked)
            return
        if self._troubles:
            log.info("server is back", worker=self._config.worker_id)
        self._troubles, self._server_trouble = 0, None
        self._errands.is_plain, self._errands.has_logs = talked.is_plain, talked.has_logs
        self._scribe.watched = talked.got.watched
        self._journal.told(talked.got.told)
        self._holding.recover(talked.mine, now)
        self._is_sure = self._holding.take(talked.got.claimed, now) and talked.displaced is None
        self._holding.stop(talked.got.stop, now)
        if talked.displaced is not None:
            self._holding.leave_unsubmitted()
        self._claimed += len(talked.got.claimed)
        self._metrics.count(metrics.CLAIMS, len(talked.got.claimed))
        self._heard_at = time.monotonic()
        for held in self._holding.told():
            self._clean(held)
        self._talk_due = time.monotonic() + talked.pause_seconds
        self._consider(self._holding.restless())

    def _bear(self, talked: Talked) -> None:
        """Go on without the server for a while."""
        self._server_trouble, self._server_trouble_kind = talked.trouble, talked.kind or "unknown"
        self.is_unknown = talked.is_unauthenticated
        self._onlookers.note("server", talked.trouble or "")
        log.warning("server in trouble", worker=self._config.worker_id, reason=talked.trouble)
        self._troubles += 1
        self._talk_due = time.monotonic() + min(_MOST_TROUBLE_SECONDS, 2.0 ** min(self._troubles, 5))

    def _saw(self, snapshot: Snapshot) -> None:
        took = time.monotonic() - self._looked_at
        # a look that was in vain cost the scheduler little, and its next answer is waited for
        rest = 5 * took if snapshot.trouble is None else took
        self._look_due = time.monotonic() + max(rest, self._look_seconds())
        if snapshot.trouble != self._scheduler_trouble:
            self._scheduler_trouble = snapshot.trouble
            if snapshot.trouble is None:
                log.info("scheduler is back", worker=self._config.worker_id)
            else:
                self._onlookers.note("scheduler", snapshot.trouble)
                log.warning("scheduler in trouble", worker=self._config.worker_id, reason=snapshot.trouble)
        if snapshot.is_ok:
            self._seen_at = self._looked_at
            self._end_orphans(snapshot)
            self._limits_due = time.monotonic() + _LIMITS_SECONDS
            self._consider(list(self._holding), snapshot.jobs)

    def _look_seconds(self) -> float:
        """Sooner while jobs are young, since most that will go wrong goes wrong at once; seldom without any."""
        if self._config.backend == "local":
            # it costs next to nothing
            return min(self._config.look_seconds, TICK_SECONDS)
        now = time.time()
        is_fresh = any(now - (held.submitted_at or 0) < _FRESH_SECONDS for held in self._holding)
        if is_fresh:
            return min(self._config.look_seconds, SOON_SECONDS)
        return self._config.look_seconds if self._holding.ids() else max(self._config.look_seconds, _IDLE_LOOK_SECONDS)

    def _end_orphans(self, snapshot: Snapshot) -> None:
        """Living jobs under our names that belong to nothing we hold, twice in a row and when the server knows us."""
        names = self._holding.names()
        strangers = frozenset(ticket for ticket in snapshot.strangers if ticket.name not in names)
        for ticket in strangers & self._strangers if self._may_submit() and self._is_sure else ():
            log.warning("orphan cancelled", name=ticket.name, called=ticket.called)
            self._crew.take(f"orphan {ticket.called}", _cancelling(self._hands, ticket), lambda why: Cancelled())
        self._strangers = strangers

    def _clean(self, held: Held) -> None:
        """Before it is forgotten, or nobody would ever come back to it; what fails then stays."""
        if not self._crew.is_busy(name := f"clean {held.name}"):
            self._crew.take(name, _cleaning(self._hands, held), lambda why: Cleaned(held))

    def _did(self, name: str, outcome: Outcome | Cleaned) -> None:
        if isinstance(outcome, Cleaned):
            self._scribe.forget(outcome.held.id)
            self._holding.forget(outcome.held)
            return
        id_ = self._acting.pop(name, "")
        held = self._holding.get(id_)
        # the job may have been let go meanwhile, and be here again as another attempt
        if held is None or held.name != name or held.stage is Stage.DONE:
            return
        if isinstance(outcome, Accepted | Refused | Unknown):
            self._metrics.submitted(outcome)
        if isinstance(outcome, Unprepared | Unknown | Uncollected | Refused):
            self._onlookers.note(f"job {held.id}", outcome.reason)
            log.warning("job held up", job=held.id, reason=outcome.reason)
        if isinstance(outcome, Unprepared | Uncollected) and outcome.is_full:
            self._disks.hit(outcome.reason, time.monotonic())
        ending = "" if held.end is None else str(held.end.ending)
        profile = profile_for(self._config, held.processor, held.profile)
        retries = 0 if profile is None else profile.retries.get(ending, 0)
        self._apply(fold(held, outcome, time.time(), retries))
        if (new := self._holding.get(id_)) is not None:
            self._consider([new])
        if new is not None and new.stage is Stage.SUBMITTED and held.stage is Stage.INTENT:
            self._look_due = min(self._look_due, time.monotonic() + SOON_SECONDS / 2)

    def _consider(self, jobs: Sequence[Held], seen: Mapping[str, Sighting] = NOTHING_SEEN) -> None:
        """Decide about each of them, note it all at once, and let what follows begin."""
        while jobs:
            decided = [(held, decide(held, self._seen(held, seen.get(held.name)))) for held in self._ours(jobs)]
            self._apply(*(decision for _, decision in decided))
            # who has come further may need something now
            jobs = [then.held for held, then in decided if then.effect is None and then.held.stage is not held.stage]
            seen = NOTHING_SEEN

    def _ours(self, jobs: Sequence[Held]) -> Sequence[Held]:
        """Another daemon may have what is not submitted: it is neither begun nor ended before that is known."""
        return jobs if self._may_submit() else [held for held in jobs if held.stage not in _UNSUBMITTED]

    def _apply(self, *decisions: Decision) -> None:
        self._holding.note(*decisions)
        for decision in decisions:
            if decision.effect is not None:
                self._act(decision.effect, decision.held)

    def _act(self, effect: Effect, held: Held) -> None:
        self._acting[held.name] = held.id
        crew = self._porters if effect in (Effect.PREPARE, Effect.COLLECT) else self._crew
        crew.take(held.name, lambda: self._hands.perform(effect, held), lambda why: failed(effect, why))

    def _seen(self, held: Held, sighting: Sighting | None) -> Seen:
        read = progress.Read((), held.progress)
        if sighting is not None and sighting.phase in _WRITING and self._config.backend != "simulate":
            # read after the sighting, so that the last line of an ended job is among them
            output = launch.places(self._config, held).output
            read = progress.rest(output, held.progress, sighting.phase is not Phase.RUNNING)
        is_busy = self._crew.is_busy(held.name) or self._porters.is_busy(held.name)
        return Seen(time.time(), sighting, read.lines, read.mark, self._limits(held), is_busy)

    def _limits(self, held: Held) -> Limits:
        kind = held.processor, held.profile
        if kind not in self._known_limits:
            self._known_limits[kind] = _limits(self._config, profile_for(self._config, *kind))
        return self._known_limits[kind]

    def _stand(self) -> None:
        worries = Worries(
            self._server_trouble,
            self._server_trouble_kind,
            self._scheduler_trouble,
            self._tenure.displaced,
            self._disks.trouble,
        )
        self._onlookers.tell(
            list(self._holding), worries, Pulse(self._seen_at, self._heard_at, self._journal.waiting())
        )
        self._sole.refresh()

    def _listen(self, processor: str) -> None:
        """Wake the loop as soon as the server has a job; what it cannot give us anyway wakes it ever less often."""
        pause = TICK_SECONDS
        while not self._stopping.is_set():
            claimed = self._claimed
            pause = min(pause * 2, self._config.poll_seconds)
            if self._room and not self._troubles and self._conversation.has_news(processor):
                self._inbox.put(None)
            self._stopping.wait(TICK_SECONDS)
            if self._claimed != claimed:
                pause = TICK_SECONDS
            self._stopping.wait(pause - TICK_SECONDS)


def _limits(config: Config, profile: Profile | None) -> Limits:
    return Limits(
        config.stop_seconds,
        300 if profile is None else profile.submission_seconds,
        0 if profile is None else profile.execution_seconds,
        config.lost_seconds,
        config.queue_report_seconds,
    )


def _cleaning(hands: Hands, held: Held) -> Callable[[], Cleaned]:
    def clean() -> Cleaned:
        hands.clean(held)
        return Cleaned(held)

    return clean


def _cancelling(hands: Hands, ticket: Ticket) -> Callable[[], Outcome]:
    def cancel() -> Outcome:
        hands.cancel(ticket)
        return Cancelled()

    return cancel
