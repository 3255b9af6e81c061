"""What the demo plays on: a server, a worker and one job, all real, all gone afterwards."""

import contextlib
import json
import os
import secrets as chance
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cableferry.cli import following, place, secrets
from cableferry.cli.exits import Exit, Failure
from cableferry.client import emx2
from cableferry.client.answers import Job, Transition
from cableferry.client.emx2 import Credentials, Emx2
from cableferry.client.schemes import Bearer
from cableferry.core.access import Role
from cableferry.engine import tokens, users
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Ticket
from cableferry.server.passwords import Passwords
from cableferry.store.tx import Tx
from cableferry.wire.emx2.bodies import CreateBody

WORKER = "demo-worker"
OWNER = "demo"
PROCESSOR = "count-primes"
BELOW = 30_000
PRIMES = 3_245
START_SECONDS = 15.0
JOB_SECONDS = 30.0
STOP_SECONDS = 10.0

COMMAND = """
import json, os, time
below = json.loads(os.environ["HPC_PARAMETERS"])["below"]
output = os.environ["HPC_OUTPUT_DIR"]
is_prime = [False, False] + [True] * (below - 2)
parts, part = 5, 0
with open(os.path.join(output, ".hpc_progress.jsonl"), "w", buffering=1) as progress:
    for n in range(below):
        if n >= part * below // parts:
            said = {"phase": "count", "message": f"up to {n}", "progress": n / below}
            print(json.dumps(said), file=progress)
            time.sleep(0.4)
            part += 1
        if is_prime[n]:
            is_prime[n * n :: n] = [False] * len(range(n * n, below, n))
with open(os.path.join(output, "primes.json"), "w") as result:
    json.dump({"below": below, "primes": sum(is_prime)}, result)
"""

SCHEMA = {
    "type": "object",
    "properties": {
        "below": {
            "type": "integer",
            "title": "Below",
            "description": "Primes smaller than this are counted.",
            "minimum": 2,
            "maximum": 10_000_000,
            "default": BELOW,
        },
    },
    "required": ["below"],
}


class Shown(msgspec.Struct, frozen=True):
    """What the demo has to show: the job, its history and its output."""

    job: Job
    history: list[Transition]
    file: Path
    content: str

    def document(self) -> dict[str, object]:
        return {
            "job": self.job,
            "history": self.history,
            "output": {"file": str(self.file), "content": self.content},
        }


@contextlib.contextmanager
def raised(folder: Path) -> Iterator[tuple[str, Emx2]]:
    """A server and a worker in a folder: the address, and a client of the owner's."""
    token = _owner(folder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_process(folder, "server", "serve", "--port", "0"))
        server = _address(folder / "server.log")
        client = emx2.connect(server, Bearer(token))
        stack.callback(client.close)
        _configure(folder, server, client)
        stack.callback(_end_jobs, folder / "jobs")
        stack.enter_context(_process(folder, "worker", "local-worker", "--config", str(folder / "worker.toml")))
        yield server, client


def play(client: Emx2, folder: Path) -> Shown:
    """Submit the job, follow it, and make sure that its output is right."""
    parameters = msgspec.Raw(msgspec.json.encode({"below": BELOW}))
    job = following.to_end(client, client.create(CreateBody(PROCESSOR, parameters=parameters)).id, JOB_SECONDS)
    file = folder / "jobs" / job.id / "output" / "primes.json"
    content = file.read_text() if file.exists() else ""
    if job.status != "COMPLETED" or not _is_right(content):
        raise Failure(
            f"the job is {job.status} ({job.detail}) and its output is {content!r}\n{_last(folder / 'worker.log')}",
            Exit.JOB_FAILED,
        )
    return Shown(job, client.transitions(job.id), file, content)


def _is_right(content: str) -> bool:
    return content == json.dumps({"below": BELOW, "primes": PRIMES})


def _owner(folder: Path) -> str:
    """The token of an Owner, in a database that has one, and a password for the dashboard; both new at each start."""
    settings = place.settings(None, {"database.data_dir": str(folder / "data"), "database.url": None})
    password = chance.token_urlsafe(12)
    hashed = Passwords().hash(OWNER, password)
    with place.opened(settings, is_made=True) as store:
        text = store.write(lambda tx: _granted(tx, hashed))
    _write(folder / "token", text)
    _write(folder / "password", password)
    return text


def _granted(tx: Tx, password: str) -> str:
    if not users.find(tx):
        users.create(tx, OWNER, Role.OWNER, None)
    users.set_password(tx, OWNER, password)
    return tokens.grant(tx, OWNER, tokens.Wanted(Role.OWNER, "demo")).text


def _configure(folder: Path, server: str, client: Emx2) -> None:
    """The worker's secret and settings."""
    credential = client.rotate_credential(WORKER, Credentials("demo"))
    _write(folder / "worker.secret", f"{credential.secret}")
    lines = {"worker_id": WORKER, "server": server, "work_dir": "jobs", "secret_file": "worker.secret"}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
    command = json.dumps([sys.executable, "-I", "-c", COMMAND])
    _write(folder / "parameters.json", json.dumps(SCHEMA))
    named = f'command = {command}\nparameters_schema_file = "parameters.json"\n'
    _write(folder / "worker.toml", f"{text}\n[processors.{PROCESSOR}]\n{named}")


def _write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with secrets.create(str(path)) as file:
        file.write(text)


@contextlib.contextmanager
def _process(folder: Path, name: str, *arguments: str) -> Iterator[None]:
    """One of our own programs with its log in the folder, stopped at the end."""
    with (folder / f"{name}.log").open("wb") as log:
        # a session of its own: Ctrl-C is for us, and we stop them in order
        process = subprocess.Popen(
            [sys.executable, "-m", "cableferry.cli.main", *arguments],
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        _stop(process)


def _environment(folder: Path) -> dict[str, str]:
    """Ours without settings that are meant for another server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CABLEFERRY_", "MOLGENIS_"))}
    return kept | {"CABLEFERRY_DATABASE__DATA_DIR": str(folder / "data")}


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address(log: Path) -> str:
    """Where the server says it listens."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        for line in log.read_text().splitlines():
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, dict) and said.get("event") == "server listening":
                    return str(said["address"])
        time.sleep(0.02)
    raise Failure(f"the server did not start:\n{_last(log)}", Exit.OTHER)


def _end_jobs(folder: Path) -> None:
    """The worker leaves its jobs running when it stops; the demo does not."""
    runs = Local(folder / "runs")
    for run in _names(folder / "runs"):
        runs.cancel(Ticket(run, ""), is_urgent=True)


def _names(folder: Path) -> Sequence[str]:
    return [run.name for run in folder.iterdir() if run.is_dir()]


def _last(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-8:])
