"""The server put together: read this first to see what runs and who is given what."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta

import msgspec
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from cableferry import dialects
from cableferry.core.policy import Limits, Rules, Timeouts
from cableferry.dialects import emx2
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Dialect, Endpoint
from cableferry.dialects.ui.desk import Desk
from cableferry.engine.sessions import Patience
from cableferry.server import authenticate, edge, logs
from cableferry.server.authenticate import Trust
from cableferry.server.edge import Edge, Parts
from cableferry.server.exchange import Receive, Reply, Request, Scope, Send
from cableferry.server.live import Live
from cableferry.server.passwords import Passwords
from cableferry.server.polls import Polls
from cableferry.server.routes import Routes
from cableferry.server.running import Runner
from cableferry.server.settings import LimitsSection, Settings
from cableferry.server.throttle import Buckets
from cableferry.store import connect
from cableferry.store.tx import Store
from cableferry.wire.emx2 import words


class App:
    """The ASGI application: the edge for every endpoint, Starlette for the rest and for the lifespan."""

    def __init__(self, edge: Edge, live: Live, pages: Starlette, routes: Routes) -> None:
        self._edge = edge
        self._pages = pages
        self._paths = frozenset(route.path for route in pages.routes if hasattr(route, "path"))
        self.live = live
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self._paths:
            await self._edge(scope, receive, send)
        elif scope["type"] != "websocket":
            await self._pages(scope, receive, send)


def create_app(settings: Settings, store: Store | None = None, extra_endpoints: Sequence[Endpoint] = ()) -> App:
    """Everything wired; without a store it opens its own, brought up to date, and closes it at the end."""
    opened = store or open_store(settings)
    trust = authenticate.establish(settings, opened)
    live = Live()
    opened.on_news(live.hear)
    routes = Routes(_dialects(extra_endpoints))
    polling = Polls(opened, live, settings.emx2.long_poll_seconds)
    parts = Parts(
        routes=routes,
        runner=Runner(opened, polling, trust.vault),
        authenticator=trust.authenticator,
        buckets=Buckets(settings.limits.requests_per_second, settings.limits.burst),
        services=services(settings, trust, opened),
        fallback=emx2.DIALECT,
        limits=_reading_limits(settings),
        record=record,
    )
    pages = Starlette(routes=_pages(), lifespan=_lifespan(live, opened if store is None else None))
    return App(Edge(parts), live, pages, routes)


def open_store(settings: Settings) -> Store:
    pool_size = settings.database.pool_size if "postgres" in settings.database_url[:10] else None
    return connect.open_store(settings.database_url, upgrade=True, pool_size=pool_size)


def record(request: Request, reply: Reply) -> None:
    logs.answered(request, reply)


def services(settings: Settings, trust: Trust, store: Store) -> Mapping[str, object]:
    """What each dialect's endpoints are given, by the dialect's name."""
    return {"emx2": contract(settings, trust), "ui": desk(settings, store)}


def desk(settings: Settings, store: Store) -> Desk:
    auth = settings.auth
    patience = Patience(auth.login_attempts, timedelta(seconds=auth.login_delay_seconds))
    return Desk(store, Passwords(), patience, timedelta(hours=auth.session_hours))


def contract(settings: Settings, trust: Trust) -> Contract:
    return Contract(
        edition=settings.emx2.contract,
        rules=rules(settings),
        long_poll_seconds=settings.emx2.long_poll_seconds,
        worker_auth_mode="per-worker-hmac" if trust.is_on else "off",
        seal=trust.vault.seal,
        rotation_grace_seconds=settings.auth.rotation_grace_seconds,
    )


def rules(settings: Settings) -> Rules:
    """The engine's rules for jobs of the EMX2 protocol."""
    by_contract = "cancel" if settings.emx2.contract == "seed" else "reject"
    return Rules(
        pool=settings.emx2.pool,
        moves=words.MOVES,
        timeouts=timeouts(settings),
        words=words.WORDS,
        session_ttl=timedelta(seconds=settings.workers.session_ttl_seconds),
        worker_silence=timedelta(seconds=settings.workers.silence_seconds),
        ends_running_on_delete=(settings.emx2.delete_nonterminal or by_contract) == "cancel",
    )


def timeouts(settings: Settings) -> Timeouts:
    section = settings.timeouts
    return Timeouts(
        default=Limits(
            section.claimed_seconds, section.submitted_seconds, section.started_seconds, section.after_claimed
        ),
        profiles=_limits(section.profiles),
        processors=_limits(section.processors),
        grace_seconds=section.grace_seconds,
    )


def _limits(sections: Mapping[str, LimitsSection]) -> dict[str, Limits]:
    return {name: Limits(*msgspec.structs.astuple(section)) for name, section in sections.items()}


def _reading_limits(settings: Settings) -> edge.Limits:
    server = settings.server
    return edge.Limits(server.body_limit_bytes, server.header_limit_bytes, server.root_path)


def _dialects(extra: Sequence[Endpoint]) -> list[Dialect]:
    """The roll-call; a benchmark's endpoints join the first dialect."""
    first, *others = [module.DIALECT for module in dialects.ROLL_CALL]
    return [msgspec.structs.replace(first, endpoints=(*first.endpoints, *extra)), *others]


def _pages() -> list[BaseRoute]:
    return []


def _lifespan(live: Live, own_store: Store | None) -> Lifespan[Starlette]:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        live.close()
        if own_store is not None:
            own_store.close()

    return lifespan
