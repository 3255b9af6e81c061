"""The server put together: read this first to see what runs and who is given what."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Container, Coroutine, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from starlette.applications import Starlette
from starlette.routing import Route

from cableferry import dialects
from cableferry.dialects import emx2, s3
from cableferry.dialects.endpoint import Dialect, Endpoint
from cableferry.engine import sweeps
from cableferry.engine.reading import Depot
from cableferry.server import (
    authenticate,
    background,
    configured,
    edge,
    errands,
    exchange,
    keeping,
    logs,
    stowing,
    watching,
)
from cableferry.server import pages as unlisted
from cableferry.server.contracts import Served
from cableferry.server.downloads import Downloads
from cableferry.server.edge import Edge, Parts
from cableferry.server.exchange import Message, Receive, Reply, Request, Scope, Send
from cableferry.server.following import Followings
from cableferry.server.live import Live
from cableferry.server.metrics import Metrics
from cableferry.server.polls import Polls
from cableferry.server.routes import Routes
from cableferry.server.running import Runner
from cableferry.server.settings import Settings
from cableferry.server.site import HOME, Site
from cableferry.server.tails import Tails
from cableferry.server.throttle import Buckets
from cableferry.server.traces import Traces
from cableferry.server.uploads import Reading, Uploads
from cableferry.store import connect, users
from cableferry.store.blobs import Blobs
from cableferry.store.tx import Store

NO_SOURCES: Mapping[str, str] = MappingProxyType({})
_READING = frozenset({"GET", "HEAD"})


class App:
    """The ASGI application: the edge for every endpoint, the dashboard, Starlette for the rest and the lifespan."""

    def __init__(self, edge: Edge, live: Live, pages: Starlette, site: Site, welcome: str | None = None) -> None:
        self._edge = edge
        self._pages = pages
        self._site = site
        self._paths = frozenset(route.path for route in pages.routes if isinstance(route, Route))
        self.live = live
        self.welcome = welcome

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._site.is_at(scope["path"]):
            await self._site(scope, receive, _traced(scope, send))
        elif scope["type"] == "http" and (scope["path"] not in self._paths or scope["method"] not in _READING):
            await self._edge(scope, receive, send)
        elif scope["type"] == "http":
            await self._pages(scope, receive, _traced(scope, send))
        elif scope["type"] != "websocket":
            await self._pages(scope, receive, send)


def _traced(scope: Scope, send: Send) -> Send:
    """What the edge does for its answers: each says under which id it is to be found."""
    trace_id = exchange.trace_id_of(dict(scope["headers"])).encode()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"x-trace-id", trace_id)]
        await send(message)

    return sending


def create_app(
    settings: Settings,
    store: Store | None = None,
    extra_endpoints: Sequence[Endpoint] = (),
    blobs: Blobs | None = None,
    sources: Mapping[str, str] = NO_SOURCES,
) -> App:
    """Everything wired; what is not given is opened, brought up to date, and closed at the end."""
    opened = store or open_store(settings)
    kept = blobs or keeping.open_blobs(settings)
    trust = authenticate.establish(settings, opened)
    live = Live()
    opened.on_news(live.hear)
    numbers = Metrics(lambda: live.count)
    opened.on_commit(numbers.committed)
    traces = Traces(settings.otel) if settings.otel.endpoint else None
    beside = configured.beside(settings, opened)
    depot = keeping.depot(settings, opened, kept)
    services = configured.services(settings, trust, depot, beside, configured.About(sources, numbers.sweeps))
    routes = Routes(_dialects(services, extra_endpoints))
    polling = Polls(opened, live, settings.emx2.long_poll_seconds)
    runner = Runner(opened, polling, trust.vault)
    parts = Parts(
        routes=routes,
        runner=runner,
        uploads=Uploads(opened, kept, runner, _file_limits(settings)),
        downloads=Downloads(kept),
        followings=Followings(opened, live),
        tails=Tails(opened),
        authenticator=trust.authenticator,
        doors={s3.DIALECT.name: trust.gateway},
        buckets=Buckets(settings.limits.requests_per_second, settings.limits.burst),
        services=services,
        fallback=emx2.DIALECT,
        limits=_reading_limits(settings),
        record=recorder(numbers, traces),
        guests=configured.guests(settings),
    )
    resident = Resident(settings, opened, store is None, live, numbers, traces, depot, blobs is None, beside)
    pages = Starlette(routes=unlisted.pages(settings, routes, opened, numbers), lifespan=resident.live_in)
    return App(Edge(parts), live, pages, Site(settings.server.root_path), _welcome(settings, opened, trust))


class Resident(msgspec.Struct, frozen=True):
    """What runs as long as the application does."""

    settings: Settings
    store: Store
    closes_store: bool
    live: Live
    numbers: Metrics
    traces: Traces | None
    depot: Depot
    closes_blobs: bool
    beside: Mapping[str, Served]

    @contextlib.asynccontextmanager
    async def live_in(self, app: Starlette) -> AsyncIterator[None]:
        await self.store.awrite(sweeps.awake)
        tasks = [asyncio.create_task(each) for each in self._chores()]
        try:
            yield
        finally:
            self.live.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.traces is not None:
                await asyncio.to_thread(self.traces.close)
            if self.closes_blobs:
                await self.depot.blobs.close()
            if self.closes_store:
                self.store.close()

    def _chores(self) -> Iterator[Coroutine[None, None, None]]:
        settings = self.settings
        chores = background.roll_call(configured.pools(settings), settings.timeouts.sweep_seconds)
        kept_up = [self._collection(), errands.traffic(self.store, self.numbers)]
        yield background.run(chores, self.store, self.numbers, kept_up)
        yield stowing.run(self.store, self.depot.blobs, configured.rules(settings), configured.stowing(settings))
        for each in self.beside.values():
            yield each.show()
        if connect.kind_of(settings.database_url) == "postgres":
            yield watching.watch(self.store, self.live, [rules.pool for rules in configured.pools(settings)])

    def _collection(self) -> background.Errand:
        return errands.collection(
            self.depot, configured.keeping(self.settings), self.settings.artifacts.retention.collect_minutes
        )


def _welcome(settings: Settings, store: Store, trust: authenticate.Trust) -> str | None:
    """The page where the first Owner is made, while there is none; behind the # nothing reaches a log."""
    if settings.auth.off or store.read(users.exist):
        return None
    return f"{settings.server.root_path}{HOME}/welcome#{trust.first_token}"


