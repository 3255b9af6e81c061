"""A refusal as an error of GraphQL."""

import msgspec

from cableferry.core.errors import Refusal
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Asking, Rendered
from cableferry.wire.graphql import JSON, AnswerBody, ErrorBody

_ENCODER = msgspec.json.Encoder()


def render(refusal: Refusal, asking: Asking) -> Rendered:
    """The refusal of a whole request."""
    body = AnswerBody(errors=[ErrorBody(refusal.detail, extensions=told(refusal))])
    return Rendered(_ENCODER.encode(body), JSON.encode())


def told(refusal: Refusal) -> dict[str, object]:
    """What a program can tell a refusal by, the same as in a problem document."""
    return {"kind": refusal.kind.value, "status": int(denials.status_of(refusal))}
