"""Every kind of refusal with its status, when it is met and what to do."""

from cableferry.core.errors import Kind
from cableferry.dialects import denials
from tools.docs import markdown, refusals

PATH = "errors.md"

EXAMPLE = """
{
  "type": "urn:cableferry:problem:already-claimed",
  "title": "Conflict",
  "status": 409,
  "detail": "job 0193… is already claimed by head-1",
  "instance": "urn:request:5f0c…",
  "request_id": "5f0c…",
  "current_state": "CLAIMED",
  "holder": "head-1"
}
"""


def text() -> str:
    return markdown.page(
        "Errors",
        "Every refusal is a problem document (RFC 9457) with the content type `application/problem+json`.\n"
        "The last part of `type` is its kind, one of the table below, and part of the contract.\n"
        "The `detail` is a sentence for a person and may change; programs read the kind and the other fields.\n"
        "A refused request has changed nothing, but its nonce is spent, from [check 10](http.md) on.",
        markdown.block("json", EXAMPLE),
        "`retryable` is there, and true, when the same request can succeed later.",
        markdown.table(("kind", "status", "when", "what to do"), [_row(kind) for kind in Kind]),
    )


def _row(kind: Kind) -> tuple[str, str, str, str]:
    told = refusals.TOLD[kind]
    statuses = ", ".join(f"{status} {denials.phrase(status)}" for status in told.statuses)
    return markdown.code(kind), statuses, told.when, told.remedy
