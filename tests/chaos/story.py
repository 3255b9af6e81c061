"""One worker's jobs from their creation to their end, whoever dies meanwhile, and what must be true of them then."""

import contextlib
import hashlib
import os
import select
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from cableferry.client.answers import Artifact, Job
from cableferry.client.artifacts import Description, Wanted
from cableferry.client.emx2 import Emx2
from cableferry.client.errors import Trouble
from cableferry.client.http import Content
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from cableferry.wire.emx2.bodies import CreateBody
from tests.chaos.daemons import Local

SECONDS = 300.0
INPUT = {"a.txt": b"ferry\n" * 500, "deep/b.bin": bytes(range(256)) * 700}
# every run of a command leaves a line where no daemon and no server looks
WORK = (
    'echo "work $HPC_JOB_ID" >>"$TALLY"; cat "$HPC_INPUT_DIR"/named/a.txt "$HPC_INPUT_DIR"/named/deep/b.bin'
    ' >"$HPC_OUTPUT_DIR/both"; mkdir "$HPC_OUTPUT_DIR/more"; sha256sum <"$HPC_OUTPUT_DIR/both"'
    ' >"$HPC_OUTPUT_DIR/more/sum"; echo \'{"phase": "done"}\' >>"$HPC_OUTPUT_DIR/.hpc_progress.jsonl"; echo said'
)
FAIL = 'echo "fail $HPC_JOB_ID" >>"$TALLY"; echo why >&2; exit 3'
STOP = 'echo "stop $HPC_JOB_ID" >>"$TALLY"; echo begun; exec sleep 600'
LARGE = (
    'echo "large $HPC_JOB_ID" >>"$TALLY"; head -c 34000000 /dev/zero | tr "\\0" x >"$HPC_OUTPUT_DIR/large"; echo said'
)
BOTH = b"".join(INPUT.values())
OUTPUTS = {
    "work": {"both": BOTH, "more/sum": hashlib.sha256(BOTH).hexdigest().encode() + b"  -\n"},
    "large": {"large": b"x" * 34_000_000},
}
LOGS = {"work": {"stdout.log": b"said\n"}, "fail": {"stderr.log": b"why\n"}, "large": {"stdout.log": b"said\n"}}
ENDS = {"work": "COMPLETED", "fail": "FAILED", "stop": "CANCELLED", "large": "COMPLETED"}
SCRIPTS = {"work": WORK, "fail": FAIL, "stop": STOP, "large": LARGE}
USUAL = ("work", "fail", "stop")


