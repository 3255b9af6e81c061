"""Tells those who look on how a daemon stands: its status file, the service manager, Prometheus."""

import time
from collections import Counter, deque
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from cableferry.daemon import standing
from cableferry.daemon.config import Config
from cableferry.daemon.exposing import Exposed
from cableferry.daemon.held import Held
from cableferry.daemon.metrics import Metrics, Now
from cableferry.daemon.standing import Standing, Trouble

_RECENT = 30


class Worries(msgspec.Struct, frozen=True):
    """What is in trouble just now, each as a sentence; the server's also as one word of few."""

    server: str | None = None
    server_kind: str = ""
    scheduler: str | None = None
    displaced: str | None = None
    disk: str | None = None


class Pulse(msgspec.Struct, frozen=True):
    """When the scheduler was last seen and the server last heard, by a clock that is never set, and what waits."""

    seen_at: float | None
    heard_at: float | None
    outbox: int


class Onlookers:
    """All of them are told the same, by the daemon's loop."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._exposed = Exposed(config, metrics)
        self._began = time.time()
        self._recent: deque[Trouble] = deque(maxlen=_RECENT)

    def open(self) -> None:
        self._exposed.open()
        standing.notify("READY=1")

    def close(self) -> None:
        self._exposed.write()
        self._exposed.close()
        standing.notify("STOPPING=1")

    def note(self, about: str, reason: str) -> None:
        """A trouble, for whoever asks later; the same again is told once, by its latest time."""
        if self._recent and (self._recent[-1].about, self._recent[-1].reason) == (about, reason):
            self._recent.pop()
        self._recent.append(Trouble(time.time(), about, reason))

    def tell(self, jobs: Collection[Held], worries: Worries, pulse: Pulse) -> None:
        stages = Counter(held.stage for held in jobs)
        self._metrics.now = Now(stages, pulse.seen_at, pulse.heard_at, pulse.outbox, tuple(_degraded(worries)))
        said = Standing(
            self._config.worker_id,
            self._config.server,
            self._began,
            time.time(),
            worries.server,
            worries.scheduler,
            worries.displaced,
            worries.disk,
            [standing.shown(held) for held in jobs],
            list(self._recent),
        )
        standing.write(Path(self._config.state_dir), said)
        standing.notify("WATCHDOG=1")


def _degraded(worries: Worries) -> Iterator[tuple[str, str]]:
    """What is in trouble, in words of which there are few."""
    if worries.server is not None:
        yield "server", worries.server_kind
    if worries.displaced is not None:
        yield "server", "displaced"
    if worries.scheduler is not None:
        yield "scheduler", "no-answer"
    if worries.disk is not None:
        yield "disk", "full"
