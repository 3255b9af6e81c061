"""The commands about jobs."""

from typing import IO, TYPE_CHECKING

import click

from cableferry.cli import connection, contracts, output
from cableferry.cli.commands import command, usage
from cableferry.cli.connection import Target, connected
from cableferry.cli.exits import Exit
from cableferry.wire.emx2.words import WORDS

if TYPE_CHECKING:
    from cableferry.client.answers import Job

_IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)
_ID = click.argument("id_", metavar="ID")
_MAX_WAIT = click.option("--max-wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after that long.")


@command(
    "submit",
    "Create a job for PROCESSOR; with --wait follow it to its end.",
    "cableferry jobs submit text-embedding:v3 --profile gpu-medium --param batch_size=256\n"
    "cableferry jobs submit echo --params-file p.json --input 0195... --wait --max-wait 600",
)
@click.argument("processor")
@click.option("--profile", help="Abstract size of the job.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter; JSON, or else text.")
@click.option("--params-file", type=click.File("rb"), help="A JSON object of parameters; - reads standard input.")
@click.option("--input", "inputs", multiple=True, metavar="ID", help="An input artifact; may be repeated.")
@click.option("--timeout", type=click.IntRange(min=1), metavar="SECONDS", help="Fail the job after that long.")
@click.option("--priority", type=click.IntRange(-1000, 1000), default=0, help="Higher goes first.  [0]")
@click.option("--key", metavar="TEXT", help="Idempotency key: the same key creates the job once.")
@click.option("--wait", "is_followed", is_flag=True, help="Follow the job; the exit code tells how it ended.")
@_MAX_WAIT
@connection.options
def submit(
    target: Target,
    processor: str,
    profile: str | None,
    params: tuple[str, ...],
    params_file: IO[bytes] | None,
    inputs: tuple[str, ...],
    timeout: int | None,
    priority: int,
    key: str | None,
    is_followed: bool,
    max_wait: float | None,
    as_json: bool,
) -> int:
    from cableferry.cli import following, parameters
    from cableferry.wire.emx2 import bodies

    body = bodies.CreateBody(
        processor,
        profile,
        parameters=parameters.gathered(params_file, params),
        inputs=parameters.inputs(inputs),
        timeout_seconds=timeout,
        priority=priority,
    )
    with connected(target) as client:
        job = client.create(body, key)
        if not is_followed:
            _show(job, as_json, short=True)
            return Exit.OK
        click.echo(f"submitted {job.id}", err=True)
        return _awaited(following.to_end(client, job.id, max_wait), as_json)


@command(
    "list",
    "List jobs, the oldest first.",
    "cableferry jobs list\ncableferry jobs list --status STARTED --processor echo\ncableferry jobs list --all --json\n"
    "cableferry jobs list --contract opeva --status running",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    metavar="STATUS",
    help="Jobs of this status; may be repeated.  [PENDING, or all of the worker contract]",
)
@click.option("--all", "is_all", is_flag=True, help="Jobs of every status.")
@click.option("--processor", help="Jobs of this processor only.")
@click.option("--profile", help="Jobs of this profile only.")
@click.option("--limit", type=click.IntRange(min=1), default=100, help="At most so many of each status.  [100]")
@contracts.option
@connection.options
def list_(
    target: Target,
    statuses: tuple[str, ...],
    is_all: bool,
    processor: str | None,
    profile: str | None,
    limit: int,
    contract: str,
    as_json: bool,
) -> None:
    from cableferry.client.emx2 import Filter

    if is_all and statuses:
        raise usage("--all and --status contradict each other: give one of them")
    if contract == contracts.OPEVA:
        contracts.list_(target, statuses, limit, as_json)
        return
    known = list(WORDS.values())
    wanted = known if is_all else contracts.status(statuses, known) or ["PENDING"]
    with connected(target) as client:
        found = [job for status in wanted for job in client.jobs(Filter(status, processor, profile), limit)]
    if as_json:
        output.listing(found)
    else:
        rows = [(job.id, job.status, job.processor, job.profile, job.worker_id, job.created_at) for job in found]
        output.columns(("ID", "STATUS", "PROCESSOR", "PROFILE", "WORKER", "CREATED"), rows)


@command("show", "Show one job.", "cableferry jobs show 0195...\ncableferry jobs show 5f0c... --contract opeva")
@_ID
@contracts.option
@connection.options
def show(target: Target, id_: str, contract: str, as_json: bool) -> None:
    if contract == contracts.OPEVA:
        contracts.show(target, id_, as_json)
        return
    with connected(target) as client:
        job = client.job(id_)
    if job is not None:
        _show(job, as_json)


@command(
    "wait",
    "Wait until all the jobs have ended; exit code 8 says that one did not complete.",
    "cableferry jobs wait 0195...\ncableferry jobs wait --max-wait 3600 0195... 0196...",
)
@_IDS
@_MAX_WAIT
@contracts.option
@connection.options
def wait(target: Target, ids: tuple[str, ...], max_wait: float | None, contract: str, as_json: bool) -> int:
    from cableferry.cli import attending, following

    if contract == contracts.OPEVA:
        return attending.wait(target, ids, max_wait, as_json)
    with connected(target) as client:
        ended = following.all_to_end(client, ids, max_wait)
    if len(ended) == 1:
        return _awaited(ended[0], as_json)
    if as_json:
        output.listing(ended)
    else:
        output.columns(("ID", "STATUS", "DETAIL"), [(job.id, job.status, job.detail) for job in ended])
    return max(map(following.code, ended))


