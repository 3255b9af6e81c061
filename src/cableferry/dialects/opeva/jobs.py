"""Looking at jobs, at the queue and at the hosts, and ending jobs."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from cableferry.core.access import Need
from cableferry.core.jobs import Filter, Payload, State, Transition, Waiting
from cableferry.core.paging import Page
from cableferry.core.workers import Worker, is_alive
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.opeva import contract
from cableferry.engine import explain as explaining
from cableferry.engine import jobs, queue, workers
from cableferry.store.tx import Tx
from cableferry.wire.opeva import bodies, files, words

EVERYTHING = 2**31
_NOT_NOW = 409


class ListQuery(msgspec.Struct, frozen=True):
    """Which part of a list; without a limit it is all of it."""

    limit: Annotated[int, Meta(ge=1, le=EVERYTHING)] = EVERYTHING
    offset: Annotated[int, Meta(ge=0, le=EVERYTHING)] = 0


class DeleteQuery(msgspec.Struct, frozen=True):
    """Whether a job goes that still runs."""

    force: bool = False


class HistoryQuery(msgspec.Struct, frozen=True):
    """Only what stands behind this row of a history."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


def status(tx: Tx, call: Call) -> files.Document:
    return files.status(contract.job(tx, call))


def info(tx: Tx, call: Call) -> bodies.Info:
    return files.info(contract.job(tx, call, "Job info not found"))


def find(tx: Tx, call: Call) -> Answer:
    listing = _listed(tx, call, Filter())
    return Answer([files.entry(job) for job in listing.jobs], headers={"X-Total-Count": str(listing.total)})


def waiting(tx: Tx, call: Call) -> Answer:
    listing = _listed(tx, call, Filter(State.READY))
    return Answer([files.waiting(job) for job in listing.jobs], headers={"X-Total-Count": str(listing.total)})


def hosts(tx: Tx, call: Call) -> bodies.Hosts:
    ours = contract.of(call)
    known = {worker.id: worker for worker in workers.find(tx, ours.rules)}
    named = sorted({*known, *ours.hosts})
    return bodies.Hosts(contract.hosts(tx, ours), {name: _host(tx, call, name, known.get(name)) for name in named})


def stop(tx: Tx, call: Call) -> bodies.Message:
    return bodies.Message(asked_to_stop(tx, call, "stop_requested"))


def asked_to_stop(tx: Tx, call: Call, reason: str) -> str:
    """What came of the wish, in the contract's sentence; a job that is over is not asked."""
    job = contract.job(tx, call)
    said = {"stop_reason": reason} if job.is_held else {"error": reason}
    payload = Payload(detail=f"Stop: {reason}", remarks=Raw(msgspec.json.encode(said)))
    asked = jobs.ask_to_stop(tx, contract.of(call).rules, job.id, call.caller, payload)
    before = words.word(asked.before.state, asked.before.wish, asked.before.cause)
    if asked.before.is_final:
        return f"Job already finished ({before})"
    if not asked.before.is_held:
        return "Job canceled from queue"
    if before == words.STOP_REQUESTED:
        return "Stop already requested"
    return "Stop requested; worker should terminate the job"


def delete(tx: Tx, call: Call) -> Answer:
    """A job that runs is asked to stop instead, unless by force."""
    job = contract.job(tx, call, "Job not found or already deleted")
    rules = contract.of(call).rules
    if job.is_held and not call.query.force:
        jobs.ask_to_stop(tx, rules, job.id, call.caller, Payload(detail="Stop: to be deleted"))
        detail = f"Job {job.id} is running and was asked to stop: delete it when it has, or use force"
        return Answer(bodies.Refusal(detail), _NOT_NOW)
    jobs.delete(tx, rules, job.id, call.caller)
    return Answer(bodies.Message(f"Job {job.id} deleted successfully"))


def history(tx: Tx, call: Call) -> list[bodies.Moved]:
    job = contract.job(tx, call)
    return [_moved(row) for row in jobs.history(tx, contract.of(call).rules, job.id, call.query.after)]


def explain(tx: Tx, call: Call) -> bodies.Explained:
    job = contract.job(tx, call)
    why = explaining.job(tx, contract.of(call).rules, job.id, lambda job: Waiting())
    return bodies.Explained(job.id, files.word(job), why.code, why.sentence, dict(why.facts))


def _listed(tx: Tx, call: Call, wanted: Filter) -> queue.Listing:
    query: ListQuery = call.query
    return queue.find(tx, contract.of(call).rules.pool, wanted, Page(query.limit, query.offset))


def _host(tx: Tx, call: Call, name: str, worker: Worker | None) -> bodies.Host:
    ours = contract.of(call)
    if worker is None:
        return bodies.Host(False, None, Raw(b"{}"), 0, [])
    held = workers.holding(tx, name)
    is_online = bool(held) or is_alive(worker, tx.now, ours.host_ttl)
    info = worker.info or Raw(b"{}")
    return bodies.Host(is_online, files.seconds(worker.seen_at), info, len(held), held)


def _moved(row: Transition) -> bodies.Moved:
    old = None if row.old is None else words.WORDS.get(row.old, row.old)
    shown = files.shown(row.payload.remarks)
    new = words.word(row.new, None, row.cause)
    return bodies.Moved(files.seconds(row.at), old, new, row.actor, row.attempt, row.payload.detail, shown)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/status/{job_id}", status, Need.READ, "Say where a job is",
        answer=dict, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/job-info/{job_id}", info, Need.READ, "Show what is known of a job",
        answer=bodies.Info, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/jobs", find, Need.READ, "List jobs, the oldest first",
        answer=list[bodies.Entry], query=ListQuery, refusals=(422,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/queue", waiting, Need.READ, "List the queue in its order",
        answer=list[bodies.Waiting], query=ListQuery, refusals=(422,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/hosts", hosts, Need.READ, "Show the workers",
        answer=bodies.Hosts, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/stop/{job_id}", stop, Need.END, "Ask a job to stop",
        answer=bodies.Message, mode="write", is_brief=True, refusals=(404, 409), needs_protocol_headers=False,
    ),
    Endpoint(
        "DELETE", "/job/{job_id}", delete, Need.END, "Delete a job and its files",
        answer=bodies.Message, mode="write", query=DeleteQuery, refusals=(404, 409, 422),
        needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/job-history/{job_id}", history, Need.READ, "Show what happened to a job",
        answer=list[bodies.Moved], query=HistoryQuery, refusals=(404, 422), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", "/job-explain/{job_id}", explain, Need.READ, "Say why a job is where it is",
        answer=bodies.Explained, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
