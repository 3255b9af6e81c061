"""What can go wrong with a call, for a program that wants to tell the cases apart.

Trouble
├── Unreachable         nobody answered, however patiently we asked
├── BadAnswer           somebody answered, but not in this protocol
└── Refused             the server said no, and why
    ├── Invalid         400, 413, 422 and other faults of the request
    ├── Unauthenticated 401
    ├── Forbidden       403
    ├── NotFound        404
    ├── Conflict        409
    ├── TooMany         429
    └── Failed          5xx
"""

import re
from typing import ClassVar

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The problem document of a refusal, as much of it as the server sent."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    instance: str | None = None
    request_id: str | None = None
    retryable: bool | None = None
    current_state: str | None = None
    holder: str | None = None
    epoch: int | None = None
    last_seen_at: str | None = None
    takeover_at: str | None = None
    server_time: str | None = None
    skew_seconds: float | None = None
    offset: int | None = None

    @property
    def kind(self) -> str:
        """The last part of the type: `stale-lease`."""
        return re.split("[:#]", self.type)[-1]


class Trouble(Exception):
    """Any call that did not do what it was asked."""

    word: ClassVar[str] = "trouble"

    @property
    def problem(self) -> Problem:
        return Problem(f"urn:cableferry:problem:{self.word}", self.word.capitalize(), 0, str(self))


class Unreachable(Trouble):
    word = "unreachable"


class BadAnswer(Trouble):
    word = "bad-answer"


class Refused(Trouble):
    """The server's no."""

    word = "refused"

    def __init__(self, problem: Problem, retry_after: float | None = None, tries: int = 1) -> None:
        super().__init__(problem.detail or problem.title or f"the server answered {problem.status}")
        self.refusal = problem
        self.retry_after = retry_after
        self.is_repeated = tries > 1

    @property
    def problem(self) -> Problem:
        return self.refusal

    @property
    def kind(self) -> str:
        return self.refusal.kind


class Invalid(Refused): ...


class Unauthenticated(Refused): ...


class Forbidden(Refused): ...


class NotFound(Refused): ...


class Conflict(Refused): ...


class TooMany(Refused): ...


class Failed(Refused): ...


_BY_STATUS = {401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 429: TooMany}


def refused(problem: Problem, retry_after: float | None = None, tries: int = 1) -> Refused:
    """The exception that fits the status of a problem."""
    kind = Failed if problem.status >= 500 else _BY_STATUS.get(problem.status, Invalid)
    return kind(problem, retry_after, tries)
