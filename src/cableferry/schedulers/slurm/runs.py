"""The folder of one run on the shared disk: what the batch script reads there, and what it leaves."""

import os
import re
from pathlib import Path

import msgspec

from cableferry.schedulers import shared
from cableferry.schedulers.protocol import Order, Usage

SCRIPT = Path(__file__).with_name("batch.sh")
DUPLICATE = 117
UNUSABLE = 118
_MOST = 4096
# what a shell says of the time that its children took: 0m0.002s 0m0.001s
_TIMES = re.compile(r"(\d+)m(\d+(?:\.\d+)?)s")


class Status(msgspec.Struct, frozen=True):
    """How the payload of a run ended, by the word of the script that ran it; what was stopped may end with 0."""

    job: str
    exit_code: int
    was_stopped: bool = False
    seconds: int | None = None
    cpu: str = ""
    peak_bytes: int | None = None

    @property
    def signal(self) -> int | None:
        """A shell says 128 and the signal's number."""
        return self.exit_code - 128 if 128 < self.exit_code <= 192 else None

    @property
    def usage(self) -> Usage:
        """What the script measured; the memory is that of its largest process."""
        parts = [float(minutes) * 60 + float(seconds) for minutes, seconds in _TIMES.findall(self.cpu)]
        return Usage(self.seconds, round(sum(parts), 3) if parts else None, self.peak_bytes)


def prepare(run: Path, order: Order) -> None:
    """All that the script reads, on the disk before anybody can look for it."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(run / "launch", _words([f"{name}={value}" for name, value in order.environment.items()] + [*order.command]))
    _write(run / "modules", _words(order.resources.modules))
    if order.resources.may_restart:
        _write(run / "may-restart", b"")
    _write(run / "job.sh", SCRIPT.read_bytes())


def status(run: Path) -> Status | None:
    """What the script left, if it is there to be seen."""
    try:
        status = msgspec.json.decode(_read(run / "status.json"), type=Status)
    except (OSError, msgspec.DecodeError):
        return None
    return msgspec.structs.replace(status, peak_bytes=_peak(run))


def _peak(run: Path) -> int | None:
    """What the script's last act left, on a node that has a program for it."""
    try:
        return int(_read(run / "peak"))
    except (OSError, ValueError):
        return None


def was_put_back(run: Path) -> bool:
    """Whether its job began once more, and went away again because it may run only once."""
    try:
        return "put-back" in os.listdir(run)
    except OSError:
        return False


def holder(run: Path) -> str | None:
    """The job that passed the fence, if one did."""
    try:
        return _read(run / "fence").decode("ascii", "replace").partition(".")[0] or None
    except OSError:
        return None


def _read(path: Path) -> bytes:
    with os.fdopen(shared.opened(path), "rb") as file:
        return file.read(_MOST)


def _words(words: "list[str] | tuple[str, ...]") -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    part.rename(path)
