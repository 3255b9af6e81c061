"""Whether this daemon is still the one of its worker: another one may have taken its place while it was silent."""

import structlog

from cableferry.daemon.conversation import UNREGISTERED, Talked

log = structlog.get_logger()

# a server waits longer for a silent daemon before it gives its place to another
SURE_SECONDS = 60.0


class Tenure:
    """Told of every exchange; instants are those of a clock that is never set."""

    def __init__(self, worker_id: str) -> None:
        self._worker_id = worker_id
        self._is_known = False
        self._is_plain = True
        self._heard_at = 0.0
        self.displaced: str | None = None

    def hear(self, talked: Talked, now: float) -> None:
        """A refusal to know us ends it, silence only leaves it to run out."""
        if talked.trouble is not None:
            self._is_known = self._is_known and talked.kind not in UNREGISTERED
            return
        self._note(talked.displaced)
        self._is_known = talked.displaced is None
        self._is_plain, self._heard_at = talked.is_plain, now

    def may_submit(self, now: float) -> bool:
        """A plain server has no sessions, so nobody is given a place there."""
        return self._is_known and (self._is_plain or now - self._heard_at < SURE_SECONDS)

    def _note(self, displaced: str | None) -> None:
        if displaced is not None and self.displaced is None:
            log.warning("place taken", worker=self._worker_id, reason=displaced)
        if displaced is None and self.displaced is not None:
            log.info("place is ours again", worker=self._worker_id)
        self.displaced = displaced
