"""Runs jobs on this machine, each as a process group that outlives whoever started it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import msgspec

from cableferry import failpoints
from cableferry.schedulers import wrapper
from cableferry.schedulers.protocol import (
    Accepted,
    Ending,
    Found,
    Order,
    Phase,
    Refused,
    Sighting,
    Snapshot,
    Submission,
    Ticket,
)


class _Started(msgspec.Struct, frozen=True):
    """Who runs: a pid is reused one day, a pid that began at that tick of that boot is not."""

    pid: int
    began: str


class _Pid(msgspec.Struct, frozen=True):
    pid: int


class _NotStarted(Exception):
    """It does not run; `may_pass` says that it may when it is started again."""

    def __init__(self, why: str, may_pass: bool = False) -> None:
        super().__init__(why)
        self.may_pass = may_pass


class Local:
    """The jobs of one folder; each has a folder of its own, made once and never twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def submit(self, order: Order) -> Submission:
        try:
            return Accepted(self._submit(order))
        except _NotStarted as error:
            return Refused(str(error), error.may_pass)
        except OSError as error:
            return Refused(f"{order.name} has no folder: {error}", may_pass=True)

    def _submit(self, order: Order) -> Ticket:
        """Of several starts under one name, however they end, the first to note itself runs the command."""
        run = self._run(order.name)
        with failpoints.crossing("run", "prepare"):
            run.mkdir(mode=0o700, exist_ok=True)
        if (known := self._find(order.name)) is not None:
            return known
        with failpoints.crossing("run", "start"):
            pid = self._start(order, run)
        if pid is None:
            return self._first(order.name)
        # the wrapper's own note is there already, and does as well
        with failpoints.crossing("run", "note"), contextlib.suppress(OSError):
            _write(run / "started.json", _Started(pid, _began(pid) or ""))
        return _ticket(order.name, pid)

    def _first(self, name: str) -> Ticket:
        if (known := self._find(name)) is None:
            raise _NotStarted(f"{name} ended before it began", may_pass=True)
        return known

    def _start(self, order: Order, run: Path) -> int | None:
        """Start the wrapper and wait until it has noted itself, so that no crash of ours can lose it.

        None when it did not: an earlier one has, or it could not.
        """
        ready, told = os.pipe()
        try:
            subprocess.run(
                _wrapped(order, run, told),
                cwd=order.work_dir,
                env=dict(order.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(told,),
                check=True,
            )
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise _NotStarted(f"{order.name} cannot be started: {error}") from error
        finally:
            os.close(told)
            with os.fdopen(ready, "rb") as pipe:
                pid = pipe.read()
        return int(pid) if pid else None

    def find(self, name: str, since: float) -> Found:
        known = self._find(name)
        # one that is still to note itself gives way to one that is started later
        return Found(True, () if known is None else (known,), is_final=True)

    def _find(self, name: str) -> Ticket | None:
        started = self._started(self._run(name))
        return None if started is None else _ticket(name, started.pid)

    def sight(self, tickets: Collection[Ticket], now: float) -> Snapshot:
        return Snapshot(True, now, {ticket.name: self._sight(self._run(ticket.name)) for ticket in tickets})

    def _sight(self, run: Path) -> Sighting:
        # alive is asked first: what ended in between has left its note by then
        is_alive = self._is_alive(run)
        if (run / "exit.json").exists():
            ended = msgspec.json.decode((run / "exit.json").read_bytes(), type=dict[str, int])
            ending = Ending.DONE if ended.get("exit_code") == 0 else Ending.FAILED
            return Sighting(Phase.ENDED, ended.get("exit_code"), ended.get("signal"), ending)
        return Sighting(Phase.RUNNING if is_alive else Phase.GONE)

    def cancel(self, ticket: Ticket, is_urgent: bool) -> bool:
        run = self._run(ticket.name)
        started = self._started(run)
        if started is not None and self._is_alive(run):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL if is_urgent else signal.SIGTERM)
        return True

    def _is_alive(self, run: Path) -> bool:
        started = self._started(run)
        return started is not None and started.began != "" and _began(started.pid) == started.began

    def _started(self, run: Path) -> _Started | None:
        """Our own note; after a crash between the start and that note, the wrapper's."""
        if (run / "started.json").exists():
            return msgspec.json.decode((run / "started.json").read_bytes(), type=_Started)
        if not (run / "run.json").exists():
            return None
        pid = msgspec.json.decode((run / "run.json").read_bytes(), type=_Pid).pid
        return _Started(pid, _began(pid) or "" if _is_wrapper_of(pid, run) else "")

    def _run(self, name: str) -> Path:
        if not name or "/" in name or name.startswith("."):
            raise _NotStarted(f"{name!r} is no name for a folder")
        return self._folder / name


def _wrapped(order: Order, run: Path, told: int) -> list[str]:
    apart = [os.path.join(order.output_dir, name) for name in ("stdout.log", "stderr.log")]
    files = apart if order.log_file is None else [order.log_file] * 2
    return [sys.executable, "-I", "-S", wrapper.__file__, str(run), str(told), *files, "--", *order.command]


def _ticket(name: str, pid: int) -> Ticket:
    return Ticket(name, f"local-{pid}")


def _began(pid: int) -> str | None:
    """When a living process began, as boot and tick; None for the dead and for zombies."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # the second field is the program's name in brackets and may hold anything
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"


def _is_wrapper_of(pid: int, run: Path) -> bool:
    try:
        return os.fsencode(run) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _write(path: Path, note: msgspec.Struct) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write(msgspec.json.encode(note))
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
