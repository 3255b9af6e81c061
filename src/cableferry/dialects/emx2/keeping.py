"""What keeps a store sound: looking whether bytes are what they were, and collecting what is to go."""

import asyncio

from cableferry.core.access import Need
from cableferry.core.errors import NotFound, Refusal
from cableferry.core.verification import Finding
from cableferry.dialects.emx2.artifacts import HOME
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.engine import collecting, verifying
from cableferry.engine.collecting import Collected
from cableferry.engine.retention import Due
from cableferry.engine.verifying import Verified
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import artifacts as wire


def look(call: Call) -> Verified | Refusal:
    """A refusal waits for the transaction, which spends the nonce of this request."""
    body: wire.VerifyBody = call.body
    try:
        return verifying.verify(_contract(call).depot, call.path["artifact_id"], body.after)
    except NotFound as refusal:
        return refusal


def verify(tx: Tx, call: Call) -> wire.VerifiedBody:
    if isinstance(call.prepared, Refusal):
        raise call.prepared
    seen: Verified = call.prepared
    findings = [_finding(seen.artifact.id, finding) for finding in seen.findings]
    return wire.VerifiedBody(seen.artifact.id, seen.files, seen.bytes, seen.unseen, findings, seen.after)


def do_collect(call: Call) -> Collected:
    """Several transactions, and the store of bytes between them."""
    body: wire.CollectBody = call.body
    contract = _contract(call)
    work = collecting.foretell if body.dry_run else collecting.collect
    return asyncio.run(work(contract.depot, contract.keeping))


def collect(tx: Tx, call: Call) -> wire.CollectionBody:
    body: wire.CollectBody = call.body
    done: Collected = call.prepared
    return wire.CollectionBody(
        dry_run=body.dry_run,
        failed=done.failed,
        deleted=done.deleted,
        artifacts=[_due(due) for due in done.due],
        blobs=done.blobs,
        blob_bytes=done.blob_bytes,
        places_removed=done.places_removed,
        places_waiting=done.places_waiting,
        orphans=done.orphans,
        orphan_bytes=done.orphan_bytes,
        orphaned=[wire.OrphanItem(each.place, each.size_bytes, each.modified_at) for each in done.orphaned],
    )


def _finding(artifact_id: str, finding: Finding) -> wire.FindingBody:
    return wire.FindingBody(
        artifact_id, finding.path, finding.problem.value, finding.place, finding.expected, finding.found
    )


def _due(due: Due) -> wire.DueItem:
    artifact = due.artifact
    return wire.DueItem(artifact.id, artifact.name, artifact.type, artifact.size_bytes, due.becomes, due.reason)


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", f"{HOME}/{{artifact_id}}/verify", verify, Need.CREATE, "Hash the bytes of an artifact again",
        answer=wire.VerifiedBody, body=wire.VerifyBody, refusals=(404,), has_optional_body=True, prepare=look,
        is_long=True,
    ),
    Endpoint(
        "POST", f"{HOME}/collect", collect, Need.MANAGE, "Collect what is to go, or tell what would go",
        answer=wire.CollectionBody, mode="pure", body=wire.CollectBody, has_optional_body=True, prepare=do_collect,
        is_long=True,
    ),
)  # fmt: skip
