"""A server with the plain protocol: ours, behind a proxy that takes away what others do not have."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

EXTENSIONS = ("/sync", "/jobs/claim", "/explain", "/logs", "/uploads")
LATER_HEADERS = {"prefer", "idempotency-key", "if-none-match", "x-worker-session", "host"}
LATER_FIELDS = {"extensions", "session", "epoch", "attempt", "revision", "cause", "priority"}


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True
    is_over = False

    def __init__(self, server: str, port: int) -> None:
        super().__init__((urlsplit(server).hostname or "", port), _Passer)
        self.behind = urlsplit(server).netloc

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever is killed breaks its connections off."""


class _Passer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Proxy

    def _pass(self) -> None:
        if self.server.is_over:
            # connections outlive a server that only stops to listen
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if urlsplit(self.path).path.endswith(EXTENSIONS):
            self._answer(404, b'{"title": "Not Found", "status": 404, "detail": "no such thing"}')
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in LATER_HEADERS}
        behind = http.client.HTTPConnection(self.server.behind)
        with contextlib.closing(behind):
            behind.request(self.command, self.path, body, headers)
            answer = behind.getresponse()
            content = answer.read()
            is_json = "json" in (answer.getheader("Content-Type") or "")
            self._answer(answer.status, _plain(content) if is_json else content)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = _pass  # noqa: N815  # the library's names

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


def _plain(body: bytes) -> bytes:
    return json.dumps(_without(json.loads(body))).encode() if body else b""


def _without(value: object) -> object:
    match value:
        case dict():
            return {name: _without(item) for name, item in value.items() if name not in LATER_FIELDS}
        case list():
            return [_without(item) for item in value]
        case _:
            return value


@contextlib.contextmanager
def before(server: str, port: int = 0) -> Iterator[str]:
    """The address of such a proxy, until the block ends."""
    proxy = _Proxy(server, port)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{proxy.server_address[0]!s}:{proxy.server_address[1]}"
    finally:
        proxy.is_over = True
        proxy.shutdown()
        thread.join()
        proxy.server_close()