@command("cancel", "Cancel jobs that have not ended.", "cableferry jobs cancel 0195... --reason 'wrong input'")
@_IDS
@click.option("--reason", help="Goes into the job's history.")
@click.option("--force", "is_forced", is_flag=True, help="Also a job that is over; of the worker contract only.")
@contracts.option
@connection.options
def cancel(
    target: Target, ids: tuple[str, ...], reason: str | None, is_forced: bool, contract: str, as_json: bool
) -> None:
    if contract == contracts.OPEVA:
        contracts.cancel(target, ids, reason, is_forced, as_json)
        return
    if is_forced:
        raise usage("--force is for --contract opeva")
    with connected(target) as client:
        cancelled = [client.cancel(id_, reason) for id_ in ids]
    if as_json:
        output.listing(cancelled)
    else:
        for job in cancelled:
            click.echo(f"{job.id} is {output.text(job.status)}")


@command("delete", "Delete jobs and their history.", "cableferry jobs delete 0195...")
@_IDS
@click.option("--force", "is_forced", is_flag=True, help="Also a job that runs; of the worker contract only.")
@contracts.option
@connection.options
def delete(target: Target, ids: tuple[str, ...], is_forced: bool, contract: str, as_json: bool) -> None:
    if contract == contracts.OPEVA:
        contracts.delete(target, ids, is_forced)
    else:
        with connected(target) as client:
            for id_ in ids:
                client.delete(id_)
    if as_json:
        output.listing([{"id": id_, "deleted": True} for id_ in ids])


@command("history", "Show what happened to a job, in order.", "cableferry jobs history 0195...")
@_ID
@contracts.option
@connection.options
def history(target: Target, id_: str, contract: str, as_json: bool) -> None:
    if contract == contracts.OPEVA:
        contracts.history(target, id_, as_json)
        return
    with connected(target) as client:
        rows = client.transitions(id_)
    if as_json:
        output.listing(rows)
    else:
        shown = [
            (row.timestamp, row.from_status, row.to_status, row.actor or row.worker_id, row.detail) for row in rows
        ]
        output.columns(("TIME", "FROM", "TO", "BY", "DETAIL"), shown)


@command("explain", "Say in a sentence why a job is where it is.", "cableferry jobs explain 0195...")
@_ID
@contracts.option
@connection.options
def explain(target: Target, id_: str, contract: str, as_json: bool) -> None:
    if contract == contracts.OPEVA:
        contracts.explain(target, id_, as_json)
        return
    with connected(target) as client:
        explanation = client.explain(id_)
    if as_json:
        output.document(explanation)
    else:
        click.echo(output.text(explanation.sentence))


@command(
    "watch",
    "Print what happens to a job as it happens, until it has ended; --json prints one document per line.",
    "cableferry jobs watch 0195...",
)
@_ID
@_MAX_WAIT
@contracts.option
@connection.options
def watch(target: Target, id_: str, max_wait: float | None, contract: str, as_json: bool) -> int:
    from cableferry.cli import attending, following

    if contract == contracts.OPEVA:
        return attending.watch(target, id_, max_wait, as_json)
    with connected(target) as client:
        return following.watch(client, id_, max_wait, as_json)


@command(
    "logs",
    "Show what a job writes; with --follow as it comes, until the job has ended.",
    "cableferry jobs logs 0195...\ncableferry jobs logs 0195... --follow --tail 20\n"
    "cableferry jobs logs 0195... --stream stderr > stderr.log",
)
@_ID
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Go on until the job has ended.")
@click.option("--stream", metavar="NAME", help="Which log: stdout, stderr, batch or another one.  [stdout]")
@click.option("--tail", type=click.IntRange(1, 100_000), metavar="N", help="Begin with the last N lines.")
@_MAX_WAIT
@contracts.option
@connection.options
def logs(
    target: Target,
    id_: str,
    is_followed: bool,
    stream: str | None,
    tail: int | None,
    max_wait: float | None,
    contract: str,
    as_json: bool,
) -> int:
    from cableferry.cli import attending, reading

    if contract == contracts.OPEVA:
        if stream is not None:
            raise usage("--stream is not for --contract opeva: its jobs write one log")
        if is_followed and not as_json:
            return attending.follow(target, id_, tail, max_wait)
        attending.logs(target, id_, tail, as_json)
        return Exit.OK
    with connected(target) as client:
        if as_json:
            output.document(client.logs.find(id_))
            return Exit.OK
        if is_followed:
            return reading.follow(client, id_, stream or "stdout", tail, max_wait)
        reading.show(client, id_, stream, tail)
    return Exit.OK


def _awaited(job: "Job", as_json: bool) -> int:
    from cableferry.cli import following

    _show(job, as_json, short=True)
    return following.code(job)


def _show(job: "Job", as_json: bool, short: bool = False) -> None:
    if as_json:
        output.document(job)
        return
    first = [("id", job.id), ("status", job.status), ("detail", job.detail)]
    rest = [
        (name.replace("_", " "), bytes(value) if name in ("parameters", "inputs") else value)
        for name in job.__struct_fields__
        if name not in ("id", "status", "detail", "usage", "scheduler", "links")
        for value in [getattr(job, name)]
    ]
    output.fields(first if short else first + rest + _remarks(job))


def _remarks(job: "Job") -> list[tuple[str, object]]:
    """What it took, and what its scheduler says."""
    said = [("used", job.usage), ("scheduler", job.scheduler)]
    return [
        (f"{prefix} {name.replace('_', ' ')}", getattr(each, name))
        for prefix, each in said
        if each is not None
        for name in each.__struct_fields__
    ]


jobs = click.Group(
    "jobs",
    commands=[
        *(submit, list_, show, wait, cancel, delete, history, explain, watch, logs),
        *(contracts.stop, contracts.requeue, contracts.fail),
    ],
    help="Submit, follow and end jobs.",
    no_args_is_help=True,
)
