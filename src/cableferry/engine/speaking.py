"""For which worker a caller speaks."""

from cableferry.core import access
from cableferry.core.access import Caller, Claimant
from cableferry.engine import credentials
from cableferry.store.tx import Tx

_SHARED = Claimant(None, credentials.SHARED)


def worker(tx: Tx, caller: Caller, named: str | None) -> str | None:
    """The worker that a request names, if the caller may speak for it; the shared secret only for some."""
    found = access.worker_named(caller, named)
    if found is not None and caller == _SHARED:
        credentials.check_shared_secret(tx, found)
    return found
