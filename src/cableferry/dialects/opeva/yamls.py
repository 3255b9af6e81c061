"""Configurations as text: read without trusting them, and written as people write them."""

import base64
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

import msgspec
import yaml

from cableferry.dialects.denials import Undecodable

DEEPEST = 64
MOST_NODES = 200_000
Value = object

# without the C library the same is done more slowly
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Names(NamedTuple):
    """What a configuration calls its experiment and this run of it."""

    experiment: str
    run: str


def text(content: bytes, most_bytes: int) -> str:
    """The text of a configuration that is not too large to be one."""
    if len(content) > most_bytes:
        raise _flawed(f"the configuration is larger than the {most_bytes} bytes that this server takes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _flawed("Invalid YAML: the text is not UTF-8") from None


def parse(written: str) -> dict[str, Value]:
    """A configuration as JSON could hold it; one that would grow beyond all bounds is refused before it does."""
    try:
        _measure(yaml.parse(written, Loader=_LOADER))
        value = _plain(yaml.load(written, Loader=_LOADER))  # noqa: S506  # a safe loader, or its C twin
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise _flawed(f"Invalid YAML: {str(error)[:300]}") from None
    if not isinstance(value, dict):
        raise _flawed("the configuration must be a mapping")
    return value


def opened(raw: msgspec.Raw, most_bytes: int) -> dict[str, Value]:
    """A configuration that came as JSON."""
    if len(bytes(raw)) > most_bytes:
        raise _flawed(f"the configuration is larger than the {most_bytes} bytes that this server takes")
    value = msgspec.json.decode(raw)
    if not isinstance(value, dict):
        raise Undecodable("the configuration must be an object", ("body", "config"), "Input should be an object")
    _check_depth(value)
    return value


def written(config: dict[str, Value]) -> str:
    return str(yaml.dump(config, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))


def names(config: dict[str, Value]) -> Names:
    """What the metadata says comes first, then the experiment; whatever is no name is as if it were not there."""
    metadata, experiment = config.get("metadata"), config.get("experiment")
    return Names(
        _name(metadata, "experiment_name") or _name(experiment, "name") or "UnnamedExperiment",
        _name(metadata, "run_name") or _name(experiment, "run_name") or "UnnamedRun",
    )


def _name(within: Value, field: str) -> str | None:
    value = within.get(field) if isinstance(within, dict) else None
    is_name = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value)[:200].replace("\0", "") or None if is_name else None


def _measure(events: Iterator[yaml.Event]) -> None:
    """Count what the text stands for, each alias as large as what it repeats, without building any of it."""
    sizes: dict[str, int] = {}
    open_sizes = [0]
    anchors: list[str | None] = []
    for event in events:
        match event:
            case yaml.AliasEvent(anchor=anchor):
                if anchor not in sizes:
                    raise ValueError(f"the alias {str(anchor)[:40]} stands for itself or for nothing")
                open_sizes[-1] += sizes[anchor]
            case yaml.ScalarEvent(anchor=anchor):
                open_sizes[-1] += 1
                sizes |= {anchor: 1} if anchor else {}
            case yaml.MappingStartEvent(anchor=anchor) | yaml.SequenceStartEvent(anchor=anchor):
                open_sizes.append(1)
                anchors.append(anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                size, anchor = open_sizes.pop(), anchors.pop()
                open_sizes[-1] += size
                sizes |= {anchor: size} if anchor else {}
        if open_sizes[-1] > MOST_NODES or len(open_sizes) > DEEPEST:
            raise ValueError(f"it holds more than {MOST_NODES} values or is nested deeper than {DEEPEST} levels")


def _plain(value: Value) -> Value:
    match value:
        case dict():
            return {str(name): _plain(held) for name, held in value.items()}
        case list() | tuple() | set():
            return [_plain(held) for held in value]
        case bytes():
            return base64.b64encode(value).decode()
        case date():
            return value.isoformat()
        case int() if abs(value) >= 2**63:
            return str(value)
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case _:
            return value


def _check_depth(value: Value) -> None:
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise _flawed(f"the configuration is nested deeper than {DEEPEST} levels")
        level = [held for each in level for held in _held(each)]
        depth += 1


def _held(value: Value) -> list[Value]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case _:
            return []


def _flawed(detail: str) -> Undecodable:
    return Undecodable(detail, ("body", "config"), detail)
