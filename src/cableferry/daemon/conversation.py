"""Talks with the server, one exchange after the other, and bears it when there is no answer."""

import msgspec
import structlog

from cableferry.client.answers import Job
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import Refused, Trouble, Unauthenticated
from cableferry.daemon import registering
from cableferry.daemon.config import Config
from cableferry.daemon.upstreams.protocol import Get, Give, Upstream
from cableferry.daemon.upstreams.synced import Synced
from cableferry.wire.emx2.bodies import Extensions

log = structlog.get_logger()

# after these we are not the daemon of this worker, or the server does not know that we are
UNREGISTERED = frozenset({"unknown-worker", "session-revoked", "session-conflict", "not-found"})
_CONFLICT = "session-conflict"
# what every server that knows sessions can do, and all that a displaced daemon asks of it
_LEFT = Extensions(0, "", "", sessions=True, epochs=True, idempotency_key=True)
DISPLACED_SECONDS = 10.0


class Talked(msgspec.Struct, frozen=True):
    """What one exchange brought; with a trouble, nothing of it may have happened."""

    got: Get = Get()
    mine: tuple[Job, ...] = ()
    trouble: str | None = None
    kind: str | None = None
    pause_seconds: float = 0
    displaced: str | None = None
    is_plain: bool = True
    has_logs: bool = False
    is_unauthenticated: bool = False


class Conversation:
    """With one server, as one worker in one session."""

    def __init__(self, config: Config, client: Emx2, session: str) -> None:
        self._config = config
        self._client = client
        self._session = session
        self.upstream: Upstream | None = None

    def exchange(self, give: Give, is_sure: bool) -> Talked:
        """Unless we are sure what the server thinks we hold, ask for that first."""
        try:
            return self._exchanged(self._registered(), give, is_sure)
        except Trouble as trouble:
            kind = _kind(trouble)
            if kind in UNREGISTERED:
                self.upstream = None
            if kind == _CONFLICT:
                return self._told(give, str(trouble))
            return Talked(trouble=str(trouble), kind=kind, is_unauthenticated=isinstance(trouble, Unauthenticated))

    def _exchanged(self, upstream: Upstream, give: Give, is_sure: bool) -> Talked:
        mine = () if is_sure else tuple(upstream.mine(give.holding))
        known = (*give.holding, *(job.id for job in mine))
        got = upstream.exchange(msgspec.structs.replace(give, holding=known))
        if got.displaced is not None:
            # the next registration says who has our place, and until when
            self.upstream = None
            return Talked(got, (), pause_seconds=0, displaced=got.displaced, is_plain=False)
        # who has just been given a job may be told at any moment to leave it
        pause = upstream.pause_seconds(bool(known or got.claimed))
        return Talked(got, mine, None, None, pause, None, not isinstance(upstream, Synced), upstream.has_logs)

    def _told(self, give: Give, displaced: str) -> Talked:
        """Somebody else is our worker's daemon: what became of our jobs may still be told, under their epochs."""
        self._client.speak_for(self._session)
        try:
            got = Synced(self._client, self._config.worker_id, _LEFT).exchange(msgspec.structs.replace(give, room=0))
        except Trouble as trouble:
            return Talked(trouble=str(trouble), kind=_kind(trouble))
        return Talked(got, pause_seconds=DISPLACED_SECONDS, displaced=displaced, is_plain=False)

    def _registered(self) -> Upstream:
        if self.upstream is None:
            self.upstream = registering.register(self._client, self._config, self._session)
        return self.upstream

    def has_news(self, processor: str) -> bool:
        """Whether a job waits, asked for as long as the server lets us hang on."""
        upstream = self.upstream
        if upstream is None:
            return False
        try:
            return upstream.wait(processor)
        except Trouble:
            # the exchange meets the same trouble and says so
            return False


def _kind(trouble: Trouble) -> str:
    return trouble.kind if isinstance(trouble, Refused) else trouble.word
