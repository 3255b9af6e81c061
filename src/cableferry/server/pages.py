"""What is not an endpoint of a contract: the metrics, the OpenAPI document and its page."""

import functools
from ipaddress import ip_address

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from cableferry.server import configured, metrics, openapi, reading
from cableferry.server.metrics import Metrics
from cableferry.server.routes import Routes
from cableferry.server.settings import Settings
from cableferry.store.tx import Store

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_NO_SCRIPTS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def pages(settings: Settings, routes: Routes, store: Store, numbers: Metrics) -> list[Route]:
    """Every page with its path."""
    described = functools.cache(lambda: openapi.document(routes.dialects))
    pools = [rules.pool for rules in configured.pools(settings)]

    async def scraped(request: Request) -> Response:
        if not (settings.metrics.public or _is_near(request)):
            return Response("metrics are shown to this machine only: see the setting metrics.public\n", 403)
        observed = await store.aread(lambda tx: metrics.observe(tx, pools))
        return Response(numbers.page(observed), media_type=_PROMETHEUS)

    async def document(request: Request) -> Response:
        return Response(msgspec.json.encode(described()), media_type="application/json")

    async def readable(request: Request) -> Response:
        return HTMLResponse(reading.page(described()), headers=_NO_SCRIPTS)

    found = [Route("/api/hpc/openapi.json", document), Route("/api/hpc/docs", readable)]
    return [*found, Route("/metrics", scraped)] if settings.metrics.enabled else found


def _is_near(request: Request) -> bool:
    """From this machine, and not passed on by a proxy that happens to be here."""
    if "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        return False
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False
