"""An nginx of our own on a free port, which serves the files of one folder as a plain web server does."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

from bench import load, servers

_PATIENCE_SECONDS = 20
_CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-errors.log;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/nginx-access.log;
    sendfile on;
    tcp_nodelay on;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""


@contextlib.contextmanager
def serving(root: Path, folder: Path) -> Iterator[load.Address]:
    """One worker process, as there is one of the gateway; it keeps what it writes in the folder."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise RuntimeError("nginx is not on this machine: as root, apt-get install nginx-light")
    port = servers.free_port()
    config = folder / "nginx.conf"
    # a worker of root's would give its rights up, and then read no folder of ours
    user = "user root;" if Path("/proc/self").owner() == "root" else ""
    config.write_text(user + _CONFIG.format(folder=folder, root=root, port=port))
    process = subprocess.Popen(
        [program, "-e", str(folder / "nginx-errors.log"), "-p", str(folder), "-c", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, port)
        yield "127.0.0.1", port
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = perf_counter() + _PATIENCE_SECONDS
    while perf_counter() < end and process.poll() is None:
        with contextlib.suppress(ConnectionError):
            load.Line(("127.0.0.1", port)).close()
            return
        sleep(0.005)
    raise RuntimeError(f"nginx did not start within {_PATIENCE_SECONDS} s")
