"""Access keys of S3's clients: one's own, a worker's for a Manager, and for an Owner those of everybody."""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core.access import Need
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.dialects.ui.desk import desk, person
from cableferry.engine import access_keys
from cableferry.engine.access_keys import Wanted
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX, bodies


class AccessKeysQuery(msgspec.Struct, frozen=True):
    """Whose keys: one's own when nobody is named."""

    user: bodies.Name | None = None
    worker: Annotated[str, Meta(min_length=1, max_length=255)] | None = None


def find(tx: Tx, call: Call) -> bodies.AccessKeyList:
    query: AccessKeysQuery = call.query
    items = [bodies.access_key(each) for each in access_keys.find(tx, person(call), query.user, query.worker)]
    return bodies.AccessKeyList(items, len(items))


def issue(tx: Tx, call: Call) -> Answer:
    body: bodies.IssueAccessKeyBody = call.body
    life = body.expires_in_seconds
    ends = None if life is None else tx.now + timedelta(seconds=life)
    wanted = Wanted(body.worker, body.may_write, body.label, ends)
    issued = access_keys.issue(tx, desk(call).seal, person(call), wanted)
    return Answer(bodies.new_access_key(issued.key, issued.secret), headers={"Cache-Control": "no-store"})


def revoke(tx: Tx, call: Call) -> None:
    access_keys.revoke(tx, person(call), call.path["id"])


def _whose(call: Call) -> str | None:
    body: bodies.IssueAccessKeyBody = call.body
    return body.worker or body.label


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/access-keys", find, Need.SELF, "List access keys, without their secrets",
        answer=bodies.AccessKeyList, query=AccessKeysQuery, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/access-keys", noted("access key issued", issue, _whose), Need.SELF,
        "Issue an access key; its secret is shown once",
        answer=bodies.NewAccessKeyBody, mode="write", body=bodies.IssueAccessKeyBody, status=201,
        keeps_secret=True, has_optional_body=True, needs_protocol_headers=False,
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/access-keys/{{id}}", noted("access key revoked", revoke), Need.SELF,
        "Revoke an access key",
        answer=None, mode="write", status=204, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
