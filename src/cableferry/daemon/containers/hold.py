"""The jobs that a container worker holds: taken, started, looked at, ended, forgotten."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

import structlog
from msgspec.structs import replace

from cableferry.client.opeva import Dispatched, Standing
from cableferry.daemon.containers import cargo as values
from cableferry.daemon.containers import runtimes
from cableferry.daemon.containers.cargo import Cargo, Push, Stage, Why
from cableferry.daemon.containers.runtimes import NotRunnable, Site
from cableferry.daemon.journal import Journal
from cableferry.schedulers import shared
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Accepted, Order, Phase, Ticket
from cableferry.wire.opeva import places
from cableferry.wire.opeva.bodies import StatusBody

log = structlog.get_logger()

# how long a configuration may take to be seen here; a network file system shows new files late
CONFIG_SECONDS = 30.0
_OPEN_TO_ALL = 0o777
_KEPT = ("PATH", "LANG", "TZ", "USER", "LOGNAME", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST")


class Hold:
    """Every change is in the journal before anything follows from it."""

    def __init__(self, worker: str, site: Site, journal: Journal[Cargo, StatusBody], folder: Path) -> None:
        self._worker = worker
        self._site = site
        self._journal = journal
        self._folder = folder
        self._runs = Local(folder / "runs")
        self._held = {held.id: held for held in journal.held()}
        self.stop_seconds = 10.0

    @property
    def busy(self) -> list[Cargo]:
        """The jobs that take a place."""
        return [held for held in self._held.values() if held.stage is not Stage.ENDED]

    @property
    def going(self) -> list[Cargo]:
        return [held for held in self._held.values() if held.stage is Stage.STARTED]

    def take(self, job: Dispatched) -> None:
        """Hold a job that was handed out; whatever we had of it before is ours no more."""
        if not places.is_job_id(job.job_id):
            log.warning("job with an unusable id ignored", job=job.job_id[:100])
            return
        for held in self.busy:
            if held.job.job_id == job.job_id:
                self._note(replace(held, why=Why.LOST))
        log.info("job claimed", job=job.job_id, image=job.image)
        self._note(Cargo(f"{job.job_id}.{uuid.uuid4().hex[:8]}", job, time.time()))

    def heard(self, held: Cargo, standing: Standing | None) -> None:
        """What a server says of a job that we hold; what was wanted of it first stays, unless it is ours no more."""
        why = values.wanted(held, self._worker, standing)
        if why is not None and (held.why is None or (why is Why.LOST and held.why is not Why.LOST)):
            log.info("job to be stopped", job=held.job.job_id, why=why)
            self._note(replace(held, why=why))

    def advance(self) -> None:
        """Do for every job what is next."""
        for held in self.busy:
            if held.stage is Stage.STARTED:
                self._look(held)
            elif held.why is not None:
                last = None if held.why is Why.LOST else values.report(held, self._worker, held.why)
                self._end(held, last)
            elif not any(other.job.job_id == held.job.job_id for other in self.going):
                self._start(held)

    def forget_told(self) -> None:
        """Let go of ended jobs about which nothing is left to tell."""
        untold = self._journal.untold()
        for held in [held for held in self._held.values() if held.stage is Stage.ENDED and held.id not in untold]:
            self._journal.forget(held.id)
            del self._held[held.id]

    def _start(self, held: Cargo) -> None:
        try:
            if not self._has_config(held):
                return
            order = self._order(held)
        except (NotRunnable, OSError) as error:
            self._refuse(held, str(error))
            return
        runtimes.clear(self._site.runtime, held.job.container_name)
        submitted = self._runs.submit(order)
        if not isinstance(submitted, Accepted):
            self._refuse(held, submitted.reason)
            return
        called = submitted.ticket.called
        log.info("job started", job=held.job.job_id, called=called)
        started = replace(held, stage=Stage.STARTED, called=called, container_id=called)
        self._note(started, [values.report(started, self._worker, "running")])

    def _has_config(self, held: Cargo) -> bool:
        """Whether the configuration is there; for a while it may still be on its way."""
        path = runtimes.config(self._site, held.job)
        if path is None or shared.is_there(path):
            return True
        if time.time() - held.taken_at < CONFIG_SECONDS:
            return False
        raise NotRunnable(f"the configuration {held.job.config_path} is not in the shared folder of this machine")

    def _order(self, held: Cargo) -> Order:
        folder = self._folder / "jobs" / held.id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        launch = runtimes.launch(self._site, held.job, folder)
        (folder / runtimes.VARIABLES_FILE).write_text(launch.variables)
        ours = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **ours, **launch.environment}
        return Order(held.id, launch.command, str(folder), str(folder), environment, log_file=str(self._log_file(held)))

    def _log_file(self, held: Cargo) -> Path:
        """The job's log in the shared folder, where others write too, under accounts of their own."""
        job = held.job.job_id
        path = self._site.shared_dir / "jobs" / job / "logs" / f"{job}.log"
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):
                folder.chmod(_OPEN_TO_ALL)
        # made here without following a link, so that nobody's file elsewhere is written by a name in this one
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
        return path

    def _look(self, held: Cargo) -> None:
        ticket = Ticket(held.id, held.called or "")
        seen = self._runs.sight([ticket], time.time()).jobs[held.id]
        if seen.phase in (Phase.ENDED, Phase.GONE):
            log.info("job ended", job=held.job.job_id, exit_code=seen.exit_code, signal=seen.signal)
            self._end(held, values.ending(held, self._worker, seen))
            return
        push = values.next_push(held, time.time(), self.stop_seconds)
        if push is not None:
            self._push(held, ticket, push)
        elif (named := self._named(held)) != held:
            self._note(named)

    def _push(self, held: Cargo, ticket: Ticket, push: Push) -> None:
        if push is Push.KILL:
            runtimes.kill(self._site.runtime, held.job.container_name)
        self._runs.cancel(ticket, push is Push.KILL)
        pushed = replace(held, pushed_at=held.pushed_at or time.time(), is_killed=push is Push.KILL)
        self._note(pushed)

    def _named(self, held: Cargo) -> Cargo:
        """With the id that the runtime gave the container, once it has."""
        file = self._folder / "jobs" / held.id / runtimes.ID_FILE
        if held.container_id != held.called or not file.exists():
            return held
        return replace(held, container_id=file.read_text().strip()[:128] or held.called)

    def _refuse(self, held: Cargo, why: str) -> None:
        log.warning("job not started", job=held.job.job_id, reason=why)
        self._end(held, values.report(held, self._worker, "failed", error=why))

    def _end(self, held: Cargo, last: StatusBody | None) -> None:
        self._note(replace(held, stage=Stage.ENDED), [] if last is None else [last])

    def _note(self, held: Cargo, reports: Iterable[StatusBody] = ()) -> None:
        self._journal.note(held, reports)
        self._held[held.id] = held
