"""Workers for people who look on: who works, what came of it, who takes no more, and why what waits does not run."""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.dialects.ui.desk import desk
from cableferry.engine import crews, waiting, workers
from cableferry.engine.crews import Member
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import remarks
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import workers as wire


class ThroughputQuery(msgspec.Struct, frozen=True):
    """How far back."""

    hours: Annotated[int, Meta(ge=1, le=168)] = 24


def find(tx: Tx, call: Call) -> wire.Crew:
    crew = crews.crew(tx, desk(call).rules)
    items = [_item(member) for member in crew.members]
    return wire.Crew(items, len(items), crew.alive, crew.pending, crew.why)


def throughput(tx: Tx, call: Call) -> wire.Throughput:
    found = crews.throughput(tx, desk(call).rules, timedelta(hours=call.query.hours))
    items = [wire.Ended(each.worker, each.succeeded, each.failed) for each in found.workers]
    return wire.Throughput(items, found.since, int(found.step.total_seconds()))


def drain(tx: Tx, call: Call) -> wire.WorkerItem:
    rules = desk(call).rules
    workers.drain(tx, rules, call.path["worker_id"], call.caller.actor)
    return _item(crews.member(tx, rules, call.path["worker_id"]))


def resume(tx: Tx, call: Call) -> wire.WorkerItem:
    rules = desk(call).rules
    workers.resume(tx, rules, call.path["worker_id"])
    return _item(crews.member(tx, rules, call.path["worker_id"]))


def explain(tx: Tx, call: Call) -> wire.WaitingList:
    rules = desk(call).rules
    items = [
        wire.QueueItem(
            each.processor, each.profile, each.jobs, each.oldest_at, each.next.id, each.why.code, each.why.sentence,
            each.why.facts,
        )
        for each in waiting.queues(tx, rules, remarks.waiting)
    ]  # fmt: skip
    crew = crews.crew(tx, rules)
    return wire.WaitingList(items, crew.pending, crew.why)


def _item(member: Member) -> wire.WorkerItem:
    return wire.item(member.worker, member.loads, is_alive=member.is_alive)


_ONE = f"{PREFIX}/workers/{{worker_id}}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/workers", find, Need.READ, "List workers with what of their offers is in use",
        answer=wire.Crew, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/workers/throughput", throughput, Need.READ, "Show how many jobs each worker ended lately",
        answer=wire.Throughput, query=ThroughputQuery, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/waiting", explain, Need.READ, "Explain why what waits does not run, queue by queue",
        answer=wire.WaitingList, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_ONE}/drain", noted("worker drained", drain), Need.MANAGE,
        "Let a worker take no more jobs; what it holds goes on",
        answer=wire.WorkerItem, mode="write", refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_ONE}/resume", noted("worker resumed", resume), Need.MANAGE, "Let a drained worker take jobs again",
        answer=wire.WorkerItem, mode="write", refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
