"""Real server processes, as an operator starts them, that can be killed at any moment."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import IO, cast

SECONDS = 30
_SERVE = (sys.executable, "-m", "cableferry.cli.main", "serve", "--port", "0", "--log-format", "json")
_LISTENING = b'"event":"server listening"'


class Process:
    """`cableferry serve` on a free port; what it says goes to a file in its folder."""

    def __init__(self, folder: Path, *flags: str, settings: Mapping[str, str] | None = None) -> None:
        self._running = subprocess.Popen(
            [*_SERVE, "--data-dir", str(folder), *flags],
            env={**_outside(), **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._said: SimpleQueue[bytes | None] = SimpleQueue()
        self._log = folder / f"server-{self._running.pid}.log"
        self._reader = threading.Thread(target=self._listen)
        self._reader.start()
        self.port = self._port()

    def kill(self) -> None:
        """End it as a power cut would, between any two of its instructions."""
        self._running.kill()
        self._end()

    def is_dead(self) -> bool:
        return self._running.poll() is not None

    def stop(self) -> None:
        self._running.terminate()
        self._end()

    def _end(self) -> None:
        self._running.wait(SECONDS)
        self._reader.join(SECONDS)

    def _listen(self) -> None:
        """Keep what it says, so that it never waits for us, and pass on its address."""
        with self._log.open("wb", buffering=0) as log, cast(IO[bytes], self._running.stdout) as lines:
            for line in lines:
                log.write(line)
                if _LISTENING in line:
                    self._said.put(line)
        self._said.put(None)

    def _port(self) -> int:
        """Connections wait for the server from the moment it names its port."""
        line = self._said.get(timeout=SECONDS)
        if line is None:
            self._end()
            raise RuntimeError(f"the server did not start: {self._log.read_text()[-2000:]}")
        return int(json.loads(line)["address"].rpartition(":")[2])


@contextlib.contextmanager
def running(folder: Path, *flags: str, settings: Mapping[str, str] | None = None) -> Iterator[Process]:
    """One that is stopped when the block ends."""
    process = Process(folder, *flags, settings=settings)
    try:
        yield process
    finally:
        process.stop()


def _outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("CABLEFERRY_")}
