"""From settings to the store of bytes, and to what may be looked at elsewhere."""

from collections.abc import Iterator
from pathlib import Path

from cableferry.engine.outside import Looking
from cableferry.engine.reading import Depot
from cableferry.server import vault
from cableferry.server.settings import ArtifactsSection, S3Section, Secret, Settings
from cableferry.store.blobs import Blobs, opening
from cableferry.store.elsewhere.buckets import Buckets
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.posix import PosixFiles
from cableferry.store.elsewhere.web import WebFiles
from cableferry.store.tx import Store


def depot(settings: Settings, store: Store, blobs: Blobs) -> Depot:
    section = settings.artifacts
    roots = tuple(str(root) for root in section.posix_roots)
    looking = Looking(elsewhere(settings), section.hash_limit_bytes)
    return Depot(store, blobs, roots, looking, section.schema_limit_bytes)


def open_blobs(settings: Settings) -> Blobs:
    section = settings.artifacts
    where = section.store or settings.database.data_dir / "blobs"
    return opening.open_blobs(where, dict(_keys(section)), section.part_bytes)


def elsewhere(settings: Settings) -> Elsewhere:
    section = settings.artifacts
    web = WebFiles(section.web_hosts)
    buckets = Buckets({name: dict(_s3(bucket)) for name, bucket in section.buckets.items()})
    return Elsewhere({"file": PosixFiles(section.posix_roots), "s3": buckets, "http": web, "https": web})


def _keys(section: ArtifactsSection) -> Iterator[tuple[str, str]]:
    """What the kind of store that the url names wants to know."""
    match (section.store or "").partition("://")[0]:
        case "s3":
            yield from _s3(section.s3)
        case "gs" if section.google_key_file is not None:
            yield "service_account", str(section.google_key_file)
        case "az":
            yield from _named("account_name", section.azure.account_name)
            key = _secret(section.azure.account_key, section.azure.account_key_file)
            yield from _named("account_key", key)


def _s3(section: S3Section) -> Iterator[tuple[str, str]]:
    yield "region", section.region
    yield from _named("endpoint", section.endpoint)
    yield from _named("access_key_id", section.access_key_id)
    yield from _named("secret_access_key", _secret(section.secret_access_key, section.secret_access_key_file))
    if section.unsigned:
        yield "skip_signature", "true"


def _named(name: str, value: str | None) -> Iterator[tuple[str, str]]:
    if value is not None:
        yield name, value


def _secret(given: Secret | None, file: Path | None) -> str | None:
    if given is not None:
        return given.reveal()
    return None if file is None else vault.secret_from(file, "storage key")
