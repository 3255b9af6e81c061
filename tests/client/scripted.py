"""A real HTTP server that answers from a script and remembers what it was asked."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import NamedTuple

JOB = b'{"id": "j1", "status": "PENDING"}'


class Line(NamedTuple):
    """One answer; without a status the connection is dropped instead."""

    status: int | None = 200
    body: bytes = JOB
    headers: Mapping[str, str] = MappingProxyType({})


DROP = Line(None)


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Script(ThreadingHTTPServer):
    """Answers line by line, then repeats the last one."""

    daemon_threads = True

    def __init__(self, *lines: Line) -> None:
        super().__init__(("127.0.0.1", 0), _Player)
        self.lines = list(lines)
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Player(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Script

    def _play(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(self.command, self.path, headers, body))
        line = self.server.lines.pop(0) if len(self.server.lines) > 1 else self.server.lines[0]
        if line.status is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response_only(line.status)
        for name, value in {"Content-Length": str(len(line.body)), **line.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(line.body)
        # a body that is shorter than it was announced
        self.close_connection = "Content-Length" in line.headers

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _play  # noqa: N815 # the library's names

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


@contextmanager
def playing(*lines: Line) -> Iterator[Script]:
    """A script on a free port, until the block ends."""
    script = Script(*lines)
    thread = threading.Thread(target=script.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        script.shutdown()
        thread.join()
        script.server_close()
