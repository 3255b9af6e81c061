"""The logs of a job on a terminal: what there is, its end, or as it comes."""

import sys
import time
from collections.abc import Iterator

import click

from cableferry.cli import output
from cableferry.cli.exits import Exit, Failure
from cableferry.cli.following import Deadline
from cableferry.client.answers import Job
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import NotFound, Unreachable
from cableferry.client.logs import Event

# before coming back to a server that has nothing to follow yet, or is gone
PAUSE_SECONDS = 1.0


def show(client: Emx2, id_: str, stream: str | None, tail: int | None) -> None:
    """What a job has written so far; once that is not kept as a log any more, out of its artifact."""
    job = client.job(id_)
    known = client.logs.find(id_)
    kept = sorted({log.stream for log in known.items if log.is_kept and log.attempt == (job.attempt if job else 1)})
    if stream is None and not kept and known.log_artifact_id is None:
        raise Failure(f"job {id_} has written no log so far", Exit.NOT_FOUND)
    name = stream or ("stdout" if "stdout" in kept or not kept else kept[0])
    if name not in kept and job is not None and job.log_artifact_id is not None:
        pieces = _of_artifact(client, job.log_artifact_id, stream, tail)
    elif tail is not None:
        pieces = iter([client.logs.tail(id_, name, tail)])
    else:
        pieces = client.logs.whole(id_, name)
    for piece in pieces:
        write(piece)


def follow(client: Emx2, id_: str, stream: str, tail: int | None, max_wait: float | None) -> int:
    """Write what comes until the job has ended; a line that breaks is taken up where it was."""
    deadline, last = Deadline(max_wait), None
    while True:
        try:
            with client.logs.following(id_, stream, tail, last) as events:
                for event in events:
                    last = event.id or last
                    if event.name == "end":
                        return _end(client, id_)
                    _tell(event)
                    deadline.check(f"job {id_}")
            job = client.job(id_)
            if job is not None and job.is_final:
                return _code(job)
        except Unreachable as trouble:
            click.echo(f"{output.text(str(trouble))}: coming back", err=True)
        deadline.check(f"job {id_}")
        time.sleep(deadline.left(PAUSE_SECONDS))


def _tell(event: Event) -> None:
    match event.name:
        case "log":
            write(event.content)
        case "cut":
            click.echo("the log is cut here: more came than the server keeps", err=True)
        case "attempt":
            click.echo(f"attempt {event.attempt} begins", err=True)


def _end(client: Emx2, id_: str) -> int:
    try:
        job = client.job(id_)
    except NotFound:
        raise Failure(f"job {id_} was deleted", Exit.NOT_FOUND) from None
    return Exit.OK if job is None else _code(job)


def _code(job: Job) -> int:
    click.echo(f"{job.id} is {output.text(job.status)}", err=True)
    return Exit.OK if job.status == "COMPLETED" else Exit.JOB_FAILED


def _of_artifact(client: Emx2, artifact: str, stream: str | None, tail: int | None) -> Iterator[bytes]:
    """The file of that stream, or every one, each under its name."""
    files = [file for file in client.artifacts.files(artifact) if stream is None or _is_named(file.path, stream)]
    if not files:
        raise Failure(f"log artifact {artifact} has no file for {stream}", Exit.NOT_FOUND)
    for file in files:
        if not file.is_stored:
            where = client.artifacts.get(artifact).content_url
            raise Failure(f"log {file.path} lies elsewhere, at {where}", Exit.NOT_FOUND)
        if len(files) > 1:
            yield f"==> {file.path} <==\n".encode()
        with client.artifacts.reading(artifact, file.path) as streaming:
            pieces = streaming.pieces()
            yield from pieces if tail is None else _last(pieces, tail)


def _is_named(path: str, stream: str) -> bool:
    return path in (stream, f"{stream}.log") or path.rpartition("/")[2] in (f"container-{stream}.log", f"{stream}.log")


def _last(pieces: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """The last lines of what may be long: no more of it is held than they are, and a piece."""
    held = b""
    for piece in pieces:
        held = b"".join((held + piece).splitlines(keepends=True)[-lines:])
    yield held


def write(piece: bytes) -> None:
    """Bytes as they are into a file or a pipe; a terminal obeys some of them, so it gets only what is harmless."""
    if sys.stdout.isatty():
        text = piece.decode("utf-8", "replace")
        click.echo("\n".join(map(output.harmless, text.split("\n"))), nl=False)
    else:
        sys.stdout.buffer.write(piece)
    sys.stdout.flush()
