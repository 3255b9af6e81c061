"""Brings inputs to a job and takes results away from it: what takes long, and may be done again from where it broke."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import structlog

from cableferry.client.emx2 import Emx2
from cableferry.client.errors import Trouble
from cableferry.core.jobs import Cause
from cableferry.daemon import disks, launch, metrics
from cableferry.daemon.collecting import outputs, walking
from cableferry.daemon.collecting.outputs import Memory, Stored, What
from cableferry.daemon.collecting.walking import Output, Tree
from cableferry.daemon.config import Config, Profile, Residence
from cableferry.daemon.endings import Collected
from cableferry.daemon.held import Held, Stop
from cableferry.daemon.journal import Made
from cableferry.daemon.metrics import Metrics
from cableferry.daemon.outcomes import Outcome, Prepared, Uncollected, Unprepared
from cableferry.daemon.staging import inputs
from cableferry.daemon.staging.desk import Desk, Order, Site
from cableferry.daemon.staging.inputs import Staged
from cableferry.daemon.staging.outcomes import Cancelled, Failed
from cableferry.daemon.staging.verified import Verified
from cableferry.daemon.tailing import redacting, sending
from cableferry.daemon.tailing.files import Tail
from cableferry.daemon.tailing.sending import Source
from cableferry.schedulers.protocol import BATCH_LOG, Ending

log = structlog.get_logger()

STREAMS = ("stdout.log", "stderr.log", BATCH_LOG)
_NO_BIND = frozenset(",:\\")


class Errands:
    """For one worker at one server; `is_stopped` says whether a job is wanted no more."""

    def __init__(self, config: Config, client: Emx2, is_stopped: Callable[[str], bool], told: Metrics) -> None:
        self._config = config
        self._client = client
        self._is_stopped = is_stopped
        self._metrics = told
        self._masks = redacting.compiled(config.redact)
        self._verified = Verified(Path(config.state_dir) / "verified.db")
        self._made = Made(Path(config.state_dir) / "journal.db")
        self.is_plain = True
        self.has_logs = False

    def stage(self, held: Held, profile: Profile) -> Outcome:
        where = launch.places(self._config, held)
        order = Order(held.inputs.encode(), where.input, launch.halfway(where))
        staged = inputs.stage(self._desk(held, "staged"), Site(self._roots(profile), self._config.web), order)
        match staged:
            case Staged(outside=places):
                outside = tuple(map(str, places))
                if profile.container is not None and any(_NO_BIND & set(place) for place in outside):
                    return Unprepared("staging: an input lies at a path that no container can be shown")
                return Prepared(outside, _tails(where.output))
            case Failed(cause=cause, detail=detail, may_pass=may_pass, is_full=is_full):
                return Unprepared(detail, may_pass, cause, is_full)
            case Cancelled():
                return Unprepared("stopped while its inputs were brought", may_pass=True)

    def collect(self, held: Held, profile: Profile) -> Outcome:
        """Logs of every job, output of a good one; nothing counts as brought before all of it is."""
        output = launch.places(self._config, held).output
        is_good = held.end is not None and held.end.ending is Ending.DONE and held.stop is None
        try:
            self._send_rest(held)
            with Tree(output) as tree:
                found = tree.walk()
                results, logs = walking.divided(found.files)
                for skipped in found.skipped:
                    log.warning("output left out", job=held.id, path=skipped.path, why=skipped.why)
                log_id = self._brought(held, profile, tree, logs, "log")
                result_id = self._brought(held, profile, tree, results, "output") if is_good else None
        except _NotHome as error:
            if not (is_good or error.failed.may_pass):
                # why the job failed is more to the point than why its log is not there
                return Collected(output_dir=str(output))
            return Uncollected(error.failed.detail, error.failed.may_pass, error.failed.is_full)
        except OSError as error:
            is_full = error.errno in disks.FULL
            return Uncollected(f"storing: {output}: {error.strerror}", is_good or is_full, is_full)
        except Trouble as trouble:
            return Uncollected(f"storing: {trouble}")
        is_home = (profile.output_residence, profile.log_residence) == ("managed", "managed") and is_good
        return Collected(result_id, log_id, None if is_home else str(output), is_home)

    def send(self, sources: Sequence[Source]) -> list[Source]:
        """One batch of what running jobs wrote."""
        return sending.send(self._client.logs, self._config.worker_id, sources, self._masks)

    def _send_rest(self, held: Held) -> None:
        """What was held back as half a line, before the last report."""
        if not self.has_logs or held.stop is Stop.SERVER:
            return
        sources = sources_of(held, is_over=True)
        while sources:
            after = self.send(sources)
            sources = [new for old, new in zip(sources, after, strict=True) if sending.has_more(old, new)]

    def _brought(self, held: Held, profile: Profile, tree: Tree, files: Sequence[Output], role: str) -> str | None:
        residence: Residence = profile.log_residence if role == "log" else profile.output_residence
        name = f"{held.id}/{held.name}"
        what = What(
            held.id,
            int(held.name.rpartition("-a")[2].partition("-")[0]),
            "log" if role == "log" else "output",
            self._config.worker_id,
            residence,
            {"processor": held.processor, "profile": held.profile, "run": held.name},
            can_find=not self.is_plain,
            masks=self._masks if role == "log" else (),
        )
        memory = Memory(self._made.known(name, role), lambda id_: self._made.note(name, role, id_))
        outcome = outputs.collect(self._desk(held, "stored"), what, tree, files, memory)
        match outcome:
            case Stored(artifact_id=id_):
                return id_
            case Failed():
                raise _NotHome(outcome)
            case Cancelled():
                raise _NotHome(Failed(Cause.STORING, "storing: stopped", may_pass=True))

    def _desk(self, held: Held, direction: str) -> Desk:
        def moved(count: int) -> None:
            self._metrics.count(metrics.BYTES, count, direction=direction)

        return Desk(self._client.artifacts, self._verified, lambda: self._is_stopped(held.id), moved)

    def _roots(self, profile: Profile) -> tuple[Path, ...]:
        """Where posix inputs may lie: a program of the host can read it all anyway, a container what it is shown."""
        if self._config.posix_roots is not None:
            return tuple(map(Path, self._config.posix_roots))
        if profile.container is None:
            return (Path("/"),)
        return (Path(self._config.jobs_dir), *(Path(bind.partition(":")[0]) for bind in profile.container.binds))


class _NotHome(Exception):
    """Something could not be stored."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.detail)
        self.failed = failed


def _tails(output: Path) -> tuple[Tail, ...]:
    return tuple(Tail(name.removesuffix(".log"), str(output / name)) for name in STREAMS)


def sources_of(held: Held, is_over: bool = False) -> list[Source]:
    """A job's logs that still grow, the words of its scheduler among them."""
    tails = [tail for tail in held.tails if not tail.is_done]
    return [Source(held.id, held.epoch, tail, is_over) for tail in tails]


def with_sources(held: Held, sources: Sequence[Source]) -> Held:
    """The job with its logs as they stand after they were sent."""
    sent = {source.tail.stream: source.tail for source in sources if source.job_id == held.id}
    return msgspec.structs.replace(held, tails=tuple(sent.get(tail.stream, tail) for tail in held.tails))
