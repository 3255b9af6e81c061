"""What can be done with the logs of a job: append, read, follow, and put away once it is over."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from cableferry.core import artifacts as kinds
from cableferry.core import contents, logs, moves
from cableferry.core.artifacts import Artifact, Description, Draft, Outcome
from cableferry.core.errors import Kind, NotFound, Refusal
from cableferry.core.jobs import Job, Payload, Report, check_claimed, check_holder
from cableferry.core.logs import Chunk, Log
from cableferry.core.policy import Rules
from cableferry.engine import artifacts, ids, jobs, moving
from cableferry.store import files as file_rows
from cableferry.store import jobs as job_rows
from cableferry.store import logs as rows
from cableferry.store.files import Blob
from cableferry.store.tx import News, Tx

WATCHED_FOR = timedelta(seconds=60)
SETTLED_AT_ONCE = 50
PURGED_AT_ONCE = 200
_SERVER = "server"
# of a log that no row knows yet
_NEW = 0


class Said(msgspec.Struct, frozen=True):
    """A chunk as a worker brings it."""

    job: str
    worker: str
    epoch: int | None
    stream: str
    chunk: Chunk


class Window(msgspec.Struct, frozen=True):
    """Bytes of a log from somewhere on; without a log nothing was written yet."""

    job: Job
    log: Log | None
    start: int = 0
    content: bytes = b""

    @property
    def end(self) -> int:
        return self.start + len(self.content)


class Settled(msgspec.Struct, frozen=True):
    """The logs of a job that is over, as they are to be put away."""

    job: Job
    logs: tuple[Log, ...]


def append(tx: Tx, rules: Rules, said: Said, most_bytes: int) -> Log:
    """Continue a log of the job's present attempt; the same bytes at the same place change nothing."""
    logs.check_stream(said.stream)
    job = jobs.lock(tx, rules, said.job)
    check_holder(job, said.worker, said.epoch)
    check_claimed(job, said.worker)
    known = rows.of_job(tx, job.key)
    log = next((log for log in known if (log.attempt, log.stream) == (job.attempt, said.stream)), None)
    if log is None:
        logs.check_more(known, job.attempt, job.id)
        log = Log(_NEW, job.key, job.attempt, said.stream, 0, False, tx.now)
    fit = logs.fit(log, said.chunk, most_bytes - sum(each.size_bytes for each in known))
    if fit.known.content and _read(tx, log, fit.known.start, len(fit.known.content)) != fit.known.content:
        raise logs.differs(log, fit.known)
    if not fit.new and fit.is_cut == log.is_cut:
        return log
    return _grow(tx, job, log, fit)


def append_many(tx: Tx, rules: Rules, said: Sequence[Said | Refusal], most_bytes: int) -> list[Log | Refusal]:
    """Chunks in order; one refused leaves the others standing."""
    # all at once and in one order, as reports do, so that nobody waits for somebody who waits for us
    job_rows.lock_many(tx, {each.job for each in said if isinstance(each, Said)})
    return [each if isinstance(each, Refusal) else _tried(tx, rules, each, most_bytes) for each in said]


def _tried(tx: Tx, rules: Rules, said: Said, most_bytes: int) -> Log | Refusal:
    try:
        return append(tx, rules, said, most_bytes)
    except Refusal as refusal:
        return refusal


def _grow(tx: Tx, job: Job, log: Log, fit: logs.Fit) -> Log:
    if log.key == _NEW:
        log = rows.add(tx, job.key, log.attempt, log.stream)
    last = rows.last_chunk(tx, log.key) if fit.new else None
    grown, added = logs.rows(log.size_bytes, last, fit.new)
    if grown is not None:
        rows.grow_chunk(tx, log.key, grown)
    for chunk in added:
        rows.add_chunk(tx, log.key, chunk)
    after = replace(log, size_bytes=log.size_bytes + len(fit.new), is_cut=fit.is_cut, touched_at=tx.now)
    rows.save(tx, after)
    if rows.is_watched(tx, job.key):
        tx.announce(News("log", f"{job.id}/{log.stream}"))
    return after


def find(tx: Tx, rules: Rules, id: str) -> tuple[Job, list[Log]]:
    job = jobs.get(tx, rules, id)
    return job, rows.of_job(tx, job.key)


