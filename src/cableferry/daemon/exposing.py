"""Shows a daemon's numbers to Prometheus, in a file for a collector of text or on a port of this machine."""

import contextlib
import http.server
import os
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import structlog

from cableferry.daemon.config import Config
from cableferry.daemon.metrics import Metrics

log = structlog.get_logger()

HOST = "127.0.0.1"
WRITE_SECONDS = 10.0
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exposed:
    """What shows them, until it is closed; none of its troubles is one of the daemon's."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._metrics = metrics
        self._file = None if config.metrics_file is None else Path(config.metrics_file)
        self._port = config.metrics_port
        self._closing = threading.Event()
        self._server: http.server.ThreadingHTTPServer | None = None

    def open(self) -> None:
        if self._file is not None:
            # the collector's folder may hang as any disk may, and the daemon must not
            threading.Thread(target=self._keep_writing, name="metrics", daemon=True).start()
        if self._port is not None:
            self._listen(self._port)

    def close(self) -> None:
        self._closing.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def write(self) -> None:
        """The file as a whole or as it was: a collector may read it at any time."""
        if self._file is None:
            return
        part = self._file.with_name(f".{self._file.name}.part")
        try:
            part.write_text(self._page())
            # it is read by another user, and holds nothing that nobody may know
            part.chmod(0o644)
            part.replace(self._file)
        except OSError as error:
            log.warning("metrics not written", file=str(self._file), reason=error.strerror)

    def _page(self) -> str:
        return self._metrics.page(time.monotonic())

    def _keep_writing(self) -> None:
        while not self._closing.is_set():
            self.write()
            self._closing.wait(WRITE_SECONDS)

    def _listen(self, port: int) -> None:
        try:
            server = http.server.ThreadingHTTPServer((HOST, port), _answering(self._page))
        except OSError as error:
            log.warning("metrics not shown", port=port, reason=os.strerror(error.errno or 0))
            return
        server.daemon_threads = True
        self._server = server
        threading.Thread(target=server.serve_forever, name="metrics-port", daemon=True).start()


def _answering(page: Callable[[], str]) -> type[http.server.BaseHTTPRequestHandler]:
    class Answering(http.server.BaseHTTPRequestHandler):
        """One page, and nothing else."""

        timeout = 10.0

        def do_GET(self) -> None:
            is_known = self.path.partition("?")[0] == "/metrics"
            body = (page() if is_known else "the numbers are at /metrics\n").encode()
            self.send_response(HTTPStatus.OK if is_known else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Whoever scrapes does so all day long."""

    return Answering
