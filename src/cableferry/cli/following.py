"""Follows jobs by long polls until they end, and shows their progress meanwhile."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from cableferry.cli import output
from cableferry.cli.exits import Exit, Failure
from cableferry.client.answers import FINAL, Job, Transition
from cableferry.client.emx2 import Emx2

WAIT_SECONDS = 50
# between looks at a server that does not let us hang on
PAUSE_SECONDS = 2.0

Show = Callable[[Job], None]


class Deadline:
    """When patience ends, if it does."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self, most: float) -> float:
        return most if self._end is None else max(0.0, min(most, self._end - time.monotonic()))

    def check(self, what: str) -> None:
        if self._end is not None and time.monotonic() >= self._end:
            raise Failure(f"{what} had not ended in time", Exit.TIMEOUT)


def code(job: Job) -> Exit:
    return Exit.OK if job.status == "COMPLETED" else Exit.JOB_FAILED


def all_to_end(client: Emx2, ids: Sequence[str], max_wait: float | None) -> list[Job]:
    """The jobs once all have ended; the patience is for all together."""
    deadline = Deadline(max_wait)
    with _shown() as show:
        return [_to_end(client, id_, deadline, show) for id_ in ids]


def to_end(client: Emx2, id_: str, max_wait: float | None) -> Job:
    return all_to_end(client, [id_], max_wait)[0]


def _to_end(client: Emx2, id_: str, deadline: Deadline, show: Show) -> Job:
    job = client.job(id_)
    while True:
        if job is not None:
            show(job)
            if job.is_final:
                return job
            known = job.revision
        deadline.check(f"job {id_}")
        asked_at = time.monotonic()
        wait = int(deadline.left(WAIT_SECONDS))
        job = client.job(id_, wait, known)
        _breathe(asked_at, job is not None and job.revision != known, deadline)


def watch(client: Emx2, id_: str, max_wait: float | None, as_json: bool) -> int:
    """Print the history as it grows; the exit code tells how the job ended."""
    deadline, after = Deadline(max_wait), 0
    while True:
        asked_at = time.monotonic()
        rows = client.transitions(id_, after, int(deadline.left(WAIT_SECONDS)))
        rows = [row for row in rows if row.sequence > after or not row.sequence]
        for row in rows:
            after = max(after, row.sequence)
            if as_json:
                output.line(row)
            else:
                click.echo("  ".join(map(output.text, (row.timestamp, row.to_status.ljust(9), _news(row)))).rstrip())
        sys.stdout.flush()
        if rows and rows[-1].to_status in FINAL:
            return Exit.OK if rows[-1].to_status == "COMPLETED" else Exit.JOB_FAILED
        deadline.check(f"job {id_}")
        _breathe(asked_at, bool(rows), deadline)


def _news(row: Transition) -> str:
    """What a row of the history tells besides the status."""
    share = None if row.progress is None else f"{row.progress:.0%}"
    said = row.detail or "; ".join(part for part in (row.phase, row.message) if part)
    return said if share is None or share in said else f"{said}  {share}".strip()


def _breathe(asked_at: float, is_changed: bool, deadline: Deadline) -> None:
    """A server that answers at once with nothing new is asked less often."""
    if not is_changed and time.monotonic() - asked_at < 1:
        time.sleep(deadline.left(PAUSE_SECONDS))


@contextmanager
def _shown() -> Iterator[Show]:
    """A bar on a terminal; elsewhere a line on standard error whenever something has changed."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def show(job: Job) -> None:
            if job.id not in bars:
                bars[job.id] = progress.add_task(job.id[-8:], total=1.0, said="")
            share = 1.0 if job.is_final else job.progress or 0.0
            # no markup: the job wrote this
            progress.update(bars[job.id], completed=share, said=_said(job).replace("[", r"\["))

        yield show


def _lines() -> Show:
    told: dict[str, str] = {}

    def show(job: Job) -> None:
        said = _said(job)
        if told.get(job.id) != said:
            told[job.id] = said
            click.echo(f"{job.id}  {said}", err=True)

    return show


def _said(job: Job) -> str:
    share = None if job.progress is None or job.is_final else f"{job.progress:.0%}"
    return "  ".join(output.text(part) for part in (job.status, job.phase, job.message, share) if part)
