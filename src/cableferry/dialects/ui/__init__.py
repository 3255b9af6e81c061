"""What our own web pages and command line ask besides the protocol: accounts, sessions, tokens, jobs as they change."""

from cableferry.dialects import problems
from cableferry.dialects.endpoint import Dialect, Headers
from cableferry.dialects.ui import (
    access_keys,
    artifacts,
    audit,
    beginnings,
    configuration,
    jobs,
    overviews,
    sessions,
    tokens,
    users,
    workers,
)
from cableferry.wire.ui import PREFIX


def _demand_nothing(headers: Headers) -> None:
    """A browser sends what it sends."""


DIALECT = Dialect(
    name="ui",
    prefix=PREFIX,
    endpoints=(
        *sessions.ENDPOINTS,
        *users.ENDPOINTS,
        *tokens.ENDPOINTS,
        *access_keys.ENDPOINTS,
        *jobs.ENDPOINTS,
        *artifacts.ENDPOINTS,
        *workers.ENDPOINTS,
        *overviews.ENDPOINTS,
        *audit.ENDPOINTS,
        *configuration.ENDPOINTS,
        *beginnings.ENDPOINTS,
    ),
    check_headers=_demand_nothing,
    render=problems.render,
)
