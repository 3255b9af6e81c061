"""Questions in GraphQL about jobs, their history, workers, artifacts and files; nothing can be changed by it."""

from cableferry.dialects.endpoint import Dialect, Headers
from cableferry.dialects.graphql import endpoints, refusals
from cableferry.wire import graphql


def _demand_nothing(headers: Headers) -> None:
    """Clients of GraphQL know nothing of another protocol's headers."""


DIALECT = Dialect(
    name="graphql",
    prefix=graphql.PATHS[0],
    endpoints=endpoints.ENDPOINTS,
    check_headers=_demand_nothing,
    render=refusals.render,
    refused=graphql.AnswerBody,
)
