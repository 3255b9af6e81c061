"""Reads the fields that are wanted out of a struct in Thrift's compact protocol."""

from collections.abc import Mapping
from typing import Final, TypeAlias

Value: TypeAlias = "bool | int | bytes | list[Value] | Fields"
Fields: TypeAlias = "dict[str, Value]"

# the numbers of the fields to keep, what to call each, and what to keep of it if it is a struct or a list of them
Wanted: TypeAlias = "Mapping[int, tuple[str, Wanted]]"

DEEPEST = 32
MOST_KEPT = 500_000

_TRUE: Final = 1
_FALSE: Final = 2
_BYTE: Final = 3
_I16: Final = 4
_I64: Final = 6
_BINARY: Final = 8
_LIST: Final = 9
_SET: Final = 10
_MAP: Final = 11
_STRUCT: Final = 12
# a truth is a byte in a list, and no byte at all in a struct, where the type says it
_WIDTHS: Final = {_TRUE: 1, _FALSE: 1, _BYTE: 1, 7: 8, 13: 16}
_LONGEST_NUMBER: Final = 10  # bytes of 7 bits each


class ThriftError(Exception):
    """The bytes are no such struct, or hold more than anybody means."""


def read(data: bytes, wanted: Wanted) -> Fields:
    """The wanted fields of the struct that the data begins with; all others are only walked over."""
    try:
        return _Reader(data).fields(wanted, DEEPEST)
    except IndexError:
        raise ThriftError("it ends too early") from None


class _Reader:
    """A place in the data, and how many values were kept on the way to it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._kept = 0

    def fields(self, wanted: Wanted, depth: int) -> Fields:
        found: Fields = {}
        number = 0
        while head := self._data[self._at]:
            self._at += 1
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._signed()
            if number in wanted:
                name, inner = wanted[number]
                found[name] = kind == _TRUE if kind <= _FALSE else self._value(kind, inner, depth)
            elif kind > _FALSE:
                self._at = _after(self._data, self._at, kind, depth)
        self._at += 1
        return found

    def _value(self, kind: int, wanted: Wanted, depth: int) -> Value:
        self._kept += 1
        if self._kept > MOST_KEPT:
            raise ThriftError(f"it holds more than {MOST_KEPT} values")
        if _I16 <= kind <= _I64:
            return self._signed()
        if kind == _BINARY:
            return self._bytes()
        if kind == _STRUCT:
            return self.fields(wanted, _deeper(depth))
        if kind in (_LIST, _SET):
            return self._list(wanted, _deeper(depth))
        if kind == _BYTE:
            self._at += 1
            return int.from_bytes(self._data[self._at - 1 : self._at], signed=True)
        raise ThriftError(f"it holds a value of the kind {kind} where none is expected")

    def _list(self, wanted: Wanted, depth: int) -> list[Value]:
        size, kind, self._at = _list_head(self._data, self._at)
        return [self._value(kind, wanted, depth) for _ in range(size)]

    def _bytes(self) -> bytes:
        size, start = _number(self._data, self._at)
        self._at = start + size
        if self._at > len(self._data):
            raise IndexError
        return self._data[start : self._at]

    def _signed(self) -> int:
        value, self._at = _number(self._data, self._at)
        return (value >> 1) ^ -(value & 1)


def _deeper(depth: int) -> int:
    if depth == 0:
        raise ThriftError(f"it is nested deeper than {DEEPEST} levels")
    return depth - 1


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_NUMBER):
        byte = data[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128 and value < 2**64:
            return value, at + place + 1
    raise ThriftError("a number in it has more than 64 bits")


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    head = data[at]
    size, start = (head >> 4, at + 1) if head < 0xF0 else _number(data, at + 1)
    if size > len(data) - start:
        raise ThriftError("a list in it is longer than the whole")
    return size, head & 15, start


def _after(data: bytes, at: int, kind: int, depth: int) -> int:
    """Where a value ends; most of a footer is only walked over, so this is written for speed."""
    if _I16 <= kind <= _I64:
        return _after_number(data, at)
    if kind == _BINARY:
        size, start = _number(data, at)
        return start + size
    if kind == _STRUCT:
        return _after_fields(data, at, _deeper(depth))
    if kind in (_LIST, _SET):
        return _after_list(data, at, _deeper(depth))
    if kind == _MAP:
        return _after_map(data, at, _deeper(depth))
    return at + _width(kind)


def _after_number(data: bytes, at: int) -> int:
    while data[at] > 127:
        at += 1
    return at + 1


def _after_fields(data: bytes, at: int, depth: int) -> int:
    while head := data[at]:
        at += 1
        kind = head & 15
        if head < 16:
            at = _after_number(data, at)
        if _I16 <= kind <= _I64:
            while data[at] > 127:
                at += 1
            at += 1
        elif kind > _FALSE:
            at = _after(data, at, kind, depth)
    return at + 1


def _after_list(data: bytes, at: int, depth: int) -> int:
    size, kind, at = _list_head(data, at)
    if kind in _WIDTHS:
        return at + size * _WIDTHS[kind]
    if kind == _BINARY:
        return _after_texts(data, at, size)
    if kind in (_LIST, _SET, _MAP):
        raise ThriftError("a list in it holds lists")  # nothing of Parquet does, and walking over many is slow
    for _ in range(size):
        at = _after(data, at, kind, depth)
    return at


def _after_texts(data: bytes, at: int, count: int) -> int:
    for _ in range(count):
        size = data[at]
        if size > 127:
            size, at = _number(data, at)
            at += size
        else:
            at += size + 1
    return at


def _after_map(data: bytes, at: int, depth: int) -> int:
    size, at = _number(data, at)
    if size > len(data) - at:
        raise ThriftError("a map in it is longer than the whole")
    if size:
        kinds, at = data[at], at + 1
        for _ in range(size):
            at = _after(data, _after(data, at, kinds >> 4, depth), kinds & 15, depth)
    return at


def _width(kind: int) -> int:
    if kind not in _WIDTHS:
        raise ThriftError(f"it holds a value of an unknown kind, {kind}")
    return _WIDTHS[kind]
