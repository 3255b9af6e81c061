"""Makes sure that one daemon only uses a folder, on this machine and on others that share the disk."""

import contextlib
import fcntl
import os
import socket
from pathlib import Path
from typing import TextIO

import msgspec

from cableferry.daemon.config import BadConfig

FRESH_SECONDS = 120.0
_NAME = "worker.lock"


class Owner(msgspec.Struct, frozen=True):
    """Who uses a folder; a pid alone says nothing on a disk that several machines share."""

    host: str
    boot: str
    pid: int


class Sole:
    """Held until it is released or the process ends."""

    def __init__(self, state_dir: Path, jobs_dir: Path | None) -> None:
        self._files: list[TextIO] = []
        self._paths: list[Path] = []
        try:
            for folder in dict.fromkeys(filter(None, (state_dir, jobs_dir))):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._take(folder / _NAME)
        except BadConfig:
            self.release()
            raise
        except OSError as error:
            self.release()
            raise BadConfig(f"{error.filename} cannot be used: {error.strerror}") from error

    def _take(self, path: Path) -> None:
        file = path.open("a+")
        self._files.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadConfig(f"another worker uses {path.parent}: stop it, or set another folder") from None
        me = Owner(socket.gethostname(), _boot(), os.getpid())
        self._refuse_others(path, me)
        file.seek(0)
        file.truncate()
        file.write(msgspec.json.encode(me).decode())
        file.flush()
        self._paths.append(path)

    def _refuse_others(self, path: Path, me: Owner) -> None:
        """Some shared disks let two machines have the same lock: then what the other wrote, and how lately, counts."""
        try:
            owner = msgspec.json.decode(path.read_bytes(), type=Owner)
        except msgspec.DecodeError:
            return
        age = _server_time(path) - path.stat().st_mtime
        if owner.host != me.host and age < FRESH_SECONDS:
            raise BadConfig(
                f"another worker on {owner.host} used {path.parent} {age:.0f} s ago: stop it, set another folder,"
                f" or wait {FRESH_SECONDS - age:.0f} s if that machine is down"
            )

    def refresh(self) -> None:
        """Say again that we are here."""
        for path in self._paths:
            with contextlib.suppress(OSError):
                os.utime(path)

    def release(self) -> None:
        """The next one need not wait for our word to grow old."""
        for file in self._files:
            file.close()
        for path in self._paths:
            with contextlib.suppress(OSError):
                os.truncate(path, 0)
        self._files, self._paths = [], []


def _server_time(path: Path) -> float:
    """Now, by the clock of the disk's own machine."""
    probe = path.with_name(f".{_NAME}.{socket.gethostname()}.{os.getpid()}")
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
