"""For which worker a request speaks."""

from datetime import timedelta

from msgspec.structs import replace

from cableferry.core import access, signing
from cableferry.core.errors import Invalid, Kind, Refusal
from cableferry.core.workers import Signs, Speaker
from cableferry.dialects.endpoint import Call
from cableferry.engine import speaking
from cableferry.store.tx import Tx

_LONGEST_AGENT = 255
_MOST_SKEW = timedelta(days=3650)


def speaker(tx: Tx, call: Call, named: str | None) -> Speaker:
    """The worker that the path or the body names, or else the header; two names are refused."""
    worker = worker_of(tx, call, named)
    if worker is None:
        raise Invalid("name the worker: worker_id in the body, or the header X-Worker-Id", Kind.MISSING_HEADER)
    return Speaker(worker, call.session, actor(call, worker))


def heard(tx: Tx, call: Call, named: str | None, trouble: str | None = None) -> Speaker:
    """The same where a worker says that it lives: with what else the request tells of it."""
    return replace(speaker(tx, call, named), signs=_signs(tx, call, trouble))


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


def _signs(tx: Tx, call: Call, trouble: str | None) -> Signs:
    """A timestamp is checked only where the protocol asks for one."""
    agent = call.headers.get(b"user-agent", b"").decode("latin-1")[:_LONGEST_AGENT] or None
    try:
        sent = signing.parse_timestamp(call.headers.get(b"x-timestamp", b"").decode("latin-1"))
    except Refusal:
        return Signs(agent, None, trouble)
    return Signs(agent, max(-_MOST_SKEW, min(sent - tx.now, _MOST_SKEW)), trouble)
