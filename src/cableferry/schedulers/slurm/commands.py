"""Runs Slurm's commands with an environment of their own and a limit to their time."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from cableferry import failpoints

# settings of other people's submissions, and secrets of ours, are no business of Slurm's commands
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "TZ")


class Ran(msgspec.Struct, frozen=True):
    """How a command ended; without a code it did not end in its time, or never began."""

    code: int | None
    out: str
    err: str

    @property
    def is_ok(self) -> bool:
        return self.code == 0

    @property
    def trouble(self) -> str:
        """Its last words, in one line."""
        said = " ".join(self.err.split()) or " ".join(self.out.split())
        return said[-500:] or f"exit code {self.code}"


def run(command: Sequence[str], seconds: float) -> Ran:
    """The end of a command; one that takes too long is killed with all its children."""
    with failpoints.crossing("command", command[0]):
        return _run(command, seconds)


def _run(command: Sequence[str], seconds: float) -> Ran:
    try:
        process = subprocess.Popen(
            command,
            env=environment(os.environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(None, "", f"{command[0]} cannot be run: {error.strerror}")
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            out, err = process.communicate()
            return Ran(None, _text(out), f"{command[0]} gave no answer in {seconds:g} s")
    return Ran(process.returncode, _text(out), _text(err))


def told(command: Sequence[str], seconds: float, tell: Callable[[str, bool, float], object]) -> Ran:
    """The same, for whoever counts: which program, whether it went well, how long it took."""
    began = time.monotonic()
    ran = run(command, seconds)
    tell(command[0], ran.is_ok, time.monotonic() - began)
    return ran


def untold(program: str, is_ok: bool, seconds: float) -> None:
    """For whoever does not count."""


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What Slurm's commands see; times come as seconds, words in English."""
    kept = {name: ours[name] for name in _KEPT if name in ours}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **kept, "LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "%s"}


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
