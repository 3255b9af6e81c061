"""How this server speaks the protocol: which edition, which rules, how long it lets a client wait."""

from collections.abc import Callable
from typing import Literal

import msgspec

from cableferry.core.policy import Rules
from cableferry.dialects.resumable import Resumption
from cableferry.engine.collecting import Keeping
from cableferry.engine.credentials import Seal
from cableferry.engine.reading import Depot
from cableferry.wire import resumption
from cableferry.wire.emx2 import PREFIX, bodies


class Contract(msgspec.Struct, frozen=True):
    """What the endpoints of the protocol are configured with."""

    edition: Literal["seed", "latest"]
    rules: Rules
    seal: Seal
    depot: Depot
    resumption: Resumption
    keeping: Keeping = Keeping()
    rotation_grace_seconds: int = 0
    long_poll_seconds: int = 55
    log_limit_bytes: int = 64 * 1024 * 1024
    worker_auth_mode: Callable[[], str] = lambda: "off"


def extensions(contract: Contract) -> bodies.Extensions:
    """What a worker may use beyond the plain protocol."""
    return bodies.Extensions(
        long_poll_seconds=contract.long_poll_seconds,
        claim_many=f"{PREFIX}/jobs/claim",
        sync=f"{PREFIX}/workers/{{worker_id}}/sync",
        sessions=True,
        epochs=True,
        idempotency_key=True,
        logs=f"{PREFIX}/workers/{{worker_id}}/logs",
        uploads=resumption.home("{artifact_id}"),
    )
