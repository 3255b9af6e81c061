"""Real daemon processes on this machine, which can be stopped, held up and killed at any moment."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cableferry.daemon.standing import Standing
from tests.cli import ferry as program

SECONDS = 60
RUN = (sys.executable, "-m", "cableferry.cli.main", "daemon")


class Local:
    """One daemon whose jobs are commands of this machine; what it says goes to a file in its folder."""

    def __init__(
        self, folder: Path, server: str, worker_id: str = "w1", *, jobs: Path | None = None, **said: object
    ) -> None:
        """What is `said` goes into the section of the worker."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.worker_id = worker_id
        self.state = folder / "state.cableferry"
        self.jobs = jobs or folder / "jobs"
        self._server = server
        self._said = said
        self._profiles: dict[str, object] = {}
        self._running: subprocess.Popen[bytes] | None = None

    def offer(self, name: str, script: str, **said: object) -> None:
        """A processor that runs a script."""
        path = self.folder / f"{name}.sh"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        self._profiles[f"{name}:small"] = {"host_entrypoint": str(path), **said}

    def says(self, **said: object) -> None:
        """More for the section of the worker, or other than before."""
        self._said |= said

    @property
    def processors(self) -> set[str]:
        return {label.rpartition(":")[0] for label in self._profiles}

    def is_dead(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def start(self, more: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
        with (self.folder / "daemon.log").open("ab") as log:
            self._running = subprocess.Popen(
                [*RUN, "run", "-c", str(self._file()), "--json-logs"],
                env=program.environment(self.folder, more),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self._running

    def signal(self, number: int) -> None:
        assert self._running is not None
        self._running.send_signal(number)

    def stop(self) -> None:
        """Whatever state it is in."""
        if self._running is not None:
            for number in (signal.SIGTERM, signal.SIGCONT):
                self._running.send_signal(number)
            self._running.wait(SECONDS)
            self._running = None

    def status(self) -> Standing | None:
        """What its command says of it, nothing before it has a word to say."""
        asked = subprocess.run(
            [*RUN, "status", "-c", str(self._file()), "--json"],
            env=program.environment(self.folder),
            capture_output=True,
            timeout=SECONDS,
        )
        return msgspec.convert(json.loads(asked.stdout)["standing"], Standing) if asked.stdout else None

    def events(self, event: str) -> list[dict[str, object]]:
        """The lines of its log about one kind of event."""
        lines = (self.folder / "daemon.log").read_text().splitlines()
        said = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in said if line["event"] == event]

    def _file(self) -> Path:
        file = self.folder / "config.yaml"
        sections = {
            "emx2": {"base_url": self._server, "worker_id": self.worker_id},
            "worker": {
                "state_db": str(self.folder / "state"),
                "backend": "local",
                "max_concurrent_jobs": 10,
                **self._said,
            },
            "apptainer": {"tmp_dir": str(self.jobs)},
            "profiles": self._profiles,
        }
        # every JSON document is YAML
        file.write_text(json.dumps(sections))
        return file
