"""Requests reach a collector as spans of their caller's trace, and only when one is configured."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import SimpleQueue

import msgspec
import pytest

from cableferry.server.settings import OtelSection
from cableferry.testing import servers

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector(HTTPServer):
    """Keeps what is sent to it."""

    def __init__(self) -> None:
        self.received: SimpleQueue[bytes] = SimpleQueue()
        super().__init__(("127.0.0.1", 0), Taking)


class Taking(BaseHTTPRequestHandler):
    """Takes every POST."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.received.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collecting:
        thread = threading.Thread(target=collecting.serve_forever)
        thread.start()
        yield collecting
        collecting.shutdown()
        thread.join()


def test_a_request_is_a_span_of_its_callers_trace(collector: Collector, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    section = OtelSection(endpoint=f"http://127.0.0.1:{collector.server_port}/v1/traces")
    with servers.running(msgspec.structs.replace(servers.settings_in(tmp_path), otel=section)) as running:
        running.client().get("/api/hpc/jobs", {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})

    sent = collector.received.get(timeout=20)
    assert bytes.fromhex(TRACE) in sent
    assert b"GET /api/hpc/jobs" in sent


def test_without_the_setting_nothing_of_it_is_loaded() -> None:
    asked = "import sys, cableferry.server.app; print('opentelemetry.sdk' in sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "False"
