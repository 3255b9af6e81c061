"""The files of the shared folder as a projection of the database: written after each change, and anew on demand."""

import time
from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from cableferry.core.jobs import Filter, Job
from cableferry.core.paging import Page
from cableferry.dialects.opeva.contract import Contract
from cableferry.engine import queue
from cableferry.store import configs, projection, share
from cableferry.store import jobs as rows
from cableferry.store.projection import Mark
from cableferry.store.tx import Tx
from cableferry.wire.opeva import files, places

log = structlog.get_logger()

FOLDERS = (places.CONFIGS, "datasets", "jobs", "queue")
REGISTRY = ("job_track.json",)
_BELOW_JOB = ("logs", "progress", "results")
_AT_ONCE = 100
_PROBE_SECONDS = 5.0
_REGISTRY_SECONDS = 1.0
_REGISTRY_SHARE = 0.01
_SILENT_SECONDS = 60.0
_OTHERS_SECONDS = 0.1
_MOST_KEPT_BYTES = 1024 * 1024


class Showing:
    """Brings the files up to date, round by round; used by one thread at a time."""

    def __init__(self, ours: Contract) -> None:
        self._ours = ours
        self._trouble: str | None = None
        self._heard_at = time.monotonic()
        self._probed_at = self._register_at = float("-inf")
        self._is_registry_behind = True

    def trouble(self) -> str | None:
        """What keeps the files from being written, if anything does."""
        silent = time.monotonic() - self._heard_at
        return f"the shared folder has not answered for {silent:.0f} s" if silent > _SILENT_SECONDS else self._trouble

    def round(self) -> int:
        """Show all that has changed; a folder in trouble keeps its marks and is tried again."""
        shown = 0
        try:
            self._look_after()
            with self._ours.share.locked() as is_ours:
                while is_ours and (portion := self._portion()):
                    shown += portion
                    self._heard_at = time.monotonic()
                if is_ours:
                    self._register()
            self._note(None)
        except OSError as error:
            self._note(f"the shared folder cannot be written: {error.strerror or error}")
        return shown

    def _look_after(self) -> None:
        """Write a little now and then even if nothing changes: whoever asks how we are wants to know before it does."""
        if time.monotonic() - self._probed_at >= _PROBE_SECONDS:
            self._ours.share.prepare(*FOLDERS)
            self._ours.share.probe()
            self._probed_at = time.monotonic()

    def _note(self, trouble: str | None) -> None:
        self._heard_at = time.monotonic()
        if trouble != self._trouble:
            log.warning("shared folder changed its condition", trouble=trouble)
        self._trouble = trouble
        if trouble is not None:
            self._probed_at = float("-inf")

    def _portion(self) -> int:
        ours = self._ours
        marks = ours.store.read(lambda tx: projection.marked(tx, ours.rules.pool, _AT_ONCE))
        jobs = ours.store.read(lambda tx: rows.find_many(tx, [mark.job for mark in marks]))
        shown: list[Mark] = []
        try:
            for mark in marks:
                self._show(mark.job, jobs.get(mark.job))
                shown.append(mark)
        finally:
            if shown:
                self._is_registry_behind = True
                ours.store.write(lambda tx: projection.unmark(tx, ours.rules.pool, shown))
        return len(shown)

    def _show(self, id: str, job: Job | None) -> None:
        """One job's files; what is wrong with them alone keeps nobody else's from being written."""
        try:
            if job is None:
                _forget(self._ours, id)
            else:
                _write(self._ours, job)
        except OSError as error:
            if error.errno not in share.DAMAGE:
                raise
            log.error("files of a job are damaged", job=id, reason=str(error))
        except msgspec.MsgspecError as error:
            log.error("job cannot be shown", job=id, reason=str(error))

    def _register(self) -> None:
        """The registry is one file of all jobs, so it is written now and then, and takes a small share of our time."""
        began = time.monotonic()
        if self._is_registry_behind and began >= self._register_at:
            ours = self._ours
            jobs = ours.store.read(lambda tx: _all(tx, ours))
            ours.share.write(REGISTRY, msgspec.json.encode({job.id: files.tracked(job) for job in jobs}))
            took = time.monotonic() - began
            self._register_at = began + max(_REGISTRY_SECONDS, took / _REGISTRY_SHARE)
            self._is_registry_behind = False


def rebuild(ours: Contract) -> tuple[int, str | None]:
    """Write all files anew, or see a running server do it: how many jobs, and what kept us from more."""
    pool = ours.rules.pool
    ours.store.write(lambda tx: projection.mark_all(tx, pool))
    showing = Showing(ours)
    showing.round()
    while showing.trouble() is None and ours.store.read(lambda tx: projection.marked(tx, pool, 1)):
        time.sleep(_OTHERS_SECONDS)
        showing.round()
    if showing.trouble() is None:
        restore_configs(ours)
    return len(ours.store.read(lambda tx: _all(tx, ours))), showing.trouble()


def restore_configs(ours: Contract) -> None:
    """Lay down the named configurations that are missing; those that people changed stay as they are."""
    for name in ours.store.read(lambda tx: configs.names(tx, ours.rules.pool)):
        place = (places.CONFIGS, *name.split("/"))
        if ours.share.size(place) is None:
            text = ours.store.read(partial(configs.get, pool=ours.rules.pool, name=name))
            ours.share.write(place, (text or "").encode())


def _write(ours: Contract, job: Job) -> None:
    folder = ("jobs", job.id)
    for below in _BELOW_JOB:
        ours.share.make((*folder, below))
    _lay_down_config(ours, job)
    _replace(ours, (*folder, "job_info.json"), _with_foreign(ours, job))
    ours.share.write((*folder, "status.json"), msgspec.json.encode(files.status(job)))
    entry = ("queue", f"{job.id}.json")
    if files.is_waiting(job):
        _replace(ours, entry, msgspec.json.encode(files.waiting(job)))
    else:
        ours.share.remove(entry)


def _lay_down_config(ours: Contract, job: Job) -> None:
    place = tuple(files.launched(job).own_config.split("/"))
    if ours.share.size(place) is None:
        text = ours.store.read(lambda tx: configs.of_job(tx, job.key))
        if text is not None:
            ours.share.write(place, text.encode())


def _with_foreign(ours: Contract, job: Job) -> bytes:
    """What we know of a job, beside what its worker has put into the same file."""
    known = msgspec.json.decode(msgspec.json.encode(files.info(job)), type=dict[str, msgspec.Raw])
    content = ours.share.read(("jobs", job.id, "job_info.json"), 0, _MOST_KEPT_BYTES)
    try:
        foreign = msgspec.json.decode(content or b"{}", type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        foreign = {}
    gone = {name: value for name, value in foreign.items() if name not in ("exit_code", "error", "details")}
    return msgspec.json.encode({**gone, **known})


def _replace(ours: Contract, place: share.Parts, content: bytes) -> None:
    """Write only what is not there already: reading costs less than waiting for the disk."""
    if ours.share.read(place, 0, len(content) + 1) != content:
        ours.share.write(place, content)


def _forget(ours: Contract, id: str) -> None:
    if places.is_job_id(id):
        ours.share.remove(("queue", f"{id}.json"))
        ours.share.remove((places.CONFIGS, f"{id}.yaml"))
        ours.share.remove(("jobs", id))


def _all(tx: Tx, ours: Contract) -> Sequence[Job]:
    return queue.find(tx, ours.rules.pool, Filter(), Page(2**31, 0)).jobs
