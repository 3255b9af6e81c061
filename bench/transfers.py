"""Large bodies and what they are measured against: one process that reads, hashes and keeps the same bytes."""

import hashlib
import os
import socket
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench import load, signed

MIB = 1024 * 1024
_HEAD_END = b"\r\n\r\n"


class Source(NamedTuple):
    """Bytes in memory-mapped pages of a file, repeated as often as a body needs."""

    path: Path
    size: int


def source(folder: Path, size: int = 256 * MIB) -> Source:
    """Bytes that nothing can compress, read once, so that the floor and the client find them in memory."""
    path = folder / "source"
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
    return Source(path, size)


def kept(source: Source, total: int, target: Path) -> float:
    """Seconds of one process to read, hash and durably write so many bytes."""
    buffer = memoryview(bytearray(MIB))
    began, hasher = perf_counter(), hashlib.sha256()
    with source.path.open("rb", buffering=0) as reading, target.open("wb", buffering=0) as writing:
        left = total
        while left:
            count = reading.readinto(buffer[: min(MIB, left)]) or 0
            if not count:
                reading.seek(0)
                continue
            hasher.update(buffer[:count])
            writing.write(buffer[:count])
            left -= count
        os.fsync(writing.fileno())
    return perf_counter() - began


def read(path: Path) -> float:
    """Seconds of one process to read a file and hash it."""
    buffer = memoryview(bytearray(MIB))
    began, hasher = perf_counter(), hashlib.sha256()
    with path.open("rb", buffering=0) as reading:
        while count := reading.readinto(buffer):
            hasher.update(buffer[:count])
    return perf_counter() - began


def put(address: load.Address, target: str, source: Source, total: int) -> float:
    """Seconds of one upload, from its first byte to its answer."""
    began = perf_counter()
    with socket.create_connection(address) as connection, source.path.open("rb") as file:
        connection.sendall(_head("PUT", target, total))
        left = total
        while left:
            offset = (total - left) % source.size
            left -= os.sendfile(connection.fileno(), file.fileno(), offset, min(left, source.size - offset))
        status = int(connection.recv(65536).split(b" ", 2)[1])
    if status not in (200, 201):
        raise RuntimeError(f"an upload was answered {status}")
    return perf_counter() - began


def get(address: load.Address, target: str, total: int) -> float:
    """Seconds of one download, thrown away as it comes."""
    buffer = bytearray(4 * MIB)
    began = perf_counter()
    with socket.create_connection(address) as connection:
        connection.sendall(_head("GET", target, 0))
        seen = connection.recv_into(buffer)
        left = total - (seen - buffer.index(_HEAD_END) - len(_HEAD_END))
        while left:
            count = connection.recv_into(buffer)
            if not count:
                raise RuntimeError("a download broke off")
            left -= count
    return perf_counter() - began


def _head(method: str, target: str, length: int) -> bytes:
    """A signed head of a body that is told by its length alone."""
    head = signed.Daemon("bench").raw(method, target, b"")
    plain = head.replace(b"application/json", b"application/octet-stream")
    return plain.replace(b"Content-Length: 0", b"Content-Length: %d" % length)
