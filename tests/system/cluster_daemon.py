"""A real daemon of an ordinary user on a real Slurm, at a real server."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from cableferry.client.answers import Job, Transition
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import NotFound
from cableferry.wire.emx2.bodies import CreateBody
from tests.clusters import Cluster

SECONDS = 90
# an ordinary user, who may read the Python that root has installed for itself
_AS = ("setpriv", "--init-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


class ClusterDaemon:
    """Its folder, its configuration, and a client of its server."""

    def __init__(
        self, cluster: Cluster, server: str, client: Emx2, secret: str | None = None, places: int = 20
    ) -> None:
        self.cluster = cluster
        self.client = client
        self.folder = cluster.folder()
        self.worker_id = f"w-{self.folder.name}"
        self._upstream = {"base_url": server} | ({} if secret is None else {"worker_secret": secret})
        self._places = places
        self._profiles: dict[str, object] = {}
        self._running: subprocess.Popen[bytes] | None = None
        # what its configuration says besides
        self.worker: dict[str, object] = {}
        self.inputs: dict[str, object] = {}

    def offer(self, name: str, **said: object) -> None:
        """A profile `name:small`; a script is one of the host's programs."""
        script = said.pop("script", None)
        if script is not None:
            path = self.folder / f"{name}.sh"
            path.write_text(f"#!/bin/bash\n{script}\n")
            path.chmod(0o755)
            said["host_entrypoint"] = str(path)
        limits = {"cpus": 1, "memory": "100M", "time": "10", "environment": {"GATE": str(self.folder)}}
        self._profiles[f"{name}:small"] = {**limits, **said}

    def is_dead(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def start(self, *, path: str | None = None, more: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
        """It is stopped by `stop`; another PATH brings other commands of Slurm."""
        with (self.folder / "daemon.log").open("ab") as log:
            self._running = subprocess.Popen(
                [*self._command("run"), "--json-logs"],
                env={**self._environment(path), **(more or {})},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self._running

    def run(self, command: str, *options: str) -> "subprocess.CompletedProcess[str]":
        """One command to its end."""
        return subprocess.run(
            [*self._command(command), *options],
            env=self._environment(None),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def stop(self, number: int = signal.SIGTERM) -> float:
        """How long it took to end."""
        if self._running is None:
            return 0
        began = time.monotonic()
        self._running.send_signal(number)
        self._running.wait(SECONDS)
        self._running = None
        return time.monotonic() - began

    def log(self) -> str:
        return (self.folder / "daemon.log").read_text()

    def submit(self, name: str, parameters: object = None, timeout: int | None = None, inputs: object = None) -> str:
        said, needed = (msgspec.Raw(msgspec.json.encode(value)) for value in (parameters, inputs))
        body = CreateBody(name, "small", parameters=said, inputs=needed, timeout_seconds=timeout)
        return self.client.create(body).id

    def said(self, job: str) -> bytes:
        """What the job is known to have written so far."""
        try:
            return self.client.logs.read(job, "stdout")
        except NotFound:
            return b""

    def files(self, artifact: str | None) -> dict[str, bytes]:
        """What an artifact holds."""
        assert artifact is not None
        found: dict[str, bytes] = {}
        for file in self.client.artifacts.files(artifact):
            with self.client.artifacts.reading(artifact, file.path) as streaming:
                found[file.path] = streaming.whole().body
        return found

    def until(self, job: str, *statuses: str) -> Job:
        end, known = time.monotonic() + SECONDS, None
        while time.monotonic() < end:
            found = self.client.job(job, 0 if known is None else 10, known)
            if found is not None and found.status in statuses:
                return found
            known = found.revision if found is not None else known
        raise AssertionError(f"job {job} is not {statuses}: {self.client.job(job)}\n{self.log()[-4000:]}")

    def ended(self, job: str) -> Job:
        return self.until(job, "COMPLETED", "FAILED", "CANCELLED")

    def history(self, job: str) -> list[Transition]:
        return self.client.transitions(job)

    def place(self, job: str, name: str) -> Path:
        return self.folder / "jobs" / job / name

    def slurm(self, *command: str) -> str:
        return self.cluster.root(*command)

    def as_user(self, *command: str) -> str:
        """What a command prints to the user whose daemon it is."""
        user = self.cluster.user
        as_user = self.cluster.inside(*_AS, f"--reuid={user}", f"--regid={user}", *command)
        return subprocess.run(
            as_user,
            env=self._environment(None),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        ).stdout

    @contextlib.contextmanager
    def breathless(self) -> Iterator[None]:
        """While the controller holds its breath."""
        pid = int((Path(self.cluster.slurm_conf).parent.parent / "run" / "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _command(self, name: str) -> list[str]:
        config = self.folder / "config.yaml"
        sections = {
            "emx2": {**self._upstream, "worker_id": self.worker_id},
            "worker": {
                "state_db": str(self.folder / "state"),
                "max_concurrent_jobs": self._places,
                "poll_interval_seconds": 1,
                "keep_work_dirs": "always",
                **self.worker,
            },
            "inputs": self.inputs,
            "slurm": {"look_interval_seconds": 1, "command_timeout_seconds": 5},
            "apptainer": {"tmp_dir": str(self.folder / "jobs"), "command": self.cluster.apptainer},
            "profiles": self._profiles,
        }
        # every JSON document is YAML
        config.write_text(json.dumps(sections))
        program = "from cableferry.cli.main import emx2_daemon; emx2_daemon()"
        as_user = (*_AS, f"--reuid={self.cluster.user}", f"--regid={self.cluster.user}")
        return list(self.cluster.inside(*as_user, sys.executable, "-c", program, "-c", str(config), name))

    def _environment(self, path: str | None) -> Mapping[str, str]:
        return {"PATH": path or os.environ["PATH"], "HOME": str(self.folder), "SLURM_CONF": self.cluster.slurm_conf}
