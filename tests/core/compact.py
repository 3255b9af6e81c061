"""Writes Thrift's compact protocol, as a second opinion and to write what no real writer would."""

from collections.abc import Mapping, Sequence
from typing import Any


class Byte(int):
    """A number that takes one byte."""


def struct(fields: Mapping[int, Any]) -> bytes:
    """Fields in the order in which they are given, so that numbers may also go back."""
    written = b""
    last = 0
    for number, value in fields.items():
        code = _kind(value) if not isinstance(value, bool) else 2 - value
        short = 0 < number - last < 16
        head = bytes([(number - last) << 4 | code]) if short else bytes([code]) + varint(zigzag(number))
        written += head + (b"" if isinstance(value, bool) else _bytes(value))
        last = number
    return written + b"\0"


def varint(number: int) -> bytes:
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def zigzag(number: int) -> int:
    return number * 2 if number >= 0 else -number * 2 - 1


def _kind(value: Any) -> int:
    match value:
        case bool():
            return 1
        case Byte():
            return 3
        case int():
            return 6
        case float():
            return 7
        case bytes() | str():
            return 8
        case set():
            return 10
        case Sequence():
            return 9
        case {"map": _}:
            return 11
        case Mapping():
            return 12
    raise TypeError(value)


def _bytes(value: Any) -> bytes:
    match value:
        case bool():
            return bytes([2 - value])
        case Byte():
            return value.to_bytes(1, signed=True)
        case int():
            return varint(zigzag(value))
        case float():
            return bytes(8)
        case bytes():
            return varint(len(value)) + value
        case str():
            return _bytes(value.encode())
        case Sequence() | set():
            return _list(list(value))
        case {"map": pairs}:
            return _map(pairs)
        case _:
            return struct(value)


def _list(values: list[Any]) -> bytes:
    kind = _kind(values[0]) if values else 12
    head = bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xF0 | kind]) + varint(len(values))
    return head + b"".join(map(_bytes, values))


def _map(pairs: Mapping[Any, Any]) -> bytes:
    if not pairs:
        return b"\0"
    key, value = next(iter(pairs.items()))
    kinds = bytes([_kind(key) << 4 | _kind(value)])
    return varint(len(pairs)) + kinds + b"".join(_bytes(key) + _bytes(value) for key, value in pairs.items())
