"""Slurm's commands as programs that say again what the real ones said once."""

import shlex
from pathlib import Path

import pytest


class Recorded:
    """A folder at the head of PATH; each program notes how it was called."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._calls = folder / "calls"
        folder.mkdir()
        self._calls.touch()
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def say(self, program: str, out: str = "", err: str = "", code: int = 0) -> None:
        """From now on, the program says this."""
        (self._folder / f"{program}.out").write_text(out)
        (self._folder / f"{program}.err").write_text(err)
        files = shlex.quote(str(self._folder / program))
        self.play(program, f"cat {files}.out; cat {files}.err >&2; exit {code}")

    def play(self, program: str, script: str) -> None:
        path = self._folder / program
        note = f'printf "%s\\n" "{program} $*" >>{shlex.quote(str(self._calls))}'
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{note}\n{script}\n")
        path.chmod(0o755)

    def calls(self, program: str) -> list[str]:
        return [line for line in self._calls.read_text().splitlines() if line.startswith(f"{program} ")]
