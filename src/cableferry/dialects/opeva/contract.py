"""How this server speaks the worker contract: its rules, its hosts and its shared folder."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec

from cableferry.core.access import speaking
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound
from cableferry.core.jobs import Job
from cableferry.core.policy import Rules
from cableferry.dialects.endpoint import Call
from cableferry.engine import jobs, workers
from cableferry.engine import speaking as speakers
from cableferry.store.share import Share
from cableferry.store.tx import Store, Tx
from cableferry.wire.opeva import places


class Contract(msgspec.Struct, frozen=True):
    """What the endpoints are configured with; without `hosts`, every worker that was heard of may run jobs."""

    store: Store
    rules: Rules
    share: Share
    trouble: Callable[[], str | None]
    image: str
    hosts: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    host_ttl: timedelta = timedelta(seconds=60)
    config_limit_bytes: int = 1024 * 1024


def of(call: Call) -> Contract:
    found: Contract = call.service
    return found


def hosts(tx: Tx, contract: Contract) -> list[str]:
    """The workers that may run jobs."""
    return list(contract.hosts) or [worker.id for worker in workers.find(tx, contract.rules)]


def check_host(tx: Tx, contract: Contract, host: str | None) -> None:
    allowed = hosts(tx, contract) if host is not None else []
    if host is not None and host not in allowed:
        raise Invalid(f"Unknown host '{host}'. Allowed: {allowed}", Kind.UNKNOWN_HOST)


def worker(tx: Tx, call: Call, named: str) -> str:
    """The worker that a request speaks for, if it is one of ours."""
    return _one_of_ours(call, speakers.worker(tx, call.caller, named) or named)


def reporter(tx: Tx, call: Call, named: str | None) -> str | None:
    """The same where a request need not name one."""
    found = speakers.worker(tx, call.caller, named)
    return None if found is None else _one_of_ours(call, found)


def _one_of_ours(call: Call, name: str) -> str:
    allowed = of(call).hosts
    if allowed and name not in allowed:
        raise Forbidden(f"Unknown worker_id '{name}'. Allowed: {list(allowed)}", Kind.UNKNOWN_HOST)
    return name


def actor(call: Call, named: str | None = None) -> str:
    return speaking(call.caller, named)


def job(tx: Tx, call: Call, said: str = "Job not found") -> Job:
    """The job in the path; no other text than an id of ours is looked for."""
    return find(tx, call, call.path["job_id"], said)


def find(tx: Tx, call: Call, id: str, said: str) -> Job:
    if not places.is_job_id(id):
        raise NotFound(said)
    try:
        return jobs.get(tx, of(call).rules, id)
    except NotFound as refusal:
        raise NotFound(said, refusal.kind) from None
