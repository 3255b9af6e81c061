"""The free parts of a job, parameters and inputs: what shapes they may have, and what is stored of them."""

import msgspec
from msgspec import Raw

from cableferry.core.errors import Invalid

DEEPEST = 64
LONGEST_REFERENCE = 4096

NULL = Raw(b"null")
_DECODER = msgspec.json.Decoder()

Value = object


def parameters(raw: Raw) -> Raw:
    """An object or null; an object inside a JSON string is taken out of it."""
    value, kept = _opened(raw, "parameters")
    if value is not None and not isinstance(value, dict):
        raise Invalid(f"parameters must be an object or null, not {_word(value)}")
    return kept


def inputs(raw: Raw) -> Raw:
    """A list of references, an object of named ones, or null; also inside a JSON string."""
    value, kept = _opened(raw, "inputs")
    match value:
        case None:
            return kept
        case list():
            _check_list(value, "inputs")
        case dict():
            for name, reference in value.items():
                _check_named(reference, f"inputs.{name[:40]}")
        case _:
            raise Invalid(
                f"inputs must be a list of references, an object of named references or null, not {_word(value)}"
            )
    return kept


def _opened(raw: Raw, field: str) -> tuple[Value, Raw]:
    """The whole value, decoded, and its text; a string is opened once."""
    if bytes(raw) in (b"", b"null"):
        return None, NULL
    value, kept = decode(bytes(raw), field), raw
    if isinstance(value, str):
        text = value.encode()
        value, kept = decode(text, field), Raw(text.strip())
    check_depth(value, field)
    return value, kept


def decode(text: bytes, field: str) -> Value:
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Invalid(f"{field} is not valid JSON: {_why(error)}") from None


def _why(error: Exception) -> str:
    match error:
        case RecursionError():
            return f"nested deeper than {DEEPEST} levels"
        case UnicodeError():
            return "the text is not UTF-8"
        case _:
            return str(error)


def check_depth(value: Value, field: str) -> None:
    """Refuse what a careful reader on the other side would choke on."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return
    raise Invalid(f"{field} is nested deeper than {DEEPEST} levels")


def _children(value: Value) -> list[Value]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case _:
            return []


def _check_list(values: list[Value], field: str) -> None:
    for position, reference in enumerate(values):
        _check_reference(reference, f"{field}[{position}]")


def _check_named(reference: Value, field: str) -> None:
    if isinstance(reference, list):
        _check_list(reference, field)
    else:
        _check_reference(reference, field)


def _check_reference(reference: Value, field: str) -> None:
    match reference:
        case str() if 0 < len(reference) <= LONGEST_REFERENCE and "\0" not in reference:
            return
        case dict():
            return
        case str():
            raise Invalid(f"{field} must hold 1 to {LONGEST_REFERENCE} characters, none of them NUL")
        case _:
            raise Invalid(f"{field} must be an artifact id or an object, not {_word(reference)}")


def _word(value: Value) -> str:
    """What JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
