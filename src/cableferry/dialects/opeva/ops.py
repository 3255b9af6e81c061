"""What operators can do about jobs and about the queue when workers cannot."""

from functools import partial

import msgspec
from msgspec import Raw

from cableferry.core.access import Need
from cableferry.core.jobs import FINAL, Filter, Job, Payload, Preference
from cableferry.core.paging import Page
from cableferry.dialects.denials import Unavailable
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.opeva import contract
from cableferry.dialects.opeva import jobs as asking
from cableferry.dialects.opeva.contract import Contract
from cableferry.engine import jobs, operating, queue
from cableferry.engine.operating import Order
from cableferry.store import jobs as rows
from cableferry.store.tx import Tx
from cableferry.wire.opeva import bodies, files, places, words

Said = dict[str, str | bool | None]

_AT_ONCE = 500
_SUFFIX = ".json"


def requeue(tx: Tx, call: Call) -> bodies.Done:
    body: bodies.RequeueBody = call.body
    ours = contract.of(call)
    job = _job(tx, call)
    contract.check_host(tx, ours, body.preferred_host or None)
    said: Said = {
        "requeued_by_ops": True,
        "force": body.force,
        "requeued_from": files.word(job),
        "preferred_host": body.preferred_host or files.target(job),
    }
    operating.requeue(tx, ours.rules, _order(call, job, body.force, said), _preference(job, body))
    return bodies.Done("Job requeued", job.id, words.QUEUED)


def fail(tx: Tx, call: Call) -> bodies.Done:
    body: bodies.FailBody = call.body
    job = _job(tx, call)
    said: Said = {"failed_by_ops": True, "error": body.reason, "force": body.force, "terminate_requested": job.is_held}
    failed = operating.fail(tx, contract.of(call).rules, _order(call, job, body.force, said))
    return bodies.Done("Job failed", job.id, files.word(failed))


def cancel(tx: Tx, call: Call) -> bodies.Done:
    body: bodies.CancelBody = call.body
    job = _job(tx, call)
    said: Said = {"canceled_by_ops": True, "error": body.reason, "force": body.force}
    canceled = operating.cancel(tx, contract.of(call).rules, _order(call, job, body.force, said))
    return bodies.Done("Job canceled", job.id, files.word(canceled))


def stop(tx: Tx, call: Call) -> bodies.Done:
    message = asking.asked_to_stop(tx, call, call.body.reason)
    job = _job(tx, call)
    return bodies.Done(message, job.id, files.word(job))


def clean_queue(call: Call) -> bodies.Removed:
    """Remove files from the queue's folder that stand for no waiting job; the queue itself is in the database."""
    ours = contract.of(call)
    try:
        found = {each.name: _owner(each.name) for each in ours.share.names(("queue",))}
        waiting = _waiting(ours, {job for job in found.values() if job is not None})
        gone = [name for name, job in found.items() if job not in waiting and _may_go(ours, name, call.body.force)]
        for name in gone:
            ours.share.remove(("queue", name))
    except OSError as error:
        raise Unavailable(f"the shared folder is in trouble: {error.strerror}") from None
    removed = sorted({found[name] or name for name in gone})
    return bodies.Removed(removed, len(removed))


def clean_jobs(call: Call) -> bodies.Cleaned:
    """Delete every job that is over, save those that shall stay; a portion in each transaction."""
    ours, keep = contract.of(call), set(call.body.keep or ())
    removed: list[str] = []
    kept: list[str] = []
    for state in sorted(FINAL):
        page = Page(_AT_ONCE, 0)
        while ended := ours.store.read(partial(_ended, ours=ours, wanted=Filter(state), page=page)):
            staying = [job.id for job in ended if job.id in keep]
            kept += staying
            page = Page(_AT_ONCE, page.offset + len(staying))
            removed += ours.store.write(
                partial(_delete, call=call, ids=[job.id for job in ended if job.id not in keep])
            )
    return bodies.Cleaned(removed, kept, len(removed))


def prepared(tx: Tx, call: Call) -> bodies.Removed | bodies.Cleaned:
    """What was done beforehand, outside of any transaction."""
    done: bodies.Removed | bodies.Cleaned = call.prepared
    return done


def _ended(tx: Tx, ours: Contract, wanted: Filter, page: Page) -> list[Job]:
    return queue.find(tx, ours.rules.pool, wanted, page).jobs


def _delete(tx: Tx, call: Call, ids: list[str]) -> list[str]:
    for id_ in ids:
        jobs.delete(tx, contract.of(call).rules, id_, call.caller)
    return ids


def _job(tx: Tx, call: Call) -> Job:
    return contract.job(tx, call, f"Job {call.path['job_id'][:128]} not found")


def _order(call: Call, job: Job, is_forced: bool, said: Said) -> Order:
    reason = said.get("error") or ("Requeued by force" if is_forced else "Requeued")
    payload = Payload(detail=str(reason), remarks=Raw(msgspec.json.encode(said)))
    return Order(job.id, contract.actor(call), payload, is_forced)


def _preference(job: Job, body: bodies.RequeueBody) -> Preference | None:
    """Whom a job prefers that is put back: who is named, or whom it preferred, or who had it."""
    name = body.preferred_host or files.target(job)
    is_pinned = body.require_host if body.require_host is not None else _was_pinned(job)
    return None if name is None else Preference(name, is_pinned)


def _was_pinned(job: Job) -> bool:
    return job.preference is not None and job.preference.is_pinned


def _waiting(ours: Contract, ids: set[str]) -> set[str]:
    found = ours.store.read(lambda tx: rows.find_many(tx, ids))
    return {job.id for job in found.values() if files.is_waiting(job)}


def _owner(name: str) -> str | None:
    """The job whose file it is in the queue, claimed or not."""
    job = name.partition(_SUFFIX)[0]
    return job if _SUFFIX in name and places.is_job_id(job) else None


def _may_go(ours: Contract, name: str, is_forced: bool) -> bool:
    if is_forced:
        return True
    content = ours.share.read(("queue", name), 0, 65_536)
    try:
        return isinstance(msgspec.json.decode(content or b""), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", "/ops/jobs/{job_id}/requeue", requeue, Need.MANAGE, "Put a job back into the queue",
        answer=bodies.Done, mode="write", body=bodies.RequeueBody, refusals=(404, 409, 422),
        has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/ops/jobs/{job_id}/fail", fail, Need.MANAGE, "Say that a job has failed",
        answer=bodies.Done, mode="write", body=bodies.FailBody, refusals=(404, 409, 422),
        has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/ops/jobs/{job_id}/cancel", cancel, Need.MANAGE, "Call a job off wherever it is",
        answer=bodies.Done, mode="write", body=bodies.CancelBody, refusals=(404, 409, 422),
        has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/ops/jobs/{job_id}/stop", stop, Need.MANAGE, "Ask a job to stop and say why",
        answer=bodies.Done, mode="write", body=bodies.StopBody, refusals=(404, 409, 422),
        has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", "/ops/queue/cleanup", prepared, Need.MANAGE, "Remove files of the queue that stand for nothing",
        answer=bodies.Removed, mode="pure", body=bodies.QueueCleanupBody, refusals=(422,),
        has_optional_body=True, needs_protocol_headers=False, prepare=clean_queue,
    ),
    Endpoint(
        "POST", "/ops/jobs/cleanup", prepared, Need.MANAGE, "Delete the jobs that are over",
        answer=bodies.Cleaned, mode="pure", body=bodies.JobsCleanupBody, refusals=(422,),
        has_optional_body=True, needs_protocol_headers=False, prepare=clean_jobs,
    ),
)  # fmt: skip
