"""The first Owner of a server that nobody owns yet."""

import hmac

from cableferry.core import accounts
from cableferry.core.access import Need
from cableferry.core.errors import Forbidden
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.ui import sessions
from cableferry.dialects.ui.desk import desk
from cableferry.engine import deeds, users
from cableferry.store import users as rows
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX, bodies


def is_needed(tx: Tx, call: Call) -> bodies.FirstOwner:
    return bodies.FirstOwner(is_needed=not rows.exist(tx))


def prove(call: Call) -> str:
    """Whoever can read what the server printed may own it; the token counts before any slow work is done."""
    body: bodies.FirstOwnerBody = call.body
    sessions.check_site(call)
    if not hmac.compare_digest(body.token.encode(), desk(call).first_token.encode()):
        raise Forbidden("the token is not the one that this server printed when it started: look there again")
    accounts.check_name(body.name)
    return desk(call).passwords.hash(body.name, body.password)


def create(tx: Tx, call: Call) -> Answer:
    """The account, and the session that its owner goes on with."""
    users.create_first(tx, call.body.name, call.prepared)
    deeds.note(tx, f"user:{call.body.name}", "first owner created", call.address)
    return sessions.opened(tx, call, call.body.name)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/first-owner", is_needed, Need.NOTHING, "Say whether the server waits for its first Owner",
        answer=bodies.FirstOwner, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/first-owner", create, Need.NOTHING, "Become the first Owner; sets the session's cookie",
        answer=bodies.MeBody, mode="write", body=bodies.FirstOwnerBody, status=201, refusals=(403, 409),
        prepare=prove, needs_protocol_headers=False, keeps_secret=True,
    ),
)  # fmt: skip
