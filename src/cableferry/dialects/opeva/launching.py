"""Launching a job: its configuration is read, named and laid down before the job is known to anybody."""

import uuid

import msgspec
from msgspec import Raw

from cableferry.core import access
from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.core.jobs import Draft, Preference
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.opeva import contract, kept, yamls
from cableferry.dialects.opeva.contract import Contract
from cableferry.engine import jobs
from cableferry.store import configs
from cableferry.store.tx import Tx
from cableferry.wire.opeva import PROCESSOR, bodies, files, places, words
from cableferry.wire.opeva.files import Launched
from cableferry.wire.opeva.places import Place

_NOTHING = (b"null", b"{}")


class Prepared(msgspec.Struct, frozen=True):
    """A job to be, with the text of its configuration; `saved` is the name that the text gets besides."""

    id: str
    launched: Launched
    text: str
    saved: str | None = None


def prepare(call: Call) -> Prepared:
    """Everything slow about a launch; the random id keeps apart what the first letters of ids name."""
    body: bodies.LaunchBody = call.body
    ours = contract.of(call)
    ours.store.read(lambda tx: contract.check_host(tx, ours, body.target_host or None))
    id_ = str(uuid.uuid4())
    if bytes(body.config) not in _NOTHING:
        return _from_object(ours, id_, body)
    if not body.config_path:
        raise Invalid("Missing config or config_path")
    place = places.named_config(body.config_path)
    text = kept.read(ours, place)
    own = ("jobs", id_, files.CONFIG)
    launched = _launched(yamls.parse(text), place, own)
    kept.write(ours, own, text)
    return Prepared(id_, launched, text)


def launch(tx: Tx, call: Call) -> bodies.LaunchAnswer:
    prepared: Prepared = call.prepared
    rules = contract.of(call).rules
    host = call.body.target_host or None
    draft = Draft(
        PROCESSOR,
        submit_user=access.submit_user(call.caller, None),
        created_by=contract.actor(call),
        parameters=Raw(msgspec.json.encode(prepared.launched)),
        preference=None if host is None else Preference(host, is_pinned=True),
    )
    job = jobs.create(tx, rules, draft, prepared.id)
    configs.keep(tx, job.key, prepared.text)
    if prepared.saved is not None:
        configs.put(tx, rules.pool, prepared.saved, prepared.text)
    return bodies.LaunchAnswer(job.id, words.WORDS[job.state], host, prepared.launched.job_name)


def _from_object(ours: Contract, id_: str, body: bodies.LaunchBody) -> Prepared:
    """A configuration of its own lies under the job's id; one that is saved by name lies there, and with the job."""
    config = yamls.opened(body.config, ours.config_limit_bytes)
    text = yamls.written(config)
    place = places.saved_config(body.save_as or f"{id_}.yaml")
    own = place
    if body.save_as:
        kept.check_free(ours, place)
        own = ("jobs", id_, files.CONFIG)
        kept.write(ours, own, text)
    kept.write(ours, place, text)
    return Prepared(id_, _launched(config, place, own), text, kept.name(place) if body.save_as else None)


def _launched(config: dict[str, yamls.Value], place: Place, own: Place) -> Launched:
    named = yamls.names(config)
    return Launched(
        job_name=files.slug(f"{named.experiment}-{named.run}"),
        config_path="/".join(place),
        experiment_name=named.experiment,
        run_name=named.run,
        own_config="/".join(own),
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", "/run-simulation", launch, Need.CREATE, "Launch a job",
        answer=bodies.LaunchAnswer, mode="write", body=bodies.LaunchBody, refusals=(404, 409, 422),
        needs_protocol_headers=False, prepare=prepare,
    ),
)  # fmt: skip
