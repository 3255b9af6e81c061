"""Runs the application under uvicorn until it is told to stop."""

import resource
import signal
import socket
import ssl
from collections.abc import Mapping
from types import FrameType

import structlog
import uvicorn

from cableferry.server import connections, greeting, logs, tls
from cableferry.server.app import NO_SOURCES, App, create_app
from cableferry.server.settings import ServerSection, Settings
from cableferry.server.vault import CannotStart
from cableferry.store import connect

log = structlog.get_logger()

BACKLOG = 4096
MOST_OPEN_FILES = 65_536
# longer than a daemon is silent between two polls, so that it never finds its connection closed
KEEP_ALIVE_SECONDS = 75


class Server(uvicorn.Server):
    """uvicorn, which first answers everybody who waits, so that a stop takes no minute."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM is how a server is meant to end: in good order, not by dying of the signal afterwards."""
        if sig == signal.SIGTERM:
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.live.close()
        await super().shutdown(sockets)
        log.info("server stopped")


def serve(settings: Settings, sources: Mapping[str, str] = NO_SOURCES) -> None:
    """Serve until SIGTERM or SIGINT; `sources` say where the settings came from."""
    logs.configure(settings.log)
    if settings.server.reuse_port and connect.kind_of(settings.database_url) == "sqlite":
        raise CannotStart("server.reuse_port needs PostgreSQL: a SQLite database has one server process")
    tls.check(settings)
    _expect_a_crowd()
    listening = listen(settings.server)
    app = create_app(settings, sources=sources)
    log.info("server listening", address=address(settings.server, listening))
    if app.welcome is not None:
        greeting.greet(f"{address(settings.server, listening)}{app.welcome}", settings.database.data_dir)
    server(settings, app).run([listening])


def _expect_a_crowd() -> None:
    """A shell lets a program open fewer files than there may be daemons that wait here; the hard limit stays."""
    at_ease, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if most == resource.RLIM_INFINITY else min(most, MOST_OPEN_FILES)
    if at_ease != resource.RLIM_INFINITY and at_ease < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def server(settings: Settings, app: App) -> Server:
    return Server(_config(settings.server, app), app)


def listen(section: ServerSection) -> socket.socket:
    """The listening socket, bound before anything else so that a taken port is told at once."""
    family = socket.AF_INET6 if ":" in section.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if section.reuse_port:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((section.host, section.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise OSError(f"nobody can listen on {section.host} port {section.port}: {error.strerror}") from error
    listening.setblocking(False)
    return listening


def address(section: ServerSection, listening: socket.socket) -> str:
    scheme = "https" if section.tls_certificate else "http"
    host = f"[{section.host}]" if ":" in section.host else section.host
    return f"{scheme}://{host}:{listening.getsockname()[1]}"


def _config(section: ServerSection, app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connections.reading(section),
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=bool(section.trusted_proxies),
        forwarded_allow_ips=section.trusted_proxies,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=section.shutdown_seconds,
        backlog=BACKLOG,
        ssl_certfile=section.tls_certificate,
        ssl_keyfile=section.tls_key,
        ssl_ca_certs=str(section.tls_client_ca) if section.tls_client_ca else None,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if section.tls_client_ca else ssl.CERT_NONE,
    )
