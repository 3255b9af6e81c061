"""Refusals as the contract writes them: one field that holds a sentence, a list of flaws, or facts."""

import msgspec

from cableferry.core.errors import Refusal
from cableferry.dialects.denials import Undecodable
from cableferry.dialects.endpoint import Asking, Headers, Rendered
from cableferry.wire.opeva import bodies

UNPROCESSABLE = 422
STALE_ATTEMPT = "stale_job_attempt"

_ENCODER = msgspec.json.Encoder()


def render(refusal: Refusal, asking: Asking) -> Rendered:
    if isinstance(refusal, Undecodable):
        flaw = bodies.Flaw("value_error", list(refusal.where), refusal.reason)
        return _rendered([flaw], UNPROCESSABLE)
    if refusal.facts.get("code") == STALE_ATTEMPT:
        facts = {name: fact for name, fact in refusal.facts.items() if not isinstance(fact, float)}
        return _rendered({**facts, "message": refusal.detail})
    return _rendered(refusal.detail)


def _rendered(detail: str | list[bodies.Flaw] | dict[str, str | int | None], status: int | None = None) -> Rendered:
    return Rendered(_ENCODER.encode(bodies.Refusal(detail)), b"application/json", status)


def demand_nothing(headers: Headers) -> None:
    """The contract has no headers of its own."""
