"""Settings from a TOML file, the environment and flags, each value with where it came from."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from cableferry.server import described
from cableferry.server.settings import Secret, Settings

PREFIX = "CABLEFERRY_"
OTHERS = ("CONFIG", "CLIENT_CONFIG", "SERVER", "TOKEN", "WORKER_SECRET", "FAILPOINTS")
"""Variables that are no settings of the server: they name its file, or belong to clients and workers."""
ALIASES = {
    "MOLGENIS_HPC_SHARED_SECRET": "auth.shared_secret",
    "MOLGENIS_HPC_CREDENTIALS_KEY": "auth.credentials_key",
    "VM_SHARED_DATA": "opeva.shared_data",
    "AVAILABLE_HOSTS": "opeva.available_hosts",
    "QUEUE_CLAIM_TTL": "opeva.queue_claim_ttl",
    "HOST_HEARTBEAT_TTL": "opeva.host_heartbeat_ttl",
    "WORKER_STALE_GRACE_SECONDS": "opeva.worker_stale_grace_seconds",
    "JOB_STATUS_TTL": "opeva.job_status_ttl",
}

# what Kubernetes gives every program that runs beside a service of our name
_LINK = re.compile(rf"{PREFIX}\w*?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))(_\w+)?")

Value = object
Flat = dict[str, tuple[Value, str]]


class SettingsError(Exception):
    """A setting that cannot be used, told so that it can be mended."""


class Loaded(NamedTuple):
    """The settings, and for each key that is not a default where its value came from."""

    settings: Settings
    sources: Mapping[str, str]


def load(file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Value]) -> Loaded:
    """Defaults, then the file, then the environment, then flags such as `{"server.port": 1}`."""
    path = file or _named_file(environment)
    values: Flat = {}
    if path is not None:
        values.update(_from_file(path))
    values.update(_from_environment(environment))
    values.update({key: (value, "flag") for key, value in flags.items() if value is not None})
    for key, (_, source) in values.items():
        _check_known(key, source)
    _check_pairs(values)
    return Loaded(_convert(values), {key: source for key, (_, source) in values.items()})


def from_process(file: Path | None = None, flags: Mapping[str, Value] | None = None) -> Loaded:
    return load(file, os.environ, flags or {})


def _named_file(environment: Mapping[str, str]) -> Path | None:
    name = environment.get(f"{PREFIX}CONFIG")
    return Path(name) if name else None


def _from_file(path: Path) -> Flat:
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    return {key: (value, str(path)) for key, value in _flatten(document, Settings, "")}


def _flatten(table: Mapping[str, Value], section: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, Value]]:
    """Dotted keys down to each setting; what a setting holds stays whole."""
    kinds = get_type_hints(section)
    for name, value in table.items():
        kind = kinds.get(name)
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _flatten(value, kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _from_environment(environment: Mapping[str, str]) -> Flat:
    values: Flat = {}
    for name, key in ALIASES.items():
        if text := environment.get(name):
            values[key] = (_parsed(text, key), name)
    for name, text in environment.items():
        if name.startswith(PREFIX) and "__" in name:
            key = name.removeprefix(PREFIX).lower().replace("__", ".")
            values[key] = (_parsed(text, key), name)
        elif name.startswith(PREFIX) and name.removeprefix(PREFIX) not in OTHERS and not _is_link(name, text):
            variables = [each.variable for each in described.settings()]
            raise SettingsError(f"unknown variable {name}{_hint(name, variables)}")
    return values


def _is_link(name: str, text: str) -> bool:
    return _LINK.fullmatch(name) is not None or text.startswith(("tcp://", "udp://"))


def _parsed(text: str, key: str) -> Value:
    """Lists and tables are written as JSON, lists also with commas; everything else is taken as it stands."""
    if text[:1] not in ("[", "{"):
        is_list = key in {each.key for each in described.settings() if each.type == "list of text"}
        return [part.strip() for part in text.split(",") if part.strip()] if is_list else text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _check_known(key: str, source: str) -> None:
    known = list(_keys(Settings, ""))
    if key not in known:
        raise SettingsError(f"unknown setting {key} in {source}{_hint(key, known)}")


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f": did you mean {near[0]}?" if near else ""


def _keys(section: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for name, kind in get_type_hints(section).items():
        if _is_section(kind):
            yield from _keys(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _check_pairs(values: Flat) -> None:
    """A secret stands in one place."""
    for key in values:
        if f"{key}_file" in values:
            raise SettingsError(f"{key} and {key}_file are both set: keep one")


def _convert(values: Flat) -> Settings:
    nested: dict[str, Value] = {}
    for key, (value, source) in values.items():
        _check_value(key, value, source)
        *path, name = key.split(".")
        table = nested
        for part in path:
            table = table.setdefault(part, {})  # type: ignore[assignment]  # only tables stand on the way
        table[name] = value
    return msgspec.convert(nested, Settings, strict=False, dec_hook=_decode)


def _check_value(key: str, value: Value, source: str) -> None:
    """Refuse one bad value with its key and where it stands; a secret is not repeated."""
    *path, name = key.split(".")
    section: type[msgspec.Struct] = Settings
    for part in path:
        section = get_type_hints(section)[part]
    _check_inner(key, value, get_type_hints(section)[name], source)
    kind = get_type_hints(section, include_extras=True)[name]
    try:
        msgspec.convert(value, kind, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        takes = next(each.type for each in described.settings() if each.key == key)
        raise SettingsError(f"{key} in {source} is wrong: it takes {takes} ({error})") from None


def _check_inner(key: str, value: Value, kind: object, source: str) -> None:
    """The keys of tables that are named by the operator, such as those of one processor."""
    inner = get_args(kind)[1] if get_origin(kind) is dict else None
    if not isinstance(value, dict) or not _is_section(inner):
        return
    known = list(get_type_hints(inner))
    for name, table in value.items():
        unknown = [each for each in table if each not in known] if isinstance(table, dict) else []
        if unknown:
            raise SettingsError(f"unknown setting {key}.{name}.{unknown[0]} in {source}{_hint(unknown[0], known)}")


def _decode(kind: type, value: Value) -> Value:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value).expanduser()
    raise TypeError(f"expected text, got {type(value).__name__}")
