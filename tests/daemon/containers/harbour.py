"""A real server with a shared folder, and real workers as processes of their own."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.cli.ferry import FERRY, environment
from tests.dialects.opeva.port import Port

QUICK = (
    *("--poll-seconds", "0.2", "--status-seconds", "0.3", "--heartbeat-seconds", "0.5", "--stop-seconds", "1"),
    *("--max-jobs", "3"),
)
APPTAINER = Path("/opt/apptainer/usr/bin")
# what stands for a simulator: it reads its configuration and does what that says
SIMULATOR = """
while [ $# -gt 0 ]; do
  case $1 in --config) config=$2; shift 2;; --job_id) job=$2; shift 2;; *) shift;; esac
done
root=${config%/*}; root=${root%/configs}; root=${root%/jobs/*}
echo "job $job says: $GREETING"
while read -r line; do case $line in 'do: '*) eval "${line#do: }";; esac; done < "$config"
mkdir -p "$root/jobs/$job/results"
echo '{"kpi": 1}' > "$root/jobs/$job/results/result.json"
"""


class Worker:
    """One `cableferry worker run`, which may die and be started again."""

    def __init__(self, port: Port, home: Path, name: str, *flags: str) -> None:
        self._home = home
        self._log = home / f"{name}.log"
        address = f"http://127.0.0.1:{port.client.port}"
        self._command = [
            *(*FERRY, "worker", "run", "--server", address, "--worker-id", name, "--shared-dir", str(port.share)),
            *("--work-dir", str(home / name), *QUICK, *flags),
        ]
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> "Worker":
        with self._log.open("ab") as log:
            path = f"{APPTAINER}:{os.environ['PATH']}"
            surroundings = environment(self._home, {"PATH": path})
            self._running = subprocess.Popen(self._command, stdout=log, stderr=log, env=surroundings)
        return self

    def kill(self) -> None:
        assert self._running is not None
        self._running.kill()
        self._running.wait(20)

    def stop(self) -> int:
        assert self._running is not None
        self._running.send_signal(signal.SIGTERM)
        return self._running.wait(20)

    @property
    def said(self) -> str:
        return self._log.read_text()


@contextlib.contextmanager
def working(port: Port, home: Path, name: str, *flags: str) -> Iterator[Worker]:
    """A worker until the block ends, with a simulator in place of an image."""
    script = port.share / "simulator.sh"
    port.share.mkdir(exist_ok=True)
    script.write_text(SIMULATOR)
    worker = Worker(port, home, name, *(flags or ("--executor", "process", "--entrypoint", f"sh {script}")))
    worker.start()
    try:
        yield worker
    finally:
        worker.kill()
        _end_runs(home / name)


def _end_runs(folder: Path) -> None:
    """What a worker left running outlives it by design, but not its test."""
    for note in folder.glob("runs/*/run.json"):
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.killpg(int(note.read_text().partition(":")[2].strip(" }")), signal.SIGKILL)


def doing(port: Port, *lines: str, host: str | None = None) -> str:
    """A job whose configuration says what to do."""
    text = "".join(f"do: {line}\n" for line in lines) or "do: true\n"
    name = f"{abs(hash(lines))}.yaml"
    assert 200 == port.post("/experiment-config/create", {"file_name": name, "yaml_content": text}).status
    reply = port.post("/run-simulation", {"config_path": name, "target_host": host})
    return str(reply.json["job_id"])
