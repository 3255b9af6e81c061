"""Workers for people who look on."""

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.engine import crews
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import workers as wire


def find(tx: Tx, call: Call) -> wire.Crew:
    crew = crews.crew(tx, desk(call).rules)
    items = [wire.item(member.worker, member.loads, is_alive=member.is_alive) for member in crew.members]
    return wire.Crew(items, len(items), crew.alive, crew.pending, crew.why)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/workers", find, Need.READ, "List workers with what of their offers is in use",
        answer=wire.Crew, needs_protocol_headers=False,
    ),
)  # fmt: skip
