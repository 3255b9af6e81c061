"""Whether the server serves, and whether its shared folder does."""

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.opeva import contract
from cableferry.store import check
from cableferry.store.tx import Tx
from cableferry.wire.opeva import bodies


def health(tx: Tx, call: Call) -> bodies.Health:
    """A folder in trouble keeps jobs from running, but nobody from asking about them."""
    check.version(tx)
    trouble = contract.of(call).trouble()
    return bodies.Health("ok") if trouble is None else bodies.Health("degraded", trouble)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/health", health, Need.NOTHING, "Say whether the server and its shared folder serve",
        answer=bodies.Health, needs_protocol_headers=False,
    ),
)  # fmt: skip