def read(tx: Tx, rules: Rules, id: str, stream: str, attempt: int | None = None) -> Window:
    """A log of an attempt, of the present one when none is named, without any of its bytes yet."""
    logs.check_stream(stream)
    job = jobs.get(tx, rules, id)
    log = rows.get(tx, job.key, attempt or job.attempt, stream)
    if log is not None and log.purged_at is not None:
        artifact = f": read artifact {job.log_artifact_id}" if job.log_artifact_id else ""
        raise NotFound(f"log {stream} of job {id} is not kept here any more{artifact}", Kind.UNKNOWN_LOG)
    return Window(job, log)


def bytes_of(tx: Tx, window: Window, start: int, most: int) -> Window:
    """The same with its bytes from `start` on."""
    content = b"" if window.log is None else _read(tx, window.log, start, most)
    return replace(window, start=start, content=content)


def tail_of(tx: Tx, window: Window, lines: int, most: int) -> Window:
    """The same with its last lines, or with as many bytes of its end as may be asked for."""
    log = window.log
    if log is None:
        return window
    span = 4 * logs.SMALL_ROW_BYTES
    while True:
        start = max(0, log.size_bytes - min(span, most))
        content = _read(tx, log, start, log.size_bytes - start)
        found = logs.tail_start(content, lines)
        if found is not None or start == 0 or span >= most:
            return replace(window, start=start + (found or 0), content=content[found or 0 :])
        span *= 4


def watch(tx: Tx, rules: Rules, id: str) -> None:
    """Note that somebody follows the job, for the worker that holds it."""
    job = jobs.get(tx, rules, id)
    if not job.is_final:
        rows.watch(tx, job.key, tx.now + WATCHED_FOR)


def settled(tx: Tx, rules: Rules, after: timedelta, most: int = SETTLED_AT_ONCE) -> list[Settled]:
    """Jobs that have been over for so long that nothing more is to come."""
    found = (find(tx, rules, each) for each in rows.settled(tx, rules.pool, tx.now - after, most))
    return [Settled(job, tuple(log for log in known if log.size_bytes)) for job, known in found]


def seal(tx: Tx, settled: Settled) -> None:
    """Nothing more comes to these logs, and no artifact is made of them."""
    rows.seal(tx, settled.job.key)


def put_away(tx: Tx, rules: Rules, settled: Settled, stored: Sequence[tuple[str, Blob]]) -> Artifact | None:
    """Make the stored bytes the log artifact of the job; None when there is something else to do by now."""
    job = jobs.lock(tx, rules, settled.job.id)
    if tuple(log for log in rows.of_job(tx, job.key) if log.size_bytes) != settled.logs:
        return None  # a late chunk came, or another server was faster: the next look tells
    rows.seal(tx, job.key)
    if job.log_artifact_id is not None:
        return None
    artifact = _artifact(tx, job, stored)
    report = Report(job.id, job.state, Payload(detail="Log stored", log_artifact_id=artifact.id), _SERVER)
    moving.move(tx, rules, [moves.annotated(job, report, tx.now)])
    return artifact


def _artifact(tx: Tx, job: Job, stored: Sequence[tuple[str, Blob]]) -> Artifact:
    """A committed artifact of these files."""
    said = {"job_id": job.id, "artifact_role": "log", "worker_id": job.worker, "created_by": _SERVER}
    draft = Draft(
        type="log", name=f"log-{job.id[:8]}", metadata=msgspec.Raw(msgspec.json.encode(said)), job_id=job.id,
        created_by=_SERVER,
    )  # fmt: skip
    before = artifacts.create(tx, draft)
    files = []
    for seq, (path, blob) in enumerate(stored, 1):
        file = file_rows.new(before.key, ids.new(tx.now), Description(path, None, "text/plain"), seq, tx.now)
        key = file_rows.keep_blob(tx, blob)
        files.append(replace(file, sha256=blob.sha256, size_bytes=blob.size_bytes, blob_key=key))
        file_rows.put(tx, files[-1])
    found = contents.add_up(files)
    outcome = Outcome(sha256=found.sha256, size_bytes=found.size_bytes)
    return artifacts.save(tx, before, kinds.committed(before, outcome, tx.now))


def purge(tx: Tx, kept: timedelta, most: int = PURGED_AT_ONCE) -> bool:
    """Remove the bytes of logs that were put away so long ago, a portion of rows; whether there may be more."""
    left = most
    for log in rows.sealed(tx, tx.now - kept, most):
        left -= rows.purge(tx, log, left)
        if left <= 0:
            return True
    return False


def _read(tx: Tx, log: Log, start: int, most: int) -> bytes:
    return logs.joined(rows.chunks(tx, log.key, start, most), start, most)
