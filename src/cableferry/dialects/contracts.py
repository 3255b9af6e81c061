"""Which contract's jobs somebody looks at who may look at those of all."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from msgspec import Meta

from cableferry.core.errors import Invalid
from cableferry.wire import texts

V = TypeVar("V")

Name = Annotated[str, Meta(max_length=64, pattern=texts.NO_NUL)]


def chosen(served: Mapping[str, V], name: str | None) -> V:
    """What belongs to the contract of this name, or else to the first."""
    wanted = next(iter(served)) if name is None else name
    if wanted not in served:
        raise Invalid(f"no contract {wanted!r} is served here: use one of {', '.join(served)}")
    return served[wanted]
