"""A real S3 server on this machine, thrown away with the process that started it."""

import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

SECONDS = 60
HOST = "127.0.0.1"
BUCKET = "cableferry-test"
_QUICK = ("-volume.max=50", "-volume.preStopSeconds=1", "-master.volumeSizeLimitMB=64")
_QUICKLY_ELECTED = ("-master.electionTimeout=1s", "-master.heartbeatInterval=200ms")
_ALONE = ("-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0")
_PORTS = [f"{part}.port{kind}" for part in ("master", "volume", "filer", "s3") for kind in ("", ".grpc")]


class Server(msgspec.Struct, frozen=True):
    """SeaweedFS, with one bucket and one pair of keys."""

    endpoint: str
    access_key_id: str
    secret_access_key: str

    @property
    def config(self) -> dict[str, str]:
        """The keys that a store of bytes is opened with."""
        return {**msgspec.structs.asdict(self), "region": "us-east-1"}

    def url(self, prefix: str) -> str:
        return f"s3://{BUCKET}/{prefix}"


def program() -> Path | None:
    """The server's program, if this environment has it."""
    found = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    return Path(found) if found else None


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Start one; it ends with this block, and with this process however that ends."""
    found = program()
    if found is None:
        raise RuntimeError("SeaweedFS is not in this environment: make setup installs it")
    folder = Path(tempfile.mkdtemp(prefix="cableferry-s3-", dir="/tmp"))
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    server = Server(f"http://{HOST}:{ports['s3.port']}", f"test-{secrets.token_hex(4)}", secrets.token_hex(20))
    try:
        with _started(found, folder, server, ports) as process:
            _wait_until_ready(process, folder, ports)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _started(
    found: Path, folder: Path, server: Server, ports: Mapping[str, int]
) -> Iterator["subprocess.Popen[bytes]"]:
    (folder / "data").mkdir()
    (folder / "s3.json").write_text(json.dumps(_identities(server)))
    doors = [f"-{name}={port}" for name, port in ports.items()]
    doors += [f"-{name}.localSocket={folder / name}.sock" for name in ("filer", "s3")]
    places = (f"-dir={folder / 'data'}", f"-ip={HOST}", f"-ip.bind={HOST}", f"-s3.config={folder / 's3.json'}")
    command = ["setpriv", "--pdeathsig", "KILL", str(found), "server", *places, "-filer", "-s3", *doors]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *_QUICK, *_QUICKLY_ELECTED, *_ALONE],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    try:
        yield process
    finally:
        # asked politely it would wait for its own streams, which never end
        process.kill()
        process.wait()


def _identities(server: Server) -> object:
    keys = {"accessKey": server.access_key_id, "secretKey": server.secret_access_key}
    rights = ["Admin", "Read", "Write", "List", "Tagging"]
    return {"identities": [{"name": "test", "credentials": [keys], "actions": rights}]}


def _wait_until_ready(process: "subprocess.Popen[bytes]", folder: Path, ports: Mapping[str, int]) -> None:
    """It listens before it can write; the first file makes the bucket, which is a folder of its."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if _makes_the_bucket(ports["filer.port"]) and _answers(ports["s3.port"]):
            return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"SeaweedFS did not start: {(folder / 'log').read_text()[-2000:]}")


def _makes_the_bucket(filer: int) -> bool:
    address = f"http://{HOST}:{filer}/buckets/{BUCKET}/ready"
    kind = {"Content-Type": "text/plain"}
    request = urllib.request.Request(address, data=b"x", method="PUT", headers=kind)  # this machine's own
    try:
        with urllib.request.urlopen(request, timeout=5):  # noqa: S310  # as above
            return True
    except OSError:
        return False


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/", timeout=5):  # as above
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held until the last is found, so they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
