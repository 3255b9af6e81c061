"""Waits for jobs of the worker contract, watches them and shows their logs, by asking again and again."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cableferry.cli import contracts, output, reading
from cableferry.cli.commands import usage
from cableferry.cli.connection import Target
from cableferry.cli.exits import Exit
from cableferry.cli.following import Deadline
from cableferry.core.jobs import State
from cableferry.wire.opeva import words

if TYPE_CHECKING:
    from cableferry.client.opeva import Opeva

PAUSE_SECONDS = 1.0
MOST_LINES = 5000
USUAL_LINES = 200
ENDED = frozenset(word for word, said in words.SAID.items() if words.MOVES.is_final(said.state))
COMPLETED = words.WORDS[State.SUCCEEDED]


def wait(target: Target, ids: Sequence[str], max_wait: float | None, as_json: bool) -> int:
    """Until all have ended; the patience is for all together."""
    deadline = Deadline(max_wait)
    with contracts.connected(target) as client:
        ended = [_to_end(client, id_, deadline) for id_ in ids]
    if as_json and len(ended) == 1:
        output.document(ended[0])
    elif as_json:
        output.listing(ended)
    else:
        output.columns(("ID", "STATUS", "ERROR"), [(job["job_id"], job["status"], job.get("error")) for job in ended])
    return max(_code(str(job["status"])) for job in ended)


def watch(target: Target, id_: str, max_wait: float | None, as_json: bool) -> int:
    """Print the history as it grows."""
    deadline, seen = Deadline(max_wait), 0
    with contracts.connected(target) as client:
        while True:
            rows = client.history(id_)
            for row in rows[seen:]:
                if as_json:
                    output.line(row)
                else:
                    told = (contracts.moment(row.at), row.new.ljust(14), row.detail)
                    click.echo("  ".join(map(output.text, told)).rstrip())
            sys.stdout.flush()
            seen = len(rows)
            if rows and rows[-1].new in ENDED:
                return _code(rows[-1].new)
            _breathe(id_, deadline)


def logs(target: Target, id_: str, tail: int | None, as_json: bool) -> None:
    """What a job has written so far; as JSON no more than the end of it."""
    with contracts.connected(target) as client:
        if as_json:
            output.document(client.log_end(id_, _lines(tail or USUAL_LINES)))
        elif tail is None:
            for piece in client.log(id_):
                reading.write(piece)
        else:
            reading.write(client.log_end(id_, _lines(tail)).text.encode())


def follow(target: Target, id_: str, tail: int | None, max_wait: float | None) -> int:
    """Write what comes until the job has ended; its end is asked for first, so nothing behind it is missed."""
    deadline, offset = Deadline(max_wait), 0
    with contracts.connected(target) as client:
        if tail is not None:
            last = client.log_end(id_, _lines(tail))
            reading.write(last.text.encode())
            offset = last.next_offset
        while True:
            status = str(client.status(id_)["status"])
            while (piece := client.log_piece(id_, offset)).next_offset > offset:
                reading.write(piece.text.encode())
                offset = piece.next_offset
                deadline.check(f"job {id_}")
            if status in ENDED:
                click.echo(f"{id_} is {output.text(status)}", err=True)
                return _code(status)
            _breathe(id_, deadline)


def _to_end(client: "Opeva", id_: str, deadline: Deadline) -> dict[str, object]:
    told = None
    while True:
        job = client.status(id_)
        if told != (told := job["status"]):
            click.echo(f"{id_}  {output.text(told)}", err=True)
        if told in ENDED:
            return job
        _breathe(id_, deadline)


def _breathe(id_: str, deadline: Deadline) -> None:
    deadline.check(f"job {id_}")
    time.sleep(deadline.left(PAUSE_SECONDS))


def _code(status: str) -> Exit:
    return Exit.OK if status == COMPLETED else Exit.JOB_FAILED


def _lines(tail: int) -> int:
    if tail > MOST_LINES:
        raise usage(f"--tail goes up to {MOST_LINES} lines with --contract opeva")
    return tail
