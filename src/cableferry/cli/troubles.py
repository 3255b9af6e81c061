"""Which exit code each known trouble ends with."""

import msgspec

from cableferry.cli.exits import Exit, Failure
from cableferry.client import errors
from cableferry.core.errors import Conflict, Forbidden, Invalid, NotFound, Refusal

_HOW_TO_SIGN_IN = (
    "\nGive this command an API token by --token-file or CABLEFERRY_TOKEN; `cableferry tokens create` makes one."
)
KNOWN = (errors.Trouble, Refusal)

_CODES: tuple[tuple[type[Exception], Exit], ...] = (
    (errors.NotFound, Exit.NOT_FOUND),
    (errors.Conflict, Exit.CONFLICT),
    (errors.Unauthenticated, Exit.UNAUTHENTICATED),
    (errors.Forbidden, Exit.REFUSED),
    (errors.Invalid, Exit.REFUSED),
    (errors.TooMany, Exit.REFUSED),
    (errors.Unreachable, Exit.UNREACHABLE),
    (NotFound, Exit.NOT_FOUND),
    (Conflict, Exit.CONFLICT),
    (Invalid, Exit.REFUSED),
    (Forbidden, Exit.REFUSED),
)


def failure(error: errors.Trouble | Refusal) -> Failure:
    if isinstance(error, errors.Failed) and error.problem.status in (502, 503, 504):
        code = Exit.UNREACHABLE
    else:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), Exit.OTHER)
    hint = _HOW_TO_SIGN_IN if isinstance(error, errors.Unauthenticated) else ""
    return Failure(str(error) + hint, code, _problem(error))


def _problem(error: errors.Trouble | Refusal) -> dict[str, object]:
    if isinstance(error, Refusal):
        return {
            "type": f"urn:cableferry:problem:{error.kind}",
            "title": type(error).__name__,
            "detail": error.detail,
            **{name: value for name, value in error.facts.items() if value is not None},
        }
    document: dict[str, object] = msgspec.to_builtins(error.problem)
    return document
