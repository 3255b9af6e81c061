"""Users who call: by an API token, or by the cookie of a browser that is signed in."""

from datetime import timedelta

from cableferry.core import accounts, signing
from cableferry.core.accounts import Session
from cableferry.core.errors import Forbidden, Kind
from cableferry.dialects.denials import Unauthorized
from cableferry.engine import sessions, tokens
from cableferry.server.envelope import Admitted, Envelope
from cableferry.store import tokens as rows
from cableferry.store.tx import Store
from cableferry.wire.ui import cookies

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class People:
    """Each request asks the database, so that what was revoked a moment ago is refused everywhere."""

    def __init__(self, store: Store, idle: timedelta) -> None:
        self._store = store
        self._idle = idle

    async def by_token(self, envelope: Envelope, text: str) -> Admitted:
        found = await self._store.aread(lambda tx: tokens.person(tx, text))
        if found is None:
            raise Unauthorized("the API token is unknown, expired or revoked: make a new one")
        person, token = found
        if not accounts.is_stale(token.last_used_at, envelope.now):
            return Admitted(person)
        return Admitted(person, lambda tx: rows.touch(tx, token.id, tx.now))

    async def by_cookie(self, envelope: Envelope, text: str) -> Admitted:
        visit = await self._store.aread(lambda tx: sessions.visit(tx, text))
        if visit is None:
            raise Unauthorized("the session has ended: sign in again")
        session = visit.session
        _check_csrf(envelope, session)
        person = sessions.person(session, visit.role)
        if not accounts.is_stale(session.seen_at, envelope.now):
            return Admitted(person)
        cookie = cookies.keep(text, int(self._idle.total_seconds()), envelope.is_secure)
        return Admitted(person, lambda tx: sessions.slide(tx, session, self._idle), {"set-cookie": cookie})


def _check_csrf(envelope: Envelope, session: Session) -> None:
    """A page of another site can make a browser send the cookie, but does not know the token."""
    given = envelope.header(b"x-csrf-token") or ""
    if envelope.method not in _SAFE and not signing.is_same(session.csrf, given):
        raise Forbidden("X-CSRF-Token is missing or wrong: send the one that /api/ui/me tells", Kind.BAD_CSRF)
