"""The worker contract over HTTP: workers that share a folder with the server."""

from cableferry.dialects.endpoint import Dialect
from cableferry.dialects.opeva import configs, health, jobs, launching, ops, outputs, refusals, reporting
from cableferry.wire.opeva import bodies

DIALECT = Dialect(
    name="opeva",
    prefix="",
    endpoints=(
        *launching.ENDPOINTS,
        *jobs.ENDPOINTS,
        *outputs.ENDPOINTS,
        *reporting.ENDPOINTS,
        *ops.ENDPOINTS,
        *configs.ENDPOINTS,
        *health.ENDPOINTS,
    ),
    check_headers=refusals.demand_nothing,
    render=refusals.render,
    refused=bodies.Refusal,
)
