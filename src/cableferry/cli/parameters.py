"""A job's parameters and inputs, from the command line to JSON."""

from typing import IO

import msgspec

from cableferry.cli.commands import usage


def gathered(file: IO[bytes] | None, pairs: tuple[str, ...]) -> msgspec.Raw:
    """The file's object with the pairs on top; nothing given is null."""
    values = {} if file is None else _object(file.read())
    values |= dict(_pair(pair) for pair in pairs)
    if file is None and not pairs:
        return msgspec.Raw(b"null")
    return msgspec.Raw(msgspec.json.encode(values))


def inputs(ids: tuple[str, ...]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(list(ids) or None))


def _object(content: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(content, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise usage(f"the parameters file is not a JSON object: {error}") from error


def _pair(pair: str) -> tuple[str, object]:
    """`n=3` is a number, `n="3"` and `n=three` are text."""
    name, equals, value = pair.partition("=")
    if not name or not equals:
        raise usage(f"--param {pair!r} is not NAME=VALUE")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return name, value
