"""Configurations in the shared folder and in the database: people edit the files, so a file that is there counts."""

import structlog

from cableferry.core.errors import Conflict, Kind, NotFound
from cableferry.dialects.opeva import yamls
from cableferry.dialects.opeva.contract import Contract
from cableferry.store import configs
from cableferry.store import jobs as job_rows
from cableferry.wire.opeva import places
from cableferry.wire.opeva.places import Place

log = structlog.get_logger()


def name(place: Place) -> str:
    """What a configuration is called below its folder."""
    return "/".join(place[1:])


def read(contract: Contract, place: Place) -> str:
    """The text of a configuration, from the folder or else from the database."""
    try:
        content = contract.share.read(place, 0, contract.config_limit_bytes + 1)
    except OSError as error:
        log.warning("shared folder not read", place="/".join(place), reason=str(error))
        content = None
    if content is not None:
        return yamls.text(content, contract.config_limit_bytes)
    known = contract.store.read(lambda tx: configs.get(tx, contract.rules.pool, name(place)))
    if known is None:
        raise NotFound(f"Config file not found: {'/'.join(place)[:200]}", Kind.UNKNOWN_CONFIG)
    return known


def write(contract: Contract, place: Place, text: str) -> None:
    """Put a file there before anybody is told of it; if the folder is in trouble, the database has it."""
    try:
        contract.share.write(place, text.encode())
    except OSError as error:
        log.warning("shared folder not written", place="/".join(place), reason=str(error))


def check_free(contract: Contract, place: Place) -> None:
    """Refuse to write over the configuration that a job was launched with."""
    job = name(place).rpartition(".")[0]
    if places.is_job_id(job) and contract.store.read(lambda tx: job_rows.get(tx, job)) is not None:
        raise Conflict(f"{name(place)} is the configuration of job {job}: save yours under another name", Kind.IN_USE)
