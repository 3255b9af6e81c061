"""How a daemon stands, written down for whoever asks, and told to the service manager if there is one."""

import contextlib
import os
import socket
from pathlib import Path

import msgspec

from cableferry import failpoints
from cableferry.core.jobs import State
from cableferry.daemon.held import Held, Stage, Stop

FILE = "status.json"


class Job(msgspec.Struct, frozen=True):
    """A held job without what its submitter said: that is nobody else's business, and may be long."""

    id: str
    name: str
    folder: str
    processor: str
    profile: str | None
    stage: Stage
    told: State
    called: str | None
    claimed_at: float
    submitted_at: float | None
    started_at: float | None
    stop: Stop | None
    tries: int
    remark: str | None


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong, with whom or with which job."""

    at: float
    about: str
    reason: str


class Standing(msgspec.Struct, frozen=True):
    """What a daemon holds and what it waits for; times are seconds since 1970."""

    worker_id: str
    server: str
    started_at: float
    written_at: float
    server_trouble: str | None = None
    scheduler_trouble: str | None = None
    displaced: str | None = None
    disk_trouble: str | None = None
    jobs: list[Job] = []
    troubles: list[Trouble] = []


def shown(held: Held) -> Job:
    return Job(
        held.id, held.name, held.folder, held.processor, held.profile, held.stage, held.told, held.called,
        held.claimed_at, held.submitted_at, held.started_at, held.stop, held.tries, held.remark,
    )  # fmt: skip


def write(state_dir: Path, standing: Standing) -> None:
    part = state_dir / f"{FILE}.part"
    try:
        with failpoints.crossing("file", "status"):
            part.write_bytes(msgspec.json.encode(standing))
            part.replace(state_dir / FILE)
    except OSError:
        _squeeze(state_dir / FILE, part, standing)


def _squeeze(path: Path, part: Path, standing: Standing) -> None:
    """A full disk still takes what was there already: all but the jobs, in the place of the last word."""
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
        said = msgspec.json.encode(msgspec.structs.replace(standing, jobs=[]))
        with path.open("r+b") as file:
            file.write(said.ljust(os.fstat(file.fileno()).st_size))


def read(state_dir: Path) -> Standing | None:
    """What a daemon wrote last, None if none ever did."""
    try:
        return msgspec.json.decode((state_dir / FILE).read_bytes(), type=Standing)
    except (FileNotFoundError, msgspec.DecodeError):
        # one of another version says nothing until this one has run
        return None


def notify(message: str) -> None:
    """Tell systemd, when it is systemd that started us."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    # a manager that does not listen is no reason to end
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line,
    ):
        line.connect(f"\0{address[1:]}" if address[0] == "@" else address)
        line.sendall(message.encode())