def recorder(numbers: Metrics, traces: Traces | None) -> Callable[[Request, Reply], None]:
    """What is done about every answer."""

    def record(request: Request, reply: Reply) -> None:
        numbers.answered(request, reply)
        logs.answered(request, reply)
        if traces is not None:
            traces.answered(request, reply)

    return record


def open_store(settings: Settings) -> Store:
    pool_size = settings.database.pool_size if connect.kind_of(settings.database_url) == "postgres" else None
    return connect.open_store(settings.database_url, upgrade=True, pool_size=pool_size)


def _reading_limits(settings: Settings) -> edge.Limits:
    server = settings.server
    proxys = settings.auth.mtls.proxy_header
    single = exchange.SINGLE | ({proxys.lower().encode()} if proxys else set())
    return edge.Limits(server.body_limit_bytes, server.header_limit_bytes, server.root_path, single)


def _file_limits(settings: Settings) -> Reading:
    return Reading(settings.artifacts.upload_limit_bytes, settings.server.body_limit_bytes)


def _dialects(services: Container[str], extra: Sequence[Endpoint]) -> list[Dialect]:
    """Those of the roll-call that are served; a benchmark's endpoints join the first dialect."""
    first, *others = [module.DIALECT for module in dialects.ROLL_CALL if module.DIALECT.name in services]
    return [msgspec.structs.replace(first, endpoints=(*first.endpoints, *extra)), *others]
