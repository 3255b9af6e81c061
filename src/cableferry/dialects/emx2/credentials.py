"""The credential endpoints: what a Manager does about a worker's secrets."""

from datetime import timedelta

import msgspec

from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.engine import credentials
from cableferry.engine.credentials import Issued, Wanted
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, bodies
from cableferry.wire.emx2 import credentials as wire

_FOLDER = f"{PREFIX}/workers/{{worker_id}}/credentials"


def issue(tx: Tx, call: Call) -> Answer:
    return _shown_once(credentials.issue(tx, _contract(call).seal, _wanted(call)))


def rotate(tx: Tx, call: Call) -> Answer:
    contract, body = _contract(call), call.body
    seconds = contract.rotation_grace_seconds if body.grace_seconds is None else body.grace_seconds
    return _shown_once(credentials.rotate(tx, contract.seal, _wanted(call), timedelta(seconds=seconds)))


def revoke(tx: Tx, call: Call) -> wire.CredentialBody:
    return wire.credential(credentials.revoke(tx, call.path["worker_id"], call.path["credential_id"]), tx.now)


def find(tx: Tx, call: Call) -> wire.CredentialList:
    worker = call.path["worker_id"]
    return wire.listing(worker, credentials.find(tx, worker), tx.now)


def _shown_once(new: Issued) -> Answer:
    return Answer(wire.issued(new.credential, new.secret), headers={"Cache-Control": "no-store"})


def _wanted(call: Call) -> Wanted:
    body: wire.IssueBody = call.body
    return Wanted(_worker(call), call.caller.actor, wire.label(body.label), wire.expiry(body.expires_at))


def _worker(call: Call) -> str:
    """A worker needs no registration before it has a secret, but a name that it can register under."""
    try:
        return msgspec.convert(call.path["worker_id"], bodies.WorkerId)
    except msgspec.ValidationError:
        raise Invalid(f"{call.path['worker_id'][:64]!r} cannot be the id of a worker") from None


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", f"{_FOLDER}/issue", noted("credential issued", issue), Need.MANAGE,
        "Issue a worker's credential; its secret is shown once",
        answer=wire.IssuedBody, mode="write", body=wire.IssueBody, status=201, refusals=(409,),
        keeps_secret=True, has_optional_body=True,
    ),
    Endpoint(
        "POST", f"{_FOLDER}/rotate", noted("credential rotated", rotate), Need.MANAGE,
        "Issue a new credential in place of those before it",
        answer=wire.IssuedBody, mode="write", body=wire.RotateBody, keeps_secret=True, has_optional_body=True,
    ),
    Endpoint(
        "POST", f"{_FOLDER}/{{credential_id}}/revoke", noted("credential revoked", revoke), Need.MANAGE,
        "End a credential at once",
        answer=wire.CredentialBody, mode="write", refusals=(404,),
    ),
    Endpoint(
        "GET", _FOLDER, find, Need.MANAGE, "List a worker's credentials, without their secrets",
        answer=wire.CredentialList,
    ),
)  # fmt: skip
