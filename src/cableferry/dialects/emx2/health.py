"""Whether the server serves."""

import msgspec

from cableferry.core.access import Need
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.store import check
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, VERSION


class HealthBody(msgspec.Struct, frozen=True):
    status: str
    api_version: str
    database: str
    hpc_enabled: bool
    hpc_initialized: bool
    worker_auth_mode: str
    credentials_key_configured: bool


def health(tx: Tx, call: Call) -> HealthBody:
    """The read itself shows that the database answers."""
    contract: Contract = call.service
    check.version(tx)
    return HealthBody(
        status="ok",
        api_version=VERSION,
        database="ok",
        hpc_enabled=True,
        hpc_initialized=True,
        worker_auth_mode=contract.worker_auth_mode(),
        credentials_key_configured=True,
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/health", health, Need.NOTHING, "Say whether the server serves",
        answer=HealthBody, needs_protocol_headers=False,
    ),
)  # fmt: skip
