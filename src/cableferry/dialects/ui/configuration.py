"""What the server was set up with."""

from cableferry import __version__
from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.ui.desk import desk
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import configuration as wire


def get(tx: Tx, call: Call) -> wire.SettingList:
    items = list(desk(call).configuration)
    return wire.SettingList(items, len(items), __version__)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/settings", get, Need.OWN, "Show the settings in force, and where each came from",
        answer=wire.SettingList, needs_protocol_headers=False,
    ),
)  # fmt: skip
