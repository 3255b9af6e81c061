"""The schemas of parameters that workers publish: what they must be to be kept and shown."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, Raw, UnsetType

from cableferry.core.errors import Invalid
from cableferry.wire.emx2 import inputs

LONGEST = 32768
# of all that a worker offers together: each claim reads what its worker offers
LONGEST_SUM = 8 * LONGEST


def check_sum(published: Iterable[Raw | UnsetType]) -> None:
    """Refuse more than is worth reading again and again."""
    size = sum(len(bytes(raw)) for raw in published if isinstance(raw, Raw))
    if size > LONGEST_SUM:
        raise Invalid(f"the schemas of parameters have {size} bytes together: publish at most {LONGEST_SUM}")


def checked(raw: Raw | UnsetType, processor: str) -> Raw | UnsetType:
    """A JSON object of a bearable size, or nothing; what is in it is for whoever draws a form."""
    if raw is UNSET or bytes(raw) == b"null":
        return UNSET
    text = bytes(raw)
    field = f"the parameters_schema of processor {processor}"
    if len(text) > LONGEST:
        raise Invalid(f"{field} has {len(text)} bytes: publish one of at most {LONGEST}")
    value = inputs.decode(text, field)
    if not isinstance(value, dict):
        raise Invalid(f"{field} must be an object, as JSON schemas with properties are")
    inputs.check_depth(value, field)
    return msgspec.Raw(text)
