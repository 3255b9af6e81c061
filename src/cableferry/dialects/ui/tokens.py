"""API tokens: one's own, and for an Owner those of everybody."""

from datetime import timedelta

import msgspec

from cableferry.core import access
from cableferry.core.access import Need, Role
from cableferry.core.errors import Forbidden
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.dialects.ui.desk import person
from cableferry.engine import tokens
from cableferry.engine.tokens import Wanted
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX, bodies


class TokensQuery(msgspec.Struct, frozen=True):
    """Whose tokens: one's own when no user is named."""

    user: bodies.Name | None = None


def find(tx: Tx, call: Call) -> bodies.TokenList:
    caller, query = person(call), call.query
    if query.user not in (None, caller.name) and caller.role is not Role.OWNER:
        raise Forbidden("only an Owner sees the tokens of others")
    items = [bodies.token(each) for each in tokens.find(tx, query.user or caller.name)]
    return bodies.TokenList(items, len(items))


def create(tx: Tx, call: Call) -> Answer:
    caller, body = person(call), call.body
    role = caller.role if body.role is None else access.role(body.role)
    life = body.expires_in_seconds
    ends = None if life is None else tx.now + timedelta(seconds=life)
    created = tokens.create(tx, caller, Wanted(role, body.label, ends))
    shown = bodies.new_token(created.token, created.text)
    return Answer(shown, headers={"Cache-Control": "no-store"})


def revoke(tx: Tx, call: Call) -> None:
    tokens.revoke(tx, person(call), call.path["id"])


def _label(call: Call) -> str | None:
    label: str | None = call.body.label
    return label


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/tokens", find, Need.SELF, "List API tokens",
        answer=bodies.TokenList, query=TokensQuery, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/tokens", noted("token created", create, _label), Need.SELF,
        "Create an API token; its text is shown once",
        answer=bodies.NewTokenBody, mode="write", body=bodies.CreateTokenBody, status=201,
        keeps_secret=True, has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/tokens/{{id}}", noted("token revoked", revoke), Need.SELF, "Revoke an API token",
        answer=None, mode="write", status=204, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
