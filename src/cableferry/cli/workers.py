"""The commands about workers."""

import click

from cableferry.cli import connection, output
from cableferry.cli.commands import command
from cableferry.cli.connection import Target, connected, managed

_WORKER = click.argument("worker_id", metavar="WORKER")


@command("list", "List the registered workers.", "cableferry workers list")
@connection.options
def list_(target: Target, as_json: bool) -> None:
    with connected(target) as client:
        found = client.workers()
    if as_json:
        output.listing(found)
    else:
        rows = [
            (worker.worker_id, worker.hostname, worker.last_heartbeat_at, len(worker.capabilities)) for worker in found
        ]
        output.columns(("WORKER", "HOST", "LAST SEEN", "OFFERS"), rows)


@command("show", "Show one worker and what it offers.", "cableferry workers show head-1")
@_WORKER
@connection.options
def show(target: Target, worker_id: str, as_json: bool) -> None:
    with connected(target) as client:
        worker = client.worker(worker_id)
    if as_json:
        output.document(worker)
        return
    output.fields(
        [
            ("worker", worker.worker_id),
            ("host", worker.hostname),
            ("registered", worker.registered_at),
            ("last seen", worker.last_heartbeat_at),
        ]
    )
    rows = [(offer.processor, offer.profile, offer.max_concurrent_jobs) for offer in worker.capabilities]
    output.columns(("PROCESSOR", "PROFILE", "AT ONCE"), rows)


@command("delete", "Remove a worker from the list.", "cableferry workers delete head-1")
@_WORKER
@connection.options
def delete(target: Target, worker_id: str, as_json: bool) -> None:
    with connected(target) as client:
        client.delete_worker(worker_id)
    if as_json:
        output.document({"worker_id": worker_id, "deleted": True})


@command(
    "drain",
    "Let a worker take no more jobs; what it holds goes on.",
    "cableferry workers drain head-1",
)
@_WORKER
@connection.options
def drain(target: Target, worker_id: str, as_json: bool) -> None:
    with managed(target) as client:
        worker = client.drain(worker_id)
    if as_json:
        output.document(worker)
    else:
        jobs = "1 job" if worker.holds == 1 else f"{worker.holds} jobs"
        click.echo(f"worker {output.text(worker.worker_id)} takes no more jobs, and holds {jobs}")


@command("resume", "Let a drained worker take jobs again.", "cableferry workers resume head-1")
@_WORKER
@connection.options
def resume(target: Target, worker_id: str, as_json: bool) -> None:
    with managed(target) as client:
        worker = client.resume(worker_id)
    if as_json:
        output.document(worker)
    else:
        click.echo(f"worker {output.text(worker.worker_id)} takes jobs again")


workers = click.Group(
    "workers",
    commands=[list_, show, drain, resume, delete],
    help="See, drain and remove workers.",
    no_args_is_help=True,
)
