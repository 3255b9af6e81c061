"""Every endpoint of every dialect: what it does, who may call it and how it refuses."""

from cableferry import dialects
from cableferry.core import access
from cableferry.core.access import Claimant, Need, Person, Role
from cableferry.core.errors import Forbidden
from cableferry.dialects.endpoint import Dialect, Endpoint
from tools.docs import markdown

PATH = "endpoints.md"

_WORKER = Claimant("worker", "credential")


def text() -> str:
    return markdown.page(
        "Endpoints",
        "Every method and path that the server answers, by dialect.\n"
        "The same is told for programs by `/api/hpc/openapi.json`.",
        "Any endpoint can also refuse with 400 (malformed), 401 (nobody known), 403 (not allowed), 413 (too large),"
        " 429 (too often) and 503 (no database); the column shows what comes besides.\n"
        "What each refusal means stands in [errors.md](errors.md), in which order they are checked in"
        " [http.md](http.md).\n"
        "“Who” names the least role of a user, and whether a worker may call with its credential.\n"
        "Endpoints marked “waits” can be long polls, those marked “writes” take an `Idempotency-Key` when they are"
        " POSTs; [extensions.md](extensions.md) tells how.",
        *(block for module in dialects.ROLL_CALL for block in _dialect(module.DIALECT)),
    )


def _dialect(dialect: Dialect) -> tuple[str, str]:
    rows = [_row(endpoint) for endpoint in dialect.endpoints]
    return f"## {dialect.name}", markdown.table(("request", "does", "who", "answers", "refuses", "remarks"), rows)


def _row(endpoint: Endpoint) -> tuple[str, ...]:
    return (
        markdown.code(f"{endpoint.method} {endpoint.template}"),
        endpoint.summary,
        who(endpoint.need),
        str(endpoint.status),
        ", ".join(map(str, endpoint.refusals)),
        _remarks(endpoint),
    )


def who(need: Need) -> str:
    """The least role that may, and the callers without a role that may too."""
    if need is Need.NOTHING:
        return "anybody"
    role = min(role for role in Role if _may(Person("user", role), need))
    return access.word(role) + (", workers" if _may(_WORKER, need) else "")


def _may(caller: access.Caller, need: Need) -> bool:
    try:
        access.check(caller, need)
    except Forbidden:
        return False
    return True


def _remarks(endpoint: Endpoint) -> str:
    remarks = {
        "writes": endpoint.mode == "write",
        "waits": endpoint.waits is not None,
        "needs no protocol headers": not endpoint.needs_protocol_headers,
        "the body may be empty": endpoint.has_optional_body,
    }
    return ", ".join(remark for remark, is_so in remarks.items() if is_so)
