"""What happened lately, for operators who look for who did what."""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cableferry.core import searches
from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.engine import deeds
from cableferry.engine.deeds import Moved
from cableferry.store import deeds as rows
from cableferry.store import history
from cableferry.store.history import Sought
from cableferry.store.tx import Tx
from cableferry.wire import texts
from cableferry.wire.emx2 import words
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import audit as wire

_MOVES, _DEEDS = "moves", "deeds"
_MOST_HOURS = 24 * 400

Text = Annotated[str, Meta(max_length=255, pattern=texts.NO_NUL)]


class AuditQuery(msgspec.Struct, frozen=True):
    """How far back, by whom, and behind which cursor; `status` is the one that a job came to."""

    hours: Annotated[int, Meta(ge=1, le=_MOST_HOURS)] = 24
    actor: Text | None = None
    status: Text | None = None
    older: Annotated[str, Meta(max_length=searches.LONGEST_CURSOR)] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


def moves(tx: Tx, call: Call) -> wire.MoveList:
    limit = call.query.limit
    found = deeds.moves(tx, desk(call).rules.pool, _sought(tx, call, _MOVES, 3), limit + 1)
    older = searches.cursor(_MOVES, history.place(found[limit - 1].transition)) if len(found) > limit else None
    return wire.MoveList([_move(each) for each in found[:limit]], older)


def others(tx: Tx, call: Call) -> wire.DeedList:
    limit = call.query.limit
    found = deeds.others(tx, _sought(tx, call, _DEEDS, 2), limit + 1)
    older = searches.cursor(_DEEDS, rows.place(found[limit - 1])) if len(found) > limit else None
    return wire.DeedList([wire.DeedItem(each.at, each.actor, each.what, each.about) for each in found[:limit]], older)


def _sought(tx: Tx, call: Call, kind: str, width: int) -> Sought:
    query: AuditQuery = call.query
    state = words.state(query.status) if query.status else None
    sought = Sought(tx.now - timedelta(hours=query.hours), actor=query.actor or None, state=state)
    return sought if query.older is None else replace(sought, before=_place(query.older, kind, width))


def _place(text: str, kind: str, width: int) -> tuple[int, ...]:
    place = tuple(each for each in searches.behind(text, kind) if isinstance(each, int) and abs(each) < 2**63)
    if len(place) != width:
        raise Invalid("older must hold the cursor of a row, as an earlier answer gave it")
    return place


def _move(value: Moved) -> wire.MoveItem:
    said, job = value.transition, value.job
    told = said.payload
    return wire.MoveItem(
        said.at, job.id, job.processor, said.old and words.WORDS[said.old], words.WORDS[said.new], said.actor,
        told.worker, told.detail or told.message, said.cause,
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/audit/moves", moves, Need.MANAGE, "List what was said of jobs lately, the latest first",
        answer=wire.MoveList, query=AuditQuery, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/audit/deeds", others, Need.MANAGE, "List what people did besides, the latest first",
        answer=wire.DeedList, query=AuditQuery, needs_protocol_headers=False,
    ),
)  # fmt: skip
