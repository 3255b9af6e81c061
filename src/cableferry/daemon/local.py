"""A small worker that runs commands on this machine: look, decide, act, wait."""

import fcntl
import threading
import time
import uuid
from pathlib import Path
from typing import TextIO

import structlog

from cableferry.client import emx2
from cableferry.client.errors import Conflict, NotFound, Trouble
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.daemon import registering
from cableferry.daemon.config import BadConfig, Config
from cableferry.daemon.holding import Holding
from cableferry.daemon.journal import Journal
from cableferry.daemon.upstreams.protocol import Get, Give, Upstream
from cableferry.schedulers.local import Local

log = structlog.get_logger()

LOOK_SECONDS = 0.2
TROUBLE_SECONDS = 5.0
# few tries: while they last the jobs are not looked at
_PATIENCE = Patience(tries=3, most_seconds=1)
_UNREGISTERED = frozenset({"unknown-worker", "session-revoked", "session-conflict"})


class LocalWorker:
    """One worker from its start until it is told to stop; its jobs go on without it."""

    def __init__(self, config: Config, scheme: Scheme) -> None:
        folder = Path(config.work_dir)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock(folder / "worker.lock")
        self._config = config
        self._journal = Journal(folder / "journal.db")
        self._session = self._journal.fact("session", str(uuid.uuid4()))
        self._holding = Holding(config, self._journal, Local(folder / "runs"))
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._client = emx2.connect(config.server, scheme, _PATIENCE, self._stopping.wait)
        self._upstream: Upstream | None = None
        self._is_troubled = False
        self._is_sure = False
        self._due = 0.0
        self._claimed = 0

    def stop(self) -> None:
        """From a signal or another thread: end the loop, leave the jobs."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Until it is stopped: neither a refusal nor silence of the server is a reason to go."""
        for processor in self._config.processors:
            threading.Thread(target=self._listen, args=(processor,), daemon=True).start()
        while not self._stopping.is_set():
            self._tick()
            self._wake.wait(LOOK_SECONDS)
        log.info("worker stopped", worker=self._config.worker_id, left_running=self._holding.busy)
        self._client.close()
        self._journal.close()
        self._lock.close()

    def _tick(self) -> None:
        self._holding.advance()
        is_urgent = not self._is_troubled and (self._wake.is_set() or bool(self._journal.outbox(1)))
        self._wake.clear()
        if not is_urgent and time.monotonic() < self._due:
            return
        try:
            self._cycle()
        except Trouble as trouble:
            self._bear(trouble)

    def _cycle(self) -> None:
        """One exchange with the server; without its answer we are not sure what it gave us."""
        upstream = self._registered()
        if not self._is_sure:
            self._holding.recover(upstream.mine(self._holding.ids()))
        self._is_sure = False
        give = Give(tuple(self._journal.outbox()), tuple(self._holding.ids()), self._holding.room)
        self._is_sure = self._accept(upstream.exchange(give))
        self._is_troubled = False
        self._due = time.monotonic() + upstream.pause_seconds(self._holding.busy > 0)

    def _registered(self) -> Upstream:
        if self._upstream is None:
            self._upstream = registering.register(self._client, self._config, self._session)
        return self._upstream

    def _accept(self, got: Get) -> bool:
        """Whether all the server gave us is held now."""
        self._journal.told(got.told)
        is_all = self._holding.take(got.claimed)
        self._holding.stop(got.stop)
        self._holding.forget_told()
        self._claimed += len(got.claimed)
        if got.claimed or got.stop:
            self._wake.set()
        return is_all

    def _bear(self, trouble: Trouble) -> None:
        """Go on without the server for a while."""
        log.warning("server in trouble", worker=self._config.worker_id, reason=str(trouble))
        if isinstance(trouble, NotFound | Conflict) and trouble.kind in _UNREGISTERED:
            self._upstream = None
        self._is_troubled = True
        self._due = time.monotonic() + TROUBLE_SECONDS

    def _listen(self, processor: str) -> None:
        """Wake the loop as soon as the server has a job; what it cannot give us anyway wakes it ever less often."""
        pause = LOOK_SECONDS
        while not self._stopping.is_set():
            claimed = self._claimed
            pause = min(pause * 2, self._config.poll_seconds)
            if self._has_news(processor):
                self._wake.set()
            self._stopping.wait(LOOK_SECONDS)
            if self._claimed != claimed:
                pause = LOOK_SECONDS
            self._stopping.wait(pause - LOOK_SECONDS)

    def _has_news(self, processor: str) -> bool:
        upstream = self._upstream
        if upstream is None or self._is_troubled or not self._holding.room:
            return False
        try:
            return upstream.wait(processor)
        except Trouble:
            # the loop meets the same trouble and says so
            return False


def _lock(path: Path) -> TextIO:
    """Held until the process ends: two workers in one folder would start each other's jobs."""
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BadConfig(f"another worker uses {path.parent}: stop it, or set another work_dir") from None
    return file
