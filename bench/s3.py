"""How fast ranges of a file come through the S3 gateway, against nginx that serves the same file."""

import random
import select
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench import load, nginx, report, servers, signed, transfers
from bench.transfers import MIB
from bench.upload import artifact
from cableferry.core import signing, sigv4
from cableferry.core.access import Person, Role
from cableferry.core.sigv4 import Message, Payload, Proof, Scope
from cableferry.engine import access_keys, users
from cableferry.engine.access_keys import Issued, Wanted
from cableferry.server import authenticate
from cableferry.server.settings import DatabaseSection, Settings
from cableferry.store import connect
from cableferry.store.tx import Tx

TOTAL = 512 * MIB
ROUNDS = 3
CONNECTIONS = 8
# a footer, a small and a large column chunk; the middle one is what is compared
SIZES = (64 * 1024, MIB, 8 * MIB)
_HEAD_END = b"\r\n\r\n"


class Target(NamedTuple):
    """A file at a server, and who may read it if not everybody."""

    address: load.Address
    path: str
    issued: Issued | None = None


class Ranged(NamedTuple):
    """Ranges of one size: how many a second, and how many bytes."""

    per_second: float
    megabytes: float


def main(total: int = TOTAL, rounds: int = ROUNDS, sizes: Sequence[int] = SIZES) -> None:
    with servers.folder() as path, servers.running(servers.sqlite_url(path), path) as server:
        id_ = artifact(server)
        source = transfers.source(path, min(total, 256 * MIB))
        transfers.put(server.address, f"{signed.API}/artifacts/{id_}/files/large", source, total)
        (blob,) = [file for file in (path / "blobs").glob("*/*") if file.stat().st_size == total]
        gateway = Target(server.address, f"/s3/artifacts/{id_}/large", _issued(server, path))
        with nginx.serving(path / "blobs", path) as plain:
            plainly = Target(plain, f"/{blob.relative_to(path / 'blobs')}")
            measured = {size: _measured(plainly, gateway, total, rounds, size) for size in sizes}
    report.table(
        f"Ranges of a file of {total // MIB} MiB over {CONNECTIONS} connections, medians of {rounds}",
        ("range", "nginx/s", "gateway/s", "nginx MB/s", "gateway MB/s", "ratio"),
        [_row(size, *pair) for size, pair in measured.items()],
    )
    floor, value = measured[sizes[len(sizes) // 2]]
    report.result("s3", value.megabytes, "MB/s", floor.megabytes, ranges_per_second=value.per_second)


def _measured(plainly: Target, gateway: Target, total: int, rounds: int, size: int) -> tuple[Ranged, Ranged]:
    """Floor and value in turn."""
    count = max(CONNECTIONS, min(4000, total // size))
    pairs = [
        tuple(_ranged(target, total, size, count, seed) for target in (plainly, gateway)) for seed in range(rounds)
    ]
    floor, value = (Ranged(*map(statistics.median, zip(*column, strict=True))) for column in zip(*pairs, strict=True))
    return floor, value


def _ranged(target: Target, total: int, size: int, count: int, seed: int) -> Ranged:
    chance = random.Random(seed)
    starts = [chance.randrange(max(1, total - size)) for _ in range(count)]
    requests = [_request(target, start, min(start + size, total)) for start in starts]
    seconds = drive(target.address, requests)
    return Ranged(count / seconds, count * min(size, total) / 1e6 / seconds)


def _request(target: Target, start: int, stop: int) -> bytes:
    headers = {"host": "bench", "range": f"bytes={start}-{stop - 1}"}
    if target.issued is not None:
        headers |= _signed(target.issued, target.path, headers)
    lines = [f"GET {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def _signed(issued: Issued, path: str, headers: dict[str, str]) -> dict[str, str]:
    """What a client of S3 adds to its headers."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    added = {"x-amz-content-sha256": str(Payload.UNSIGNED), "x-amz-date": stamp}
    sent = {name.encode(): value.encode() for name, value in (headers | added).items()}
    names = tuple(sorted(headers | added))
    proof = Proof(issued.key.id, Scope(stamp[:8], "us-east-1"), stamp, names, "")
    text = sigv4.text_to_sign(proof, sigv4.canonical(proof, Message("GET", path, "", sent, Payload.UNSIGNED), path))
    signature = signing.sign(sigv4.signing_key(issued.secret, proof.scope), text)
    return added | {
        "authorization": f"{sigv4.ALGORITHM} Credential={issued.key.id}/{proof.scope.text},"
        f" SignedHeaders={';'.join(names)}, Signature={signature}"
    }


def _issued(server: servers.Server, path: Path) -> Issued:
    """A key of a new user; the server learns of it by looking."""
    vault = authenticate.open_vault(Settings(database=DatabaseSection(data_dir=path)))

    def issue(tx: Tx) -> Issued:
        users.create(tx, "reader", Role.VIEWER, None)
        return access_keys.grant(tx, vault.seal, Person("reader", Role.VIEWER), Wanted())

    store = connect.open_store(server.database)
    try:
        return store.write(issue)
    finally:
        store.close()


def _row(size: int, floor: Ranged, value: Ranged) -> report.Row:
    figures = (floor.per_second, value.per_second, floor.megabytes, value.megabytes)
    return (f"{size // 1024} KiB", *map(report.count, figures), f"{value.megabytes / floor.megabytes:.2f}")


def drive(address: load.Address, requests: Sequence[bytes]) -> float:
    """Seconds until every answer is here; what is in them is counted and thrown away."""
    work, lines, epoll = iter(requests), {}, select.epoll()
    for request, _ in zip(work, range(CONNECTIONS), strict=False):
        line = _Line(address, request)
        lines[line.fileno] = line
        epoll.register(line.fileno, select.EPOLLIN)
    began = perf_counter()
    for line in lines.values():
        line.ask()
    while lines:
        for fileno, _ in epoll.poll():
            if not lines[fileno].is_done():
                continue
            if (request := next(work, None)) is not None:
                lines[fileno].ask(request)
            else:
                epoll.unregister(fileno)
                lines.pop(fileno).close()
    epoll.close()
    return perf_counter() - began


class _Line(load.Line):
    """A connection whose answers are larger than is worth keeping."""

    _buffer = memoryview(bytearray(MIB))

    def __init__(self, address: load.Address, first: bytes) -> None:
        super().__init__(address)
        self._first = first
        self._left = -1

    def ask(self, request: bytes | None = None) -> None:
        self._left = -1
        super().ask(self._first if request is None else request)

    def is_done(self) -> bool:
        """Read what has arrived; the head comes in the first piece."""
        count = self._socket.recv_into(self._buffer)
        if not count:
            raise ConnectionError("the server closed a connection that was waiting for an answer")
        if self._left < 0:
            head = bytes(self._buffer[: min(count, 4096)])
            if not head.startswith(b"HTTP/1.1 206") or _HEAD_END not in head:
                raise RuntimeError(f"an answer begins with {head[:200]!r}")
            self._left = load.length(head)
        self._left -= count
        return self._left == 0


if __name__ == "__main__":
    main()
