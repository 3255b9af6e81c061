"""How fast one large file and many small ones go into the server, against one process that only keeps them."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench import load, report, servers, signed, transfers
from bench.servers import Server
from bench.transfers import MIB

TOTAL = 4096 * MIB
ROUNDS = 2
FILES = 10_000
FILE_BYTES = 4096
CONNECTIONS = 16
# the floor of small files takes turns with the server so often, each time with a part of what the server gets
TURNS = 5
FLOOR_PART = 5
DAEMON = signed.Daemon("bench")


class Small(NamedTuple):
    """Seconds for many small files: of the floor, of the server, and of what is done with them afterwards."""

    floor: float
    put: float
    commit: float
    list: float
    get: float
    verify: float


def main(total: int = TOTAL, rounds: int = ROUNDS, files: int = FILES) -> None:
    with servers.folder() as path, servers.running(servers.sqlite_url(path), path) as server:
        source = transfers.source(path, min(total, 256 * MIB))
        before = server.peak_bytes()
        large = [_large(server, source, path, total) for _ in range(rounds)]
        grown = server.peak_bytes() - before
        small = _small(server, path, files)
    floor, value = (sum(times) for times in zip(*large, strict=True))
    _tell(large, small, total, files, grown)
    speed = rounds * total / 1e6
    report.result(
        "upload", speed / value, "MB/s", speed / floor, grown_mib=grown / MIB,
        files_per_second=files / small.put, files_floor=files / small.floor, commit_seconds=small.commit,
    )  # fmt: skip


def artifact(server: Server) -> str:
    made = _asked(server, DAEMON.post("/artifacts", {"type": "dataset", "residence": "managed"}))
    return str(json.loads(made)["id"])


def _large(server: Server, source: transfers.Source, path: Path, total: int) -> tuple[float, float]:
    """Seconds of the floor and of the server, one after the other; the file is gone afterwards."""
    target = path / "floor"
    floor = transfers.kept(source, total, target)
    target.unlink()
    id_ = artifact(server)
    taken = transfers.put(server.address, f"{signed.API}/artifacts/{id_}/files/large", source, total)
    _remove(path, total)
    return floor, taken


def _remove(path: Path, size: int) -> None:
    """A disk is not to fill up with the rounds of a benchmark, and the floor's file is gone as well."""
    for blob in (path / "blobs").glob("*/*"):
        if blob.stat().st_size == size:
            blob.unlink()


def _small(server: Server, path: Path, files: int) -> Small:
    id_ = artifact(server)
    contents = [os.urandom(FILE_BYTES) for _ in range(files)]
    paths = [f"{number // 100:03}/{number:05}.bin" for number in range(files)]
    (path / "small").mkdir()
    floor = put = 0.0
    named = list(zip(paths, contents, strict=True))
    for start in range(0, files, -(-files // TURNS)):
        turn = named[start : start + -(-files // TURNS)]
        floor += kept_each(path / "small", [content for _, content in turn[::FLOOR_PART]]) * FLOOR_PART
        put += _run(server, [[_put(id_, name, content)] for name, content in turn])
    home = f"/artifacts/{id_}"
    return Small(
        floor,
        put,
        _run(server, [[DAEMON.post(f"{home}/commit", {})]]),
        _run(server, [[DAEMON.get(f"{home}/files?limit=1000&offset={start}") for start in range(0, files, 1000)]]),
        _run(server, [[DAEMON.get(f"{home}/files/{name}")] for name in paths]),
        _verified(server, home, files),
    )


def kept_each(folder: Path, contents: Sequence[bytes]) -> float:
    """Seconds of one process to hash, write, sync and rename each, and to sync the folder it is then in."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    began = perf_counter()
    for content in contents:
        name = hashlib.sha256(content).hexdigest()
        with (folder / "incoming").open("wb", buffering=0) as file:
            file.write(content)
            os.fdatasync(file.fileno())
        os.rename(folder / "incoming", folder / name)
        os.fsync(descriptor)
    taken = perf_counter() - began
    os.close(descriptor)
    return taken


def _put(id_: str, name: str, content: bytes) -> bytes:
    request = DAEMON.raw("PUT", f"{signed.API}/artifacts/{id_}/files/{name}", content)
    # a signature covers the body of a file by the hash that its head declares
    hashed = b"application/octet-stream\r\nContent-SHA256: " + hashlib.sha256(content).hexdigest().encode()
    return request.replace(b"application/json", hashed, 1)


def _verified(server: Server, home: str, files: int) -> float:
    """Seconds to have every file hashed again, in as many portions as the server makes of them."""
    seconds, seen, after = 0.0, 0, ""
    while seen < files:
        run = load.drive([server.address], [[DAEMON.post(f"{home}/verify", {"after": after})]], 1)
        told = json.loads(run.bodies()[0])
        if told["findings"]:
            raise RuntimeError(f"stored files are damaged: {told['findings'][:3]}")
        seconds, seen, after = seconds + run.seconds, seen + told["files"], told["after"] or ""
    return seconds


def _asked(server: Server, request: bytes) -> bytes:
    return load.drive([server.address], [[request]], 1).bodies()[0]


def _run(server: Server, scripts: Sequence[load.Script]) -> float:
    run = load.drive([server.address], scripts, min(CONNECTIONS, len(scripts)))
    if refused := run.refused():
        raise RuntimeError(f"{len(refused)} requests were refused, the first with {refused[0].answer.raw[:300]!r}")
    return run.seconds


def _tell(large: Sequence[tuple[float, float]], small: Small, total: int, files: int, grown: int) -> None:
    rows = [
        (f"round {number}", f"{total / 1e6 / floor:.0f}", f"{total / 1e6 / taken:.0f}", f"{floor / taken:.2f}")
        for number, (floor, taken) in enumerate(large, 1)
    ]
    report.table(f"One file of {total // MIB} MiB, MB/s", ("", "floor", "server", "ratio"), rows)
    rates = (report.count(files / small.floor), report.count(files / small.put), f"{small.floor / small.put:.2f}")
    report.table(f"{report.count(files)} files of 4 KiB, a second", ("", "floor", "server", "ratio"), [("put", *rates)])
    steps = [(name, f"{getattr(small, name):.2f} s") for name in ("put", "commit", "list", "get", "verify")]
    report.table(f"An artifact of {report.count(files)} files", ("", "took"), steps)
    print(f"\nthe server's memory grew by {grown / MIB:.0f} MiB at its peak")


if __name__ == "__main__":
    main()
