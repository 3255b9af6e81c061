"""Real server processes for the benchmarks: started on a free port, measured by /proc, stopped by a signal."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from bench import load, signed

# on the disk that holds the sources, so that durable means durable
_ROOM = Path(__file__).parents[1] / "build" / "bench"
_PATIENCE_SECONDS = 20
_HEALTH = b"GET /api/hpc/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n"


class Server(NamedTuple):
    """One running server."""

    address: load.Address
    pid: int
    database: str

    def cpu_seconds(self) -> float:
        """Processor time it has used since its start, in both modes."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """The most memory it has held since its start."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder of its own on the project's disk, gone afterwards."""
    _ROOM.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_ROOM) as name:
        yield Path(name)


@contextlib.contextmanager
def on_sqlite() -> Iterator[Server]:
    with folder() as path, running(sqlite_url(path), path) as server:
        yield server


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path / 'ferry.db'}"


@contextlib.contextmanager
def running(database: str, path: Path, more: Mapping[str, str] | None = None) -> Iterator[Server]:
    """The server of `bench.server`: the product's own, and an echo route beside its endpoints."""
    port = free_port()
    settings = {
        "CABLEFERRY_SERVER__PORT": str(port),
        "CABLEFERRY_DATABASE__URL": database,
        "CABLEFERRY_DATABASE__DATA_DIR": str(path),
        "CABLEFERRY_AUTH__SHARED_SECRET": signed.SECRET,
        "CABLEFERRY_LIMITS__REQUESTS_PER_SECOND": "1000000",
        "CABLEFERRY_LIMITS__BURST": "1000000",
        "CABLEFERRY_ARTIFACTS__UPLOAD_LIMIT_BYTES": str(2**40),
    }
    with (path / f"server-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.server"],
            env=os.environ | settings | dict(more or {}),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for_answer(process, port)
        yield Server(("127.0.0.1", port), process.pid, database)
    except BaseException:
        sys.stderr.write((path / f"server-{port}.log").read_text()[-2000:])
        raise
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _wait_for_answer(process: subprocess.Popen[bytes], port: int) -> None:
    end = perf_counter() + _PATIENCE_SECONDS
    while perf_counter() < end and process.poll() is None:
        with contextlib.suppress(ConnectionError):
            if load.drive([("127.0.0.1", port)], [[_HEALTH]], 1).answers[0].answer.status == 200:
                return
        sleep(0.005)
    raise RuntimeError(f"the server did not answer within {_PATIENCE_SECONDS} s")


def syncs_per_second(seconds: float = 1.0) -> float:
    """How often a second this disk makes one page durable; no database commits faster than that."""
    _ROOM.mkdir(parents=True, exist_ok=True)
    count, block = 0, b"x" * 4096
    with tempfile.TemporaryFile(dir=_ROOM) as file:
        began = perf_counter()
        while perf_counter() - began < seconds:
            file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
            count += 1
        return count / (perf_counter() - began)
