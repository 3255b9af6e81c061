"""Experiment configurations: saved under names, listed, read, replaced and deleted."""

import msgspec

from cableferry.core.access import Need
from cableferry.core.errors import Invalid, Kind, NotFound
from cableferry.dialects.denials import Unavailable
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.opeva import contract, kept, yamls
from cableferry.dialects.opeva.contract import Contract
from cableferry.store import configs
from cableferry.store.tx import Tx
from cableferry.wire.opeva import bodies, places
from cableferry.wire.opeva.places import Place


class Written(msgspec.Struct, frozen=True):
    """A configuration that lies in the shared folder, or will."""

    name: str
    text: str


def prepare_new(call: Call) -> Written:
    ours = contract.of(call)
    return _laid_down(ours, places.saved_config(call.body.file_name), call.body)


def create(tx: Tx, call: Call) -> bodies.Saved:
    return _saved(tx, call, "Config saved")


def prepare_next(call: Call) -> Written:
    """Only what is there is replaced."""
    ours, place = contract.of(call), places.saved_config(call.path["file_name"])
    kept.read(ours, place)
    return _laid_down(ours, place, call.body)


def replace(tx: Tx, call: Call) -> bodies.Saved:
    return _saved(tx, call, "Config updated")


def list_files(call: Call) -> list[str]:
    """The files of the folder; without the folder, what the database knows."""
    try:
        found = contract.of(call).share.names((places.CONFIGS,))
    except OSError:
        return []
    return [each.name for each in found if places.is_config(each.name)]


def find(tx: Tx, call: Call) -> list[str]:
    known = configs.names(tx, contract.of(call).rules.pool)
    return sorted({*call.prepared, *known})


def read(call: Call) -> dict[str, yamls.Value]:
    return yamls.parse(kept.read(contract.of(call), places.saved_config(call.path["file_name"])))


def get(tx: Tx, call: Call) -> object:
    return call.prepared


def remove(call: Call) -> bool:
    """Whether there was a file; a folder in trouble keeps its file, so nothing is deleted then."""
    ours, place = contract.of(call), places.saved_config(call.path["file_name"])
    kept.check_free(ours, place)
    try:
        return ours.share.remove(place)
    except OSError as error:
        raise Unavailable(f"the shared folder is in trouble: {error.strerror}") from None


def delete(tx: Tx, call: Call) -> bodies.Message:
    name = kept.name(places.saved_config(call.path["file_name"]))
    was_known = configs.delete(tx, contract.of(call).rules.pool, name)
    if not was_known and not call.prepared:
        raise NotFound(f"Config file not found: {name}", Kind.UNKNOWN_CONFIG)
    return bodies.Message("Config deleted")


def _laid_down(ours: Contract, place: Place, body: bodies.ConfigBody | bodies.ConfigContent) -> Written:
    kept.check_free(ours, place)
    text = _text(ours, body)
    kept.write(ours, place, text)
    return Written(kept.name(place), text)


def _text(ours: Contract, body: bodies.ConfigBody | bodies.ConfigContent) -> str:
    """What is to stand in the file: a text as it is, if it can be read, or an object as YAML."""
    if body.yaml_content is not None:
        text = yamls.text(body.yaml_content.encode(), ours.config_limit_bytes)
        yamls.parse(text)
        return text
    if bytes(body.config) == b"null":
        raise Invalid("Missing config or yaml_content")
    return yamls.written(yamls.opened(body.config, ours.config_limit_bytes))


def _saved(tx: Tx, call: Call, message: str) -> bodies.Saved:
    written: Written = call.prepared
    configs.put(tx, contract.of(call).rules.pool, written.name, written.text)
    return bodies.Saved(message, written.name)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", "/experiment-config/create", create, Need.CREATE, "Save a configuration under a name",
        answer=bodies.Saved, mode="write", body=bodies.ConfigBody, refusals=(409, 422),
        needs_protocol_headers=False, prepare=prepare_new,
    ),
    Endpoint(
        "GET", "/experiment-configs", find, Need.READ, "List configurations",
        answer=list[str], needs_protocol_headers=False, prepare=list_files,
    ),
    Endpoint(
        "GET", "/experiment-config/{file_name}", get, Need.READ, "Show a configuration",
        answer=dict, refusals=(404, 422), needs_protocol_headers=False, prepare=read,
    ),
    Endpoint(
        "PUT", "/experiment-config/{file_name}", replace, Need.CREATE, "Replace a configuration",
        answer=bodies.Saved, mode="write", body=bodies.ConfigContent, refusals=(404, 409, 422),
        needs_protocol_headers=False, prepare=prepare_next,
    ),
    Endpoint(
        "DELETE", "/experiment-config/{file_name}", delete, Need.CREATE, "Delete a configuration",
        answer=bodies.Message, mode="write", refusals=(404, 409), needs_protocol_headers=False, prepare=remove,
    ),
)  # fmt: skip
