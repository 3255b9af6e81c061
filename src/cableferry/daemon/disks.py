"""Whether there is room on the disks that a daemon writes on; without any, it claims nothing more."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import structlog

log = structlog.get_logger()

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# what could not be written is tried again after so long
REST_SECONDS = 5.0


class Disks:
    """The folders, each with at least so much room; instants are those of a clock that is never set."""

    def __init__(self, worker_id: str, folders: Sequence[Path], least_bytes: int) -> None:
        self._worker_id = worker_id
        self._folders = tuple(dict.fromkeys(folders))
        self._least_bytes = least_bytes
        self._hit: str | None = None
        self._hit_until = 0.0
        self.trouble: str | None = None

    def hit(self, reason: str, now: float) -> None:
        """Somebody wanted to write and could not, whatever the disk says of its room."""
        self._hit, self._hit_until = reason, now + REST_SECONDS
        self.look(now)

    def look(self, now: float) -> None:
        """Say what is full once it is, and that it is no longer so."""
        found = self._hit if now < self._hit_until else next(filter(None, map(self._full, self._folders)), None)
        if found is not None and self.trouble is None:
            log.warning("disk full", worker=self._worker_id, reason=found)
        if found is None and self.trouble is not None:
            log.info("disk has room again", worker=self._worker_id)
        self.trouble = found

    def rests(self, now: float) -> bool:
        """Whether it is too early to write again."""
        return now < self._hit_until

    def _full(self, folder: Path) -> str | None:
        try:
            seen = os.statvfs(folder)
        except OSError as error:
            return f"{folder}: {error.strerror}"
        free = seen.f_bavail * seen.f_frsize
        if free >= self._least_bytes:
            return None
        return f"{folder} has {free / 2**20:.0f} MiB left: no new jobs before it has {self._least_bytes / 2**20:.0f}"
