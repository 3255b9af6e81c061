"""A process whose system refuses one call, which then tries to put bytes into a folder: `refusing CALL FOLDER SIZE`."""

import asyncio
import ctypes
import errno
import hashlib
import platform
import struct
import sys
from pathlib import Path

from cableferry.store.blobs.local import LocalBlobs
from cableferry.store.failures import BlobsUnavailable

NEW_HASHER = hashlib.sha256
_NUMBERS = {"x86_64": {"fsync": 74, "fdatasync": 75}, "aarch64": {"fsync": 82, "fdatasync": 83}}
_NO_NEW_PRIVILEGES, _SECCOMP, _BY_FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EIO


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def refuse(call: str) -> None:
    """From now on that call of every thread of this process fails as on a broken disk."""
    number = _NUMBERS[platform.machine()][call]
    steps = b"".join(
        struct.pack("HBBI", *step)
        for step in ((_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(4, steps)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _BY_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "this system filters no calls")


async def _put(blobs: LocalBlobs, size: int) -> str:
    sink = blobs.sink()
    try:
        await sink.write(bytes(size))
        await sink.finish()
    except BlobsUnavailable:
        return "refused"
    finally:
        await sink.abandon()
    return "stored"


def main(call: str, folder: str, size: str) -> None:
    blobs = LocalBlobs(Path(folder))
    refuse(call)
    print(asyncio.run(_put(blobs, int(size))))  # noqa: T201  # how the parent hears of it


if __name__ == "__main__":
    main(*sys.argv[1:])
