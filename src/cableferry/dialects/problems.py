"""A refusal as an RFC 9457 problem document, for every contract of ours that answers with one."""

from collections.abc import Mapping

import msgspec

from cableferry.core.errors import Kind, Refusal
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Asking, Rendered

_RETRYABLE = frozenset(
    {Kind.CHANGED_MEANWHILE, Kind.TOO_MANY, Kind.UNAVAILABLE, Kind.CLOCK_SKEW, Kind.STORAGE_FULL, Kind.UPLOAD_BUSY}
)
# clients of the EMX2 protocol tell these by their titles
_TITLES = {Kind.HASH_MISMATCH: "Hash Mismatch"}
# resumable uploads over HTTP have named theirs
_TYPES = {
    kind: f"https://iana.org/assignments/http-problem-types#{kind}"
    for kind in (Kind.MISMATCHING_OFFSET, Kind.COMPLETED_UPLOAD, Kind.INCONSISTENT_LENGTH)
}
_ENCODER = msgspec.json.Encoder()


def render(refusal: Refusal, asking: Asking, words: Mapping[object, str] | None = None) -> Rendered:
    """`words` spell the state that the refusal names."""
    status = denials.status_of(refusal)
    document: dict[str, object] = {
        "type": _TYPES.get(refusal.kind, f"urn:cableferry:problem:{refusal.kind}"),
        "title": _TITLES.get(refusal.kind, denials.phrase(status)),
        "status": int(status),
        "detail": refusal.detail,
    }
    if asking.request_id is not None:
        document |= {"instance": f"urn:request:{asking.request_id}", "request_id": asking.request_id}
    if refusal.kind in _RETRYABLE:
        document["retryable"] = True
    document |= {name: fact for name, fact in refusal.facts.items() if fact is not None}
    state = document.get("current_state")
    if words is not None and state is not None:
        document["current_state"] = words.get(state, state)
    offset = refusal.facts.get("expected-offset")
    headers = {} if offset is None else {"Upload-Offset": str(offset)}
    return Rendered(_ENCODER.encode(document), b"application/problem+json", headers=headers)
