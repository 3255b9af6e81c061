"""What stands between a daemon and its server, and passes on, holds back, loses or refuses what goes through it."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cableferry import failpoints

REFUSAL = b'{"type": "about:blank", "title": "Trouble", "status": %d, "detail": "made up for a test"}'
HOP = {"transfer-encoding", "connection", "content-length"}


class Front(ThreadingHTTPServer):
    """At one address whatever becomes of the server; `trouble` says what becomes of a request, by name."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Passer)
        self.behind: int | None = None
        self.trouble: Callable[[str], str | int | None] = lambda name: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever is killed breaks its connections off."""


class _Passer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        trouble = self.server.trouble(failpoints.named("call", self.command, self.path))
        if isinstance(trouble, int):
            self._answer(trouble, {"Content-Type": "application/problem+json"}, REFUSAL % trouble)
            return
        answered = None if trouble == "cut" else self._asked(body)
        if answered is None or trouble == "lost":
            # as if the line broke: before the request was heard, or while its answer was on the way
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._answer(*answered)

    def _asked(self, body: bytes) -> tuple[int, dict[str, str], bytes] | None:
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind or 1, timeout=60)
        try:
            with contextlib.closing(behind):
                behind.request(self.command, self.path, body, dict(self.headers.items()))
                answer = behind.getresponse()
                headers = {name: value for name, value in answer.getheaders() if name.lower() not in HOP}
                return answer.status, headers, answer.read()
        except (OSError, http.client.HTTPException):
            return None

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _pass  # noqa: N815 # the library's names

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def standing(port: int) -> Iterator[Front]:
    """One before a server's port, until the block ends."""
    front = Front()
    front.behind = port
    thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        thread.join()
        front.server_close()
