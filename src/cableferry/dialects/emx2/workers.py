"""The worker endpoints."""

from cableferry.core.access import Need
from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.core.jobs import Job, Report
from cableferry.core.workers import Offer, Registration, Session, Speaker
from cableferry.dialects import denials
from cableferry.dialects.emx2 import jobs as job_endpoints
from cableferry.dialects.emx2 import speakers
from cableferry.dialects.emx2.contract import Contract, extensions
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.engine import sync as syncing
from cableferry.engine import workers
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, bodies, schemas, words
from cableferry.wire.emx2.bodies import Link

Outcome = Job | Refusal


def register(tx: Tx, call: Call) -> bodies.WorkerBody:
    body: bodies.RegisterBody = call.body
    contract = _contract(call)
    speaker = speakers.heard(tx, call, body.worker_id)
    schemas.check_sum(each.parameters_schema for each in body.capabilities)
    offers = tuple(map(_offer, body.capabilities))
    said = Registration(speaker.worker, body.hostname, offers, _session(body.session), speaker.signs)
    worker = workers.register(tx, contract.rules, said)
    return bodies.worker(worker, extensions(contract))


def heartbeat(tx: Tx, call: Call) -> bodies.HeartbeatAnswer:
    speaker = speakers.heard(tx, call, call.path["worker_id"])
    workers.heartbeat(tx, _contract(call).rules, speaker)
    return bodies.HeartbeatAnswer(speaker.worker)


def get(tx: Tx, call: Call) -> bodies.WorkerBody:
    return bodies.worker(workers.get(tx, _contract(call).rules, call.path["worker_id"]))


def find(tx: Tx, call: Call) -> bodies.WorkerList:
    items = [bodies.worker(worker) for worker in workers.find(tx, _contract(call).rules)]
    return bodies.WorkerList(items, len(items), {"self": Link(f"{PREFIX}/workers", "GET")})


def delete(tx: Tx, call: Call) -> None:
    workers.delete(tx, _contract(call).rules, call.path["worker_id"])


def sync(tx: Tx, call: Call) -> bodies.SyncAnswer:
    body: bodies.SyncBody = call.body
    speaker = speakers.heard(tx, call, call.path["worker_id"], body.trouble)
    asked = [_report(speaker, item) for item in body.reports]
    reports = [report for report in asked if isinstance(report, Report)]
    cycle = syncing.Cycle(speaker, reports, body.holding or (), body.claim)
    synced = syncing.sync(tx, _contract(call).rules, cycle)
    taken = iter(synced.outcomes)
    outcomes = [next(taken) if isinstance(report, Report) else report for report in asked]
    results = [_result(item.job_id, outcome) for item, outcome in zip(body.reports, outcomes, strict=True)]
    return bodies.SyncAnswer(
        worker_id=speaker.worker,
        reports=results,
        claimed=[bodies.job(job) for job in synced.claimed],
        stop=[bodies.Gone(stop.job, stop.reason, stop.state and words.WORDS[stop.state]) for stop in synced.stops],
        server_time=tx.now,
        no_claims=_no_claims(synced.no_claims),
        watched=list(synced.watched),
    )


def _report(speaker: Speaker, item: bodies.SyncReport) -> Report | Refusal:
    """A report that makes no sense is refused alone."""
    try:
        if item.worker_id not in (None, speaker.worker):
            raise Invalid(f"the report names worker {item.worker_id}, not {speaker.worker}", Kind.WORKER_MISMATCH)
        return job_endpoints.report(item.job_id, item, speaker.worker, speaker.actor)
    except Refusal as refusal:
        return refusal


def _result(job_id: str, outcome: Outcome) -> bodies.ReportResult:
    if isinstance(outcome, Refusal):
        code = int(denials.status_of(outcome))
        return bodies.ReportResult(job_id, code, kind=outcome.kind, detail=outcome.detail)
    return bodies.ReportResult(job_id, 200, words.WORDS[outcome.state], outcome.epoch)


def _no_claims(refusal: Refusal | None) -> bodies.NoClaims | None:
    return None if refusal is None else bodies.NoClaims(refusal.kind, refusal.detail)


def _offer(said: bodies.Capability) -> Offer:
    schema = schemas.checked(said.parameters_schema, said.processor)
    return Offer(said.processor, said.profile, said.max_concurrent_jobs, schema)


def _session(body: bodies.SessionBody | None) -> Session | None:
    return None if body is None else Session(body.id, body.host, body.pid, body.started_at)


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", f"{PREFIX}/workers/register", register, Need.WORK, "Register a worker or what it offers now",
        answer=bodies.WorkerBody, mode="write", body=bodies.RegisterBody, refusals=(409,),
    ),
    Endpoint(
        "GET", f"{PREFIX}/workers", find, Need.READ, "List workers",
        answer=bodies.WorkerList,
    ),
    Endpoint(
        "GET", f"{PREFIX}/workers/{{worker_id}}", get, Need.READ, "Show a worker",
        answer=bodies.WorkerBody, refusals=(404,),
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/workers/{{worker_id}}", noted("worker removed", delete), Need.MANAGE,
        "Remove a worker",
        answer=None, mode="write", status=204, refusals=(404,),
    ),
    Endpoint(
        "POST", f"{PREFIX}/workers/{{worker_id}}/heartbeat", heartbeat, Need.WORK, "Say that a worker lives",
        answer=bodies.HeartbeatAnswer, mode="write", is_brief=True, refusals=(404, 409),
    ),
    Endpoint(
        "POST", f"{PREFIX}/workers/{{worker_id}}/sync", sync, Need.WORK, "One daemon cycle in one round trip",
        answer=bodies.SyncAnswer, mode="write", body=bodies.SyncBody, refusals=(404, 409), has_optional_body=True,
    ),
)  # fmt: skip
