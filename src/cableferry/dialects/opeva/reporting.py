"""What workers call: they ask for a job, say how it goes, and say that they live."""

import hashlib
import hmac
import secrets

import msgspec
from msgspec import Raw

from cableferry.core.access import Need
from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind
from cableferry.core.jobs import Job, Payload, Report, Wish
from cableferry.core.workers import Speaker
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.opeva import contract
from cableferry.dialects.opeva.contract import Contract
from cableferry.dialects.opeva.refusals import STALE_ATTEMPT
from cableferry.engine import jobs, workers
from cableferry.store.tx import Tx
from cableferry.wire.opeva import FENCING, bodies, files, words
from cableferry.wire.opeva.bodies import Payload as Dispatched

NOTHING = 204
# of what a worker says these are kept, each under the name it has on the wire
_REMARKS = ("container_id", "container_name", "exit_code", "error", "details")
_ERROR_KEPT = 10_000
_CONTRADICTED = frozenset({Kind.ILLEGAL_MOVE, Kind.ALREADY_ENDED})


def poll(tx: Tx, call: Call) -> Answer:
    """Claim and dispatch in one transaction; to ask is to be heard of."""
    ours = contract.of(call)
    worker = contract.worker(tx, call, call.body.worker_id)
    token = secrets.token_urlsafe(32) if FENCING in (call.body.capabilities or ()) else None
    workers.hear(tx, ours.rules, worker)
    speaker = Speaker(worker, None, contract.actor(call, worker), _fence(token))
    claimed = jobs.claim_many(tx, ours.rules, speaker, 1)
    return Answer(_dispatched(ours, claimed[0], token)) if claimed else Answer(None, NOTHING)


def job_status(tx: Tx, call: Call) -> bodies.Ok:
    """Take a worker's word; whoever speaks for no worker speaks for whoever holds the job."""
    body: bodies.StatusBody = call.body
    rules = contract.of(call).rules
    words.check_known(body.status)
    worker = contract.reporter(tx, call, body.worker_id)
    job = contract.find(tx, call, body.job_id, f"Job {body.job_id[:128]} not found")
    if worker is not None:
        workers.hear(tx, rules, worker)
    _check_attempt(job, body)
    body = _curtailed(body)
    take = jobs.give_back if body.status == words.QUEUED else jobs.report
    try:
        take(tx, rules, _report(job, body, worker, contract.actor(call, worker)))
    except Conflict as refusal:
        if refusal.kind in _CONTRADICTED or not job.is_held:
            raise _contradiction(job, body.status, refusal.kind) from None
        raise
    return bodies.Ok()


def heartbeat(tx: Tx, call: Call) -> bodies.Ok:
    try:
        worker = contract.worker(tx, call, call.body.worker_id)
    except Forbidden as refusal:
        if refusal.kind is not Kind.UNKNOWN_HOST:
            raise
        raise Invalid(refusal.detail, refusal.kind) from None
    info = call.body.info
    workers.hear(tx, contract.of(call).rules, worker, Raw(msgspec.json.encode({} if info is None else info)))
    return bodies.Ok()


def _curtailed(body: bodies.StatusBody) -> bodies.StatusBody:
    """Keep of an error what a history can hold: workers in the field drop a report that is refused."""
    if body.error is None:
        return body
    return msgspec.structs.replace(body, error=body.error.replace("\0", "\N{REPLACEMENT CHARACTER}")[:_ERROR_KEPT])


def _report(job: Job, body: bodies.StatusBody, worker: str | None, actor: str) -> Report:
    said = {name: value for name in _REMARKS if (value := getattr(body, name)) is not None}
    payload = Payload(worker, body.error, remarks=Raw(msgspec.json.encode(said)) if said else None)
    if body.status == words.STOP_REQUESTED:
        return Report(job.id, job.state, payload, actor, wish=Wish.STOP)
    if body.status in words.NOWHERE:
        raise _contradiction(job, body.status, Kind.ILLEGAL_MOVE)
    meant = words.SAID[body.status]
    return Report(job.id, meant.state, payload, actor, meant.cause)


def _contradiction(job: Job, said: str, kind: Kind) -> Conflict:
    old = words.word(job.state, job.wish, job.cause)
    return Conflict(f"Invalid status transition {old} -> {said}", kind, current_state=job.state)


def _check_attempt(job: Job, body: bodies.StatusBody) -> None:
    """Refuse whoever does not prove that it holds this attempt, if the attempt was fenced when it was handed out."""
    digest = _digest_of(job)
    token = body.attempt_token
    is_proven = digest is None or (token is not None and hmac.compare_digest(_digest(token), digest))
    if is_proven and body.attempt_number in (None, job.attempt) and (digest is not None or token is None):
        return
    raise Conflict(
        f"this is not the attempt of job {job.id} that counts: stop working on it",
        Kind.STALE_LEASE,
        code=STALE_ATTEMPT,
        job_id=job.id,
        attempt_number=job.attempt,
        status=words.word(job.state, job.wish, job.cause),
    )


def _fence(token: str | None) -> Raw | None:
    return None if token is None else Raw(msgspec.json.encode({files.TOKEN_DIGEST: _digest(token)}))


def _digest_of(job: Job) -> str | None:
    if job.remarks is None:
        return None
    digest = msgspec.json.decode(job.remarks, type=dict[str, Raw]).get(files.TOKEN_DIGEST)
    return None if digest is None else msgspec.json.decode(digest, type=str)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _dispatched(ours: Contract, job: Job, token: str | None) -> Dispatched:
    known = files.launched(job)
    payload = Dispatched(
        job_id=job.id,
        job_name=known.job_name,
        config_path=known.config_path,
        preferred_host=job.preference.worker if job.preference else None,
        image=ours.image,
        command=files.command(job),
        container_name=files.container_name(job),
        volumes=[bodies.Volume(str(ours.share.root), files.CONTAINER_ROOT)],
        env=dict(ours.env),
    )
    if token is None:
        return payload
    return msgspec.structs.replace(payload, attempt_number=job.attempt, attempt_token=token, attempt_protocol=FENCING)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", "/api/agent/next-job", poll, Need.WORK, "Ask for a job",
        answer=Dispatched, mode="write", is_brief=True, body=bodies.PollBody, needs_protocol_headers=False,
        quiet_status=NOTHING,
    ),
    Endpoint(
        "POST", "/api/agent/job-status", job_status, Need.WORK, "Say where a job is",
        answer=bodies.Ok, mode="write", is_brief=True, body=bodies.StatusBody, refusals=(404, 409, 422),
        needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/api/agent/heartbeat", heartbeat, Need.WORK, "Say that a worker lives",
        answer=bodies.Ok, mode="write", is_brief=True, body=bodies.HeartbeatBody, refusals=(409, 422),
        needs_protocol_headers=False,
    ),
)  # fmt: skip
