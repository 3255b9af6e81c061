"""A server with the plain protocol: one call per thing."""

import contextlib
import time
from collections.abc import Collection, Iterator

import msgspec

from cableferry.client import errors
from cableferry.client.answers import Job
from cableferry.client.emx2 import Emx2, Filter
from cableferry.core.jobs import HELD, State
from cableferry.daemon.config import Config
from cableferry.daemon.journal import Entry
from cableferry.daemon.upstreams.protocol import Get, Give
from cableferry.wire.emx2.bodies import TransitionBody
from cableferry.wire.emx2.words import WORDS

# so many requests are not worth a list
_FEW = 20
_READY = WORDS[State.READY]


class Plain:
    """One worker at one server."""

    def __init__(self, client: Emx2, config: Config) -> None:
        self._client = client
        self.has_logs = False
        self._worker_id = config.worker_id
        self._profiles = config.profiles
        self._poll_seconds = config.poll_seconds
        self._heartbeat_seconds = config.heartbeat_seconds
        self._beat_at = -config.heartbeat_seconds

    def exchange(self, give: Give) -> Get:
        told = frozenset(map(self._tell, give.reports))
        stop = frozenset(self._over(give.holding))
        self._beat()
        return Get(told, tuple(self._claim(give.room)), stop)

    def _beat(self) -> None:
        if time.monotonic() - self._beat_at >= self._heartbeat_seconds:
            self._client.heartbeat(self._worker_id)
            self._beat_at = time.monotonic()

    def wait(self, processor: str) -> bool:
        """Such a server does not let us hang on: the next cycle asks."""
        return False

    def mine(self, but: Collection[str]) -> list[Job]:
        return held_by(self._client, self._worker_id, but)

    def pause_seconds(self, is_busy: bool) -> float:
        return self._poll_seconds

    def _tell(self, entry: Entry[TransitionBody]) -> int:
        """The report's number: one that is refused need not be told again either."""
        plain = {"epoch": None, "cause": None, "usage": None, "scheduler": None, "requested": None}
        report = msgspec.structs.replace(entry.report, worker_id=self._worker_id, **plain)
        with contextlib.suppress(errors.Invalid, errors.NotFound, errors.Conflict):
            self._client.transition(entry.job, report)
        return entry.number

    def _over(self, holding: Collection[str]) -> Iterator[str]:
        """A few are asked about one by one; of many, those that the lists of living jobs do not hold."""
        living: set[str] = set()
        if len(holding) > _FEW:
            living = {job.id for job in _held(self._client) if job.worker_id in (None, self._worker_id)}
        return (id_ for id_ in holding if id_ not in living and self._is_over(id_))

    def _is_over(self, id: str) -> bool:
        try:
            job = self._client.job(id)
        except errors.NotFound:
            return True
        return job is not None and (job.is_final or job.worker_id not in (None, self._worker_id))

    def _claim(self, room: int) -> Iterator[Job]:
        for profile in self._profiles:
            wanted = Filter(_READY, profile.processor, profile.profile)
            for job in self._client.poll(wanted) if room else ():
                claimed = self._claimed(job.id)
                if claimed is None:
                    continue
                yield claimed
                room -= 1
                if not room:
                    return

    def _claimed(self, id: str) -> Job | None:
        """The job if it is ours now; a refusal of a second try may mean that the first one was heard."""
        try:
            return self._client.claim(id, self._worker_id)
        except errors.NotFound:
            return None
        except errors.Conflict as refusal:
            found = self._client.job(id) if refusal.is_repeated else None
        is_ours = found is not None and found.worker_id == self._worker_id and not found.is_final
        return found if is_ours else None


def held_by(client: Emx2, worker_id: str, but: Collection[str]) -> list[Job]:
    """The unfinished jobs of a worker that it does not know of."""
    return [job for job in _held(client) if job.worker_id == worker_id and job.id not in but]


def _held(client: Emx2) -> Iterator[Job]:
    """The unfinished jobs that anybody holds; a server that does not understand the question is not believed."""
    for state in sorted(HELD & WORDS.keys()):
        yield from (job for job in client.jobs(Filter(WORDS[state])) if job.status == WORDS[state])