class Faults(NamedTuple):
    """What went wrong with the jobs of one round; without any, all is well."""

    lost: int = 0
    twice: int = 0
    duplicate: int = 0
    stuck: int = 0
    differs: int = 0

    def __add__(self, other: "Faults") -> "Faults":  # type: ignore[override]  # sums, not a longer tuple
        return Faults(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Story:
    """The jobs of one round; `daemon` may be killed and started again at any time."""

    def __init__(self, daemon: Local, client: Emx2, kinds: tuple[str, ...] = USUAL, *, is_plain: bool = False) -> None:
        """A plain server takes each creation for a new one, so an empty artifact may stay there for it to collect."""
        self._is_plain = is_plain
        self.daemon = daemon
        self._client = client
        self._tally = daemon.folder / "tally"
        self._jobs: dict[str, str] = {}
        for kind in kinds:
            daemon.offer(self._processor(kind), SCRIPTS[kind], environment={"TALLY": str(self._tally)})

    def begin(self) -> None:
        """One job of each kind, after what they need is there."""
        for kind in self._kinds():
            inputs = msgspec.json.encode({"named": self._input()} if kind == "work" else {})
            body = CreateBody(self._processor(kind), "small", inputs=msgspec.Raw(inputs))
            self._jobs[kind] = self._client.create(body).id

    def to_its_end(self, look: Callable[[], object]) -> None:
        """Until all is over everywhere, or for as long as anybody would wait; `look` is called in between."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not self._is_over():
            look()
            select.select((), (), (), 0.05)

    def faults(self) -> Faults:
        """What the server, the daemon's journal and the tally say once nothing is left to happen."""
        jobs = {kind: self._client.job(id_) for kind, id_ in self._jobs.items()}
        runs = Counter(self._tally.read_text().split("\n") if self._tally.exists() else ())
        found = Faults(stuck=len(_held(self.daemon)) + _running(self.daemon.folder))
        for kind, job in jobs.items():
            assert job is not None
            found += self._faults(kind, job, runs[f"{kind} {job.id}"])
        return found

    def run_again(self, kind: str) -> None:
        """The mark that a second run of its command leaves."""
        with self._tally.open("a") as tally:
            tally.write(f"{kind} {self._jobs[kind]}\n")

    def told(self) -> str:
        """What the server says of the jobs, for whoever has to find out what went wrong."""
        jobs = [self._client.job(id_) for id_ in self._jobs.values()]
        return "; ".join(f"{job.id} {job.status} {job.detail}" for job in jobs if job is not None)

    def _faults(self, kind: str, job: Job, runs: int) -> Faults:
        is_lost = job.status != ENDS[kind] or (kind != "stop" and runs == 0)
        artifacts = list(self._client.artifacts.find(Wanted(job_id=job.id)))
        open_ones = [artifact for artifact in artifacts if artifact.status not in ("COMMITTED", "FAILED")]
        if self._is_plain:
            open_ones = [artifact for artifact in open_ones if self._files(artifact.id)]
        kinds = Counter(artifact.type for artifact in artifacts if artifact.status == "COMMITTED")
        return Faults(
            int(is_lost and job.is_final),
            int(runs > 1),
            sum(max(0, count - 1) for count in kinds.values()),
            int(not job.is_final) + len(open_ones),
            int(not is_lost and not self._is_as_written(kind, job, artifacts)),
        )

    def _is_as_written(self, kind: str, job: Job, artifacts: list[Artifact]) -> bool:
        if kind == "stop":
            return True
        logs = self._files(job.log_artifact_id)
        # a stream in which nothing was said may be there or not
        said = {name: content for name, content in logs.items() if content}
        output = self._files(job.output_artifact_id)
        output.pop(".hpc_progress.jsonl", None)
        named = {job.log_artifact_id, job.output_artifact_id} - {None}
        is_all = named == {artifact.id for artifact in artifacts if artifact.status == "COMMITTED"}
        return is_all and said == LOGS[kind] and output == OUTPUTS.get(kind, {})

    def _files(self, artifact: str | None) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for file in self._client.artifacts.files(artifact) if artifact is not None else ():
            with self._client.artifacts.reading(artifact or "", file.path) as streaming:
                found[file.path] = streaming.whole().body
        return found

    def _is_over(self) -> bool:
        """Nothing is left to do for the daemon and nothing to hear for the server."""
        try:
            jobs = {kind: self._client.job(id_) for kind, id_ in self._jobs.items()}
            stop = jobs.get("stop")
            if stop is not None and stop.status == "STARTED":
                self._client.cancel(stop.id)
        except Trouble:
            return False
        is_over = all(job is not None and job.is_final for job in jobs.values()) and not _held(self.daemon)
        return is_over and not _running(self.daemon.folder)

    def _input(self) -> str:
        artifacts = self._client.artifacts
        made = artifacts.create(CreateArtifactBody(type="blob")).id
        for path, content in INPUT.items():
            body = Content(lambda content=content: iter([content]), len(content), hashlib.sha256(content).hexdigest())
            artifacts.put(made, Description(path), body)
        artifacts.commit(made)
        return made

    def _kinds(self) -> Iterator[str]:
        return (kind for kind in SCRIPTS if self._processor(kind) in self.daemon.processors)

    def _processor(self, kind: str) -> str:
        """No other round's daemon offers it."""
        return f"{kind}-{self.daemon.worker_id}"


def _held(daemon: Local) -> list[str]:
    """The jobs that a daemon's journal still knows, or has still to tell of."""
    file = daemon.state / "journal.db"
    if not file.exists():
        return ["no journal"]
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as db:
        tables = db.execute("select name from sqlite_master where name in ('held', 'outbox')").fetchall()
        if len(tables) < 2:
            # killed before it had its tables
            return ["no tables"]
        rows = db.execute("select id from held union select job from outbox").fetchall()
    return [str(id_) for (id_,) in rows]


def _running(folder: Path) -> int:
    """The commands of jobs that still live."""
    mine = os.fsencode(folder) + b"/"
    lines = [line.split(b"\0") for line in _command_lines()]
    return sum(any(b"wrapper.py" in word for word in words) and any(mine in word for word in words) for words in lines)


def _command_lines() -> Iterator[bytes]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield (process / "cmdline").read_bytes()
