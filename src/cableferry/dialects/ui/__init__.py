"""Accounts, sessions and tokens over HTTP, for our own web pages and command line."""

from cableferry.dialects import problems
from cableferry.dialects.endpoint import Dialect, Headers
from cableferry.dialects.ui import sessions, tokens, users
from cableferry.wire.ui import PREFIX


def _demand_nothing(headers: Headers) -> None:
    """A browser sends what it sends."""


DIALECT = Dialect(
    name="ui",
    prefix=PREFIX,
    endpoints=(*sessions.ENDPOINTS, *users.ENDPOINTS, *tokens.ENDPOINTS),
    check_headers=_demand_nothing,
    render=problems.render,
)
