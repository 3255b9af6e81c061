"""The artifact endpoints."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cableferry.core import contents, media, paging
from cableferry.core.access import Need
from cableferry.core.artifacts import Artifact, Declared, Draft, Examined, Filter, Residence
from cableferry.core.errors import Refusal
from cableferry.dialects.emx2 import speakers
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.noting import by_people
from cableferry.engine import artifacts, commits
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, bodies, words
from cableferry.wire.emx2 import artifacts as wire
from cableferry.wire.emx2.bodies import Link

HOME = f"{PREFIX}/artifacts"


class ArtifactsQuery(msgspec.Struct, frozen=True):
    """Which artifacts, and which page of them; `q` is part of a name or the beginning of an id."""

    status: Annotated[str, Meta(max_length=40)] | None = None
    type: bodies.Name | None = None
    format: bodies.Name | None = None
    residence: Annotated[str, Meta(max_length=40)] | None = None
    name: bodies.Name | None = None
    job_id: bodies.Name | None = None
    q: bodies.Name | None = None
    order: Literal["oldest", "newest"] = "oldest"
    limit: int | None = None
    offset: int | None = None

    @property
    def filter(self) -> Filter:
        return Filter(
            stage=None if self.status is None else words.stage(self.status),
            type=self.type,
            format=self.format,
            residence=None if self.residence is None else wire.residence(self.residence),
            name=self.name,
            job_id=self.job_id,
            search=self.q,
        )


def create(tx: Tx, call: Call) -> Answer:
    body: wire.CreateArtifactBody = call.body
    residence = Residence(body.residence)
    contents.check_location(residence, body.content_url, _contract(call).depot.posix_roots)
    metadata, job = wire.metadata(body.metadata)
    by = speakers.actor(call, call.worker)
    draft = Draft(body.type, body.format, residence, body.name, metadata, body.content_url, job, by)
    artifact = artifacts.create(tx, draft)
    location = {"Location": f"{HOME}/{artifact.id}"}
    return Answer(wire.artifact(artifact, _contract(call).edition), headers=location | _etag(artifact))


def find(tx: Tx, call: Call) -> Answer:
    query: ArtifactsQuery = call.query
    page = paging.page(query.limit, query.offset)
    listing = artifacts.find(tx, query.filter, page, query.order == "newest")
    items = [wire.artifact(artifact, _contract(call).edition) for artifact in listing.artifacts]
    links = {"self": Link(HOME, "GET")}
    body = wire.ArtifactList(items, len(items), listing.total, page.limit, page.offset, links)
    return Answer(body, headers={"X-Total-Count": str(listing.total)})


def get(tx: Tx, call: Call) -> Answer:
    return _shown(call, artifacts.get(tx, call.path["artifact_id"]))


def delete(tx: Tx, call: Call) -> None:
    artifacts.delete(tx, call.path["artifact_id"], call.caller)


def examine(call: Call) -> Examined | Refusal:
    """What the bytes say; a refusal waits for the transaction, which spends the nonce of this request."""
    try:
        return commits.examine(_contract(call).depot, call.path["artifact_id"], call.caller, _declared(call))
    except Refusal as refusal:
        return refusal


def commit(tx: Tx, call: Call) -> Answer:
    if isinstance(call.prepared, Refusal):
        raise call.prepared
    return _shown(call, artifacts.commit(tx, call.path["artifact_id"], call.caller, _declared(call), call.prepared))


def registries(tx: Tx, call: Call) -> wire.Registries:
    types = [wire.TypeItem(name, description) for name, description in media.TYPES.items()]
    return wire.Registries(types, [wire.FormatItem(name, kind) for name, kind in media.FORMATS.items()])


def _declared(call: Call) -> Declared:
    body: wire.CommitBody = call.body
    return Declared(body.sha256, body.size_bytes)


def _shown(call: Call, artifact: Artifact) -> Answer:
    return Answer(wire.artifact(artifact, _contract(call).edition), headers=_etag(artifact))


def _etag(artifact: Artifact) -> dict[str, str]:
    return {"ETag": f'"{artifact.revision}"'}


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", HOME, create, Need.CREATE, "Create an artifact",
        answer=wire.ArtifactBody, mode="write", is_brief=True, body=wire.CreateArtifactBody, status=201,
    ),
    Endpoint(
        "GET", HOME, find, Need.READ, "List artifacts",
        answer=wire.ArtifactList, query=ArtifactsQuery,
    ),
    Endpoint(
        "GET", f"{PREFIX}/artifact-types", registries, Need.READ, "List the types and formats of artifacts",
        answer=wire.Registries, mode="pure",
    ),
    Endpoint(
        "GET", f"{HOME}/{{artifact_id}}", get, Need.READ, "Show an artifact",
        answer=wire.ArtifactBody, refusals=(404,),
    ),
    Endpoint(
        "DELETE", f"{HOME}/{{artifact_id}}", by_people("artifact deleted", delete), Need.CREATE,
        "Delete an artifact and its files",
        answer=None, mode="write", status=204, refusals=(404, 409),
    ),
    Endpoint(
        "POST", f"{HOME}/{{artifact_id}}/commit", by_people("artifact committed", commit), Need.CREATE,
        "Fix what an artifact holds",
        answer=wire.ArtifactBody, mode="write", body=wire.CommitBody, refusals=(404, 409), has_optional_body=True,
        prepare=examine,
    ),
)  # fmt: skip
