"""For which worker a request speaks."""

from cableferry.core import access
from cableferry.core.errors import Invalid, Kind
from cableferry.core.workers import Speaker
from cableferry.dialects.endpoint import Call
from cableferry.engine import speaking
from cableferry.store.tx import Tx


def speaker(tx: Tx, call: Call, named: str | None) -> Speaker:
    """The worker that the path or the body names, or else the header; two names are refused."""
    worker = worker_of(tx, call, named)
    if worker is None:
        raise Invalid("name the worker: worker_id in the body, or the header X-Worker-Id", Kind.MISSING_HEADER)
    return Speaker(worker, call.session, actor(call, worker))


def worker_of(tx: Tx, call: Call, named: str | None) -> str | None:
    """The same where a person may act without any worker."""
    if named is not None and call.worker is not None and named != call.worker:
        raise Invalid(
            f"X-Worker-Id says {call.worker[:64]} but the request is about worker {named[:64]}: send one name",
            Kind.WORKER_MISMATCH,
        )
    return speaking.worker(tx, call.caller, named or call.worker)


def actor(call: Call, worker: str | None) -> str:
    return access.speaking(call.caller, worker)
