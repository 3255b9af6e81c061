"""A container worker from its start until it is told to stop; its containers go on without it."""

import threading
import time
from pathlib import Path

import msgspec
import structlog
from msgspec import Raw

from cableferry import __version__
from cableferry.client import opeva
from cableferry.client.errors import Conflict, Failed, NotFound, Refused, TooMany, Trouble, Unauthenticated
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.daemon.containers import cargo
from cableferry.daemon.containers.cargo import Cargo
from cableferry.daemon.containers.hold import Hold
from cableferry.daemon.containers.runtimes import Site
from cableferry.daemon.journal import Entry, Journal
from cableferry.daemon.sole import Sole
from cableferry.wire.opeva.bodies import StatusBody

log = structlog.get_logger()

LOOK_SECONDS = 0.2
_LONGEST_PAUSE = 30.0
# few tries: while they last the jobs are not looked at
_PATIENCE = Patience(tries=2, most_seconds=0.5)
_PASSING = (Failed, TooMany, Unauthenticated)


class Course(msgspec.Struct, frozen=True):
    """Which server, as whom, how many jobs at once, and how often it is asked and told."""

    server: str
    worker: str
    most_jobs: int = 1
    poll_seconds: float = 5.0
    status_seconds: float = 10.0
    heartbeat_seconds: float = 30.0
    stop_seconds: float = 10.0


class ContainerWorker:
    """Polls, runs, reports until it is heard."""

    def __init__(self, course: Course, site: Site, scheme: Scheme, folder: Path) -> None:
        self._sole = Sole(folder, None)
        self._course = course
        self._site = site
        self._journal = Journal(folder / "journal.db", Cargo, StatusBody)
        self._hold = Hold(course.worker, site, self._journal, folder)
        self._hold.stop_seconds = course.stop_seconds
        self._stopping = threading.Event()
        self._client = opeva.connect(course.server, scheme, _PATIENCE, self._stopping.wait)
        self._due = dict.fromkeys(("poll", "status", "heartbeat", "outbox"), 0.0)
        self._pause = LOOK_SECONDS
        self._last: dict[str, str] = {}

    def stop(self) -> None:
        """From a signal or another thread: end the loop, leave the containers."""
        self._stopping.set()

    def run(self) -> None:
        """Until it is stopped: neither a refusal nor silence of the server is a reason to go."""
        log.info("worker started", worker=self._course.worker, runtime=self._site.runtime)
        while not self._stopping.is_set():
            self._hold.advance()
            try:
                self._exchange()
                self._pause = LOOK_SECONDS
            except Trouble as trouble:
                self._bear(trouble)
            self._stopping.wait(LOOK_SECONDS)
        log.info("worker stopped", worker=self._course.worker, left_running=len(self._hold.going))
        self._client.close()
        self._journal.close()
        self._sole.release()

    def _exchange(self) -> None:
        if self._is_due("outbox", 0):
            self._tell()
        if self._is_due("heartbeat", self._course.heartbeat_seconds):
            self._sole.refresh()
            self._beat()
        if self._is_due("status", self._course.status_seconds):
            self._refresh()
        if len(self._hold.busy) < self._course.most_jobs and self._is_due("poll", self._course.poll_seconds):
            self._poll()

    def _is_due(self, what: str, seconds: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _tell(self) -> None:
        """Deliver reports in order; one that is refused for good is dropped, and its job looked at."""
        for entry in self._journal.outbox():
            try:
                self._client.report(entry.report)
            except _PASSING:
                raise
            except Refused as refusal:
                log.warning("report refused", job=entry.report.job_id, status=entry.report.status, why=str(refusal))
                self._look_again(entry)
            self._journal.told([entry.number])
            self._last = {"last_job_id": entry.report.job_id, "last_terminal_status": entry.report.status}
        self._hold.forget_told()

    def _look_again(self, entry: Entry[StatusBody]) -> None:
        for held in self._hold.going:
            if held.id == entry.job:
                self._hold.heard(held, self._client.standing(held.job.job_id))

    def _beat(self) -> None:
        jobs = [held.job.job_id for held in self._hold.busy]
        info: dict[str, object] = {
            "executor": self._site.runtime,
            "worker_version": __version__,
            "max_active_jobs": self._course.most_jobs,
            "active_job_count": len(jobs),
            "active_job_ids": jobs,
            "active_job_id": jobs[0] if jobs else None,
            **self._last,
        }
        self._client.heartbeat(
            self._course.worker, {name: Raw(msgspec.json.encode(value)) for name, value in info.items()}
        )

    def _refresh(self) -> None:
        """Say again that each job runs, and hear what is wanted of it."""
        for held in self._hold.going:
            self._hold.heard(held, self._client.standing(held.job.job_id))
        for held in [held for held in self._hold.going if held.why is None]:
            try:
                self._client.report(cargo.report(held, self._course.worker, "running"))
            except (Conflict, NotFound):
                self._hold.heard(held, self._client.standing(held.job.job_id))

    def _poll(self) -> None:
        """Take what there is for us, as far as there is room."""
        while len(self._hold.busy) < self._course.most_jobs and not self._stopping.is_set():
            job = self._client.next_job(self._course.worker)
            if job is None:
                return
            self._hold.take(job)

    def _bear(self, trouble: Trouble) -> None:
        """Go on without the server for a while, ever longer."""
        log.warning("server in trouble", worker=self._course.worker, reason=str(trouble))
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        until = time.monotonic() + self._pause
        self._due = {what: max(due, until) for what, due in self._due.items()}
