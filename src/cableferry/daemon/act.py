"""Does what was decided about a job, and turns whatever comes of it into a fact."""

import shutil
from collections.abc import Callable
from pathlib import Path

import structlog

from cableferry import failpoints
from cableferry.daemon import disks, launch
from cableferry.daemon.config import Config, Profile, profile_for
from cableferry.daemon.decide import Effect
from cableferry.daemon.endings import Collected
from cableferry.daemon.environment import BadParameters
from cableferry.daemon.errands import Errands
from cableferry.daemon.held import Held
from cableferry.daemon.outcomes import Cancelled, Outcome, Prepared, Uncollected, Unprepared
from cableferry.schedulers.protocol import Found, Order, Refused, Scheduler, Submission, Ticket, Unknown

log = structlog.get_logger()


class Hands:
    """All that is done about jobs outside of the loop; any of it may take long, and be done for many jobs at once."""

    def __init__(self, config: Config, scheduler: Scheduler, errands: Errands, may_submit: Callable[[], bool]) -> None:
        self._config = config
        self._scheduler = scheduler
        self._errands = errands
        self._may_submit = may_submit

    def perform(self, effect: Effect, held: Held) -> Outcome:
        with failpoints.crossing("effect", effect):
            return self._perform(effect, held)

    def _perform(self, effect: Effect, held: Held) -> Outcome:
        match effect:
            case Effect.PREPARE:
                return self._prepare(held)
            case Effect.SUBMIT:
                return self._submit(held)
            case Effect.FIND:
                return self._scheduler.find(held.name, held.claimed_at)
            case Effect.CANCEL | Effect.KILL:
                self.cancel(held.ticket, effect is Effect.KILL)
                return Cancelled()
            case Effect.COLLECT:
                return self._collect(held)

    def cancel(self, ticket: Ticket | None, is_urgent: bool = False) -> None:
        """It is asked again as long as the job lives, so an answer that does not come is no matter."""
        if ticket is not None:
            self._scheduler.cancel(ticket, is_urgent)

    def clean(self, held: Held) -> None:
        """Take away what a job leaves behind, as the site wishes; what was not brought elsewhere stays."""
        with failpoints.crossing("effect", "clean"):
            self._clean(held)

    def _clean(self, held: Held) -> None:
        is_kept = self._config.keep_work_dirs
        if is_kept == "always" or self._config.backend == "simulate":
            return
        where = launch.places(self._config, held)
        is_good = held.end is not None and held.end.exit_code == 0
        if is_kept == "never" or is_good:
            for folder in (where.input, where.work, launch.scratch(where), launch.halfway(where)):
                shutil.rmtree(folder, ignore_errors=True)
            if held.is_home:
                shutil.rmtree(where.output.parent, ignore_errors=True)
            shutil.rmtree(Path(self._config.jobs_dir) / launch.RUNS / held.name, ignore_errors=True)

    def _prepare(self, held: Held) -> Outcome:
        profile = self._profile(held)
        if profile is None:
            return Unprepared(f"worker {self._config.worker_id} has no profile for {_wanted(held)}")
        if self._config.backend == "simulate":
            return Prepared()
        try:
            launch.order(self._config, profile, held)
            launch.folders(launch.places(self._config, held))
        except launch.NotRunnable as error:
            return Unprepared(str(error))
        except OSError as error:
            is_full = error.errno in disks.FULL
            return Unprepared(f"no folders for job {held.id}: {error}", may_pass=True, is_full=is_full)
        return self._errands.stage(held, profile)

    def _submit(self, held: Held) -> Submission:
        profile = self._profile(held)
        if profile is None:
            return Refused(f"worker {self._config.worker_id} has no profile for {_wanted(held)} any more")
        if not self._may_submit():
            # this thread may have slept since it was decided
            return Refused("its server was not heard of for too long: another daemon may have it", may_pass=True)
        if self._config.backend == "simulate":
            return self._scheduler.submit(Order(held.name, (), "", "", {}))
        try:
            return self._scheduler.submit(launch.order(self._config, profile, held))
        except (launch.NotRunnable, BadParameters) as error:
            return Refused(str(error))

    def _profile(self, held: Held) -> Profile | None:
        return profile_for(self._config, held.processor, held.profile)

    def _collect(self, held: Held) -> Outcome:
        if self._config.backend == "simulate":
            return Collected()
        # a profile that was taken out of the configuration leaves no result behind
        return self._errands.collect(held, self._profile(held) or Profile(processor=held.processor))


def failed(effect: Effect, reason: str) -> Outcome:
    """What a bug in an effect means: nothing is taken for done, and nothing for undone."""
    match effect:
        case Effect.PREPARE:
            return Unprepared(reason, may_pass=True)
        case Effect.SUBMIT:
            return Unknown(reason)
        case Effect.FIND:
            return Found(False, (), reason)
        case Effect.CANCEL | Effect.KILL:
            return Cancelled()
        case Effect.COLLECT:
            return Uncollected(reason)


def _wanted(held: Held) -> str:
    return held.processor if held.profile is None else f"{held.processor}:{held.profile}"
