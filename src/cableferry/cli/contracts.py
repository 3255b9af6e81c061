"""What the commands about jobs do for jobs of the worker contract, and the orders that only it has."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click

from cableferry.cli import connection, output
from cableferry.cli.commands import command, usage
from cableferry.cli.connection import Target
from cableferry.wire.opeva import words

if TYPE_CHECKING:
    from cableferry.client.opeva import Entry, Opeva
    from cableferry.wire.opeva.bodies import Done

EMX2 = "emx2"
OPEVA = "opeva"
PAGE = 500

option = click.option(
    "--contract", type=click.Choice([EMX2, OPEVA]), default=EMX2, help="Whose jobs: each contract has its own.  [emx2]"
)
_IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)
_REASON = click.option("--reason", help="Goes into the job's history.")
_FORCE = click.option("--force", "is_forced", is_flag=True, help="Whatever state the job is in.")


def status(statuses: Sequence[str], known: Sequence[str]) -> list[str]:
    """The statuses that were asked for, as the contract spells them."""
    spelled = {word.lower(): word for word in known}
    unknown = [word for word in statuses if word.lower() not in spelled]
    if unknown:
        raise usage(f"{unknown[0]!r} is no status of this contract: use one of {', '.join(known)}")
    return [spelled[word.lower()] for word in statuses]


def list_(target: Target, statuses: Sequence[str], limit: int, as_json: bool) -> None:
    wanted = status(statuses, [word for word in words.KNOWN if word not in words.NOWHERE])
    with connected(target) as client:
        found = list(islice((job for job in _all(client) if not wanted or job.status in wanted), limit))
    if as_json:
        output.listing(found)
    else:
        rows = [
            (job.job_id, job.status, job.job_info.job_name, job.job_info.target_host, moment(job.submitted_at))
            for job in found
        ]
        output.columns(("ID", "STATUS", "NAME", "HOST", "CREATED"), rows)


def show(target: Target, id_: str, as_json: bool) -> None:
    with connected(target) as client:
        facts = client.status(id_)
    if as_json:
        output.document(facts)
    else:
        output.fields([(name.replace("_", " "), value) for name, value in facts.items()])


def history(target: Target, id_: str, as_json: bool) -> None:
    with connected(target) as client:
        rows = client.history(id_)
    if as_json:
        output.listing(rows)
    else:
        shown = [(moment(row.at), row.old, row.new, row.by, row.detail) for row in rows]
        output.columns(("TIME", "FROM", "TO", "BY", "DETAIL"), shown)


def explain(target: Target, id_: str, as_json: bool) -> None:
    with connected(target) as client:
        explained = client.explain(id_)
    if as_json:
        output.document(explained)
    else:
        click.echo(output.text(explained.sentence))


def cancel(target: Target, ids: Sequence[str], reason: str | None, is_forced: bool, as_json: bool) -> None:
    from cableferry.wire.opeva.bodies import CancelBody

    body = CancelBody(reason or "ops_canceled", is_forced)
    _ordered(target, ids, lambda client, id_: client.cancel(id_, body), as_json)


def delete(target: Target, ids: Sequence[str], is_forced: bool) -> None:
    with connected(target) as client:
        for id_ in ids:
            client.delete(id_, by_force=is_forced)


@command(
    "stop",
    "Ask jobs of the worker contract to stop; their workers end them.",
    "cableferry jobs stop 5f0c... --reason 'enough'",
)
@_IDS
@_REASON
@connection.options
def stop(target: Target, ids: tuple[str, ...], reason: str | None, as_json: bool) -> None:
    from cableferry.wire.opeva.bodies import StopBody

    _ordered(target, ids, lambda client, id_: client.stop(id_, StopBody(reason or "ops_stop")), as_json)


@command(
    "requeue",
    "Put jobs of the worker contract back into the queue; what runs or has its result needs --force.",
    "cableferry jobs requeue 5f0c... --force --host tiago-gpu --pin",
)
@_IDS
@click.option("--host", help="The worker that should run it; by default the one that had it.")
@click.option("--pin/--no-pin", "is_pinned", default=None, help="Whether no other worker may.  [as before]")
@_FORCE
@connection.options
def requeue(
    target: Target, ids: tuple[str, ...], host: str | None, is_pinned: bool | None, is_forced: bool, as_json: bool
) -> None:
    from cableferry.wire.opeva.bodies import RequeueBody

    body = RequeueBody(is_forced, host, is_pinned)
    _ordered(target, ids, lambda client, id_: client.requeue(id_, body), as_json)


@command(
    "fail",
    "Say that jobs of the worker contract have failed; one that waits or is over needs --force.",
    "cableferry jobs fail 5f0c... --reason 'node burnt down'",
)
@_IDS
@_REASON
@_FORCE
@connection.options
def fail(target: Target, ids: tuple[str, ...], reason: str | None, is_forced: bool, as_json: bool) -> None:
    from cableferry.wire.opeva.bodies import FailBody

    body = FailBody(reason or "ops_failed", is_forced)
    _ordered(target, ids, lambda client, id_: client.fail(id_, body), as_json)


@contextlib.contextmanager
def connected(target: Target) -> Iterator["Opeva"]:
    """A client of the worker contract at the target's server."""
    from cableferry.client import opeva
    from cableferry.client.patience import Patience

    address = target.server or connection.DEFAULT_SERVER
    client = opeva.connect(address, connection.scheme(target), Patience(tries=4, most_seconds=5))
    try:
        yield client
    finally:
        client.close()


def _all(client: "Opeva") -> "Iterator[Entry]":
    offset = 0
    while page := client.jobs(PAGE, offset):
        yield from page
        offset += len(page)


def _ordered(target: Target, ids: Sequence[str], give: "Callable[[Opeva, str], Done]", as_json: bool) -> None:
    with connected(target) as client:
        done = [give(client, id_) for id_ in ids]
    if as_json:
        output.listing(done)
    else:
        for each in done:
            click.echo(f"{each.job_id} is {output.text(each.status)}")


def moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
