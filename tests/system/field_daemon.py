"""A daemon as it is in the field, call by call: what each generation asks, in its order, and what it does then."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tests.system.field_client import Answered, ClaimConflict, FieldClient, NotFound, Said

JOBS = "/api/hpc/jobs"
ARTIFACTS = "/api/hpc/artifacts"
IN_FLIGHT = ("CLAIMED", "SUBMITTED", "STARTED")
WORDS = {"RUNNING": "STARTED", "COMPLETED": "COMPLETED", "FAILED": "FAILED", "TIMEOUT": "FAILED"}


class Cluster(msgspec.Struct):
    """The site: what Slurm says at each look, the last word again and again, and what jobs left behind."""

    says: list[str] = msgspec.field(default_factory=lambda: ["RUNNING", "COMPLETED"])
    outputs: dict[str, bytes] = msgspec.field(default_factory=lambda: {"result.txt": b"42\n"})
    logs: dict[str, bytes] = msgspec.field(default_factory=lambda: {"slurm-1.out": b"done\n", "stderr.log": b""})
    progress: Mapping[str, object] | None = None
    refuses: str | None = None
    looks: dict[str, int] = {}
    staged: dict[str, bytes] = {}
    cancelled: list[str] = []

    def look(self, slurm_id: str) -> str:
        turn = self.looks.get(slurm_id, 0)
        self.looks[slurm_id] = turn + 1
        return self.says[min(turn, len(self.says) - 1)]

    def submit(self, job_id: str) -> str:
        if self.refuses is not None:
            raise RuntimeError(self.refuses)
        return f"sim-{job_id[-8:]}"


class Tracked(msgspec.Struct):
    """What the daemon remembers of a job."""

    slurm_id: str | None
    status: str
    processor: str
    profile: str
    log: str | None = None
    output: str | None = None


Tracker = dict[str, Tracked]


class FieldDaemon:
    """The tracker outlives the daemon, but for the first generation, which keeps it in memory."""

    def __init__(
        self,
        client: FieldClient,
        cluster: Cluster,
        tracker: Tracker | None = None,
        profiles: tuple[tuple[str, str], ...] = (("text embedding:v3", "gpu-medium"),),
        residence: str = "managed",
    ) -> None:
        self.client = client
        self.cluster = cluster
        self.tracker: Tracker = {} if tracker is None or client.generation == "S" else tracker
        self.errors: list[str] = []
        self._profiles = profiles
        self._residence = residence
        self._is_first = client.generation == "S"

    def once(self) -> None:
        self.start()
        self.poll()
        self.monitor()

    def start(self) -> None:
        with self._logged():
            self.register()
        self.recover()

    def cycle(self) -> None:
        self.poll()
        self.monitor()
        self.heartbeat()

    def register(self) -> None:
        offers = [{"processor": p, "profile": q, "max_concurrent_jobs": 4} for p, q in self._profiles]
        body = {"worker_id": self.client.worker, "hostname": "login-1", "capabilities": offers}
        self.client.ask("POST", "/api/hpc/workers/register", body)

    def heartbeat(self) -> None:
        with self._logged():
            try:
                self.client.ask("POST", f"/api/hpc/workers/{self.client.worker}/heartbeat")
            except NotFound:
                if self.client.generation != "N":
                    raise
                self.register()

    def recover(self) -> None:
        """The first generation asks for the wrong list, and throws it away."""
        if self._is_first:
            self.client.ask("GET", f"{JOBS}?status=PENDING")
            return
        known: Tracker = {}
        for status in IN_FLIGHT:
            for job in self.client.ask("GET", f"{JOBS}?status={status}")["items"]:
                if job["worker_id"] == self.client.worker:
                    known[job["id"]] = self._recovered(job, status)
        for job_id in [job_id for job_id in self.tracker if job_id not in known]:
            self._drop(job_id)
        self.tracker.update(known)

    def _recovered(self, job: Said, status: str) -> Tracked:
        if job["id"] in self.tracker:
            self.tracker[job["id"]].status = status
            return self.tracker[job["id"]]
        if self.client.generation == "N":
            job = self.client.ask("GET", f"{JOBS}/{job['id']}")
            assert isinstance(job["claimed_at"], str)
        return Tracked(job["slurm_job_id"], status, job["processor"], job["profile"])

    def _drop(self, job_id: str) -> None:
        with self._logged():
            if self.client.ask("GET", f"{JOBS}/{job_id}")["status"] == "CANCELLED":
                self.cluster.cancelled.append(job_id)
        del self.tracker[job_id]

    def poll(self) -> None:
        for processor, profile in self._profiles:
            if len(self.tracker) >= 4:
                return
            target = f"{JOBS}?status=PENDING&processor={processor}&profile={profile}"
            for job in self.client.ask("GET", target)["items"]:
                if len(self.tracker) < 4:
                    self._claim(job["id"])

    def _claim(self, job_id: str) -> None:
        try:
            job = self.client.ask("POST", f"{JOBS}/{job_id}/claim", {"worker_id": self.client.worker})
        except ClaimConflict:
            return
        try:
            self._stage(job)
            slurm_id = self.cluster.submit(job_id)
        except (Answered, RuntimeError, ValueError) as error:
            with self._logged():
                self._report(job_id, "FAILED", detail=str(error))
            return
        self.tracker[job_id] = Tracked(slurm_id, "SUBMITTED", job["processor"], job["profile"])
        with self._logged():
            self._report(job_id, "SUBMITTED", detail=f"Slurm job {slurm_id}", slurm_job_id=slurm_id)

    def _stage(self, job: Said) -> None:
        for artifact_id in _input_ids(self.client.generation, job["inputs"]):
            artifact = self.client.ask("GET", f"{ARTIFACTS}/{artifact_id}")
            listing = f"{ARTIFACTS}/{artifact_id}/files"
            for _ in range(1 if self._is_first else 2):
                paths = [item["path"] for item in self.client.ask("GET", listing)["items"]]
            files = {path: self.client.download(f"{listing}/{path}") for path in paths}
            if not self._is_first and artifact["sha256"] != _tree_hash(files):
                raise ValueError(f"input_hash_mismatch: {artifact_id}")
            self.cluster.staged.update(files)

    def monitor(self) -> None:
        """First who was cancelled, then what became of each."""
        for job_id in list(self.tracker):
            with self._logged():
                if self.client.ask("GET", f"{JOBS}/{job_id}")["status"] == "CANCELLED":
                    self.cluster.cancelled.append(job_id)
                    del self.tracker[job_id]
        for job_id in list(self.tracker):
            with self._logged():
                self._follow(job_id, self.tracker[job_id])

    def _follow(self, job_id: str, job: Tracked) -> None:
        said = self.cluster.look(job.slurm_id or "")
        word = WORDS.get(said)
        if word is None:
            if not self._is_first:
                self._report(job_id, "SUBMITTED", detail=f"slurm_state={said}; reason=Resources; queued=300s")
        elif word == "STARTED":
            self._start_or_progress(job_id, job, said)
        else:
            if job.status == "SUBMITTED" and not self._is_first:
                self._report(job_id, "STARTED", detail=f"slurm_state={said} (fast job, retroactive STARTED)")
                job.status = "STARTED"
            self._end(job_id, job, word, said)

    def _start_or_progress(self, job_id: str, job: Tracked, said: str) -> None:
        if job.status == "SUBMITTED":
            detail = "Slurm state: STARTED" if self._is_first else f"slurm_state={said}; node=node-05"
            self._report(job_id, "STARTED", detail=detail)
            job.status = "STARTED"
        elif self.cluster.progress is not None and not self._is_first:
            fields = self.cluster.progress if self.client.generation == "N" else {}
            self._report(job_id, "STARTED", detail="progress: train; epoch 2; 50%", **fields)

    def _end(self, job_id: str, job: Tracked, word: str, said: str) -> None:
        if self._is_first:
            output = self._bring(job_id, job, "blob", self.cluster.outputs) if word == "COMPLETED" else None
            detail = f"Slurm state: {said}; output artifact: {output}"
            self._report(job_id, word, detail=detail, output_artifact_id=output)
        else:
            job.log = job.log or self._bring(job_id, job, "log", self.cluster.logs)
            if word == "COMPLETED":
                job.output = job.output or self._bring(job_id, job, "blob", self.cluster.outputs)
            ids = {"slurm_job_id": job.slurm_id, "output_artifact_id": job.output, "log_artifact_id": job.log}
            self._report(job_id, word, "complete", detail=f"slurm_state={said}; exit_code=0:0", **ids)
        del self.tracker[job_id]

    def _bring(self, job_id: str, job: Tracked, kind: str, files: Mapping[str, bytes]) -> str | None:
        """An upload that fails is swallowed: the job ends without it."""
        with self._logged():
            described = self._described(job_id, job, kind)
            artifact = str(self.client.ask("POST", ARTIFACTS, described)["id"])
            for path, content in files.items():
                self._put(artifact, path, content)
            self._commit(artifact, files)
            return artifact
        return None

    def _described(self, job_id: str, job: Tracked, kind: str) -> dict[str, object]:
        place = {"content_url": f"file:///scratch/{job_id}/output"} if self._residence == "posix" else {}
        if self._is_first:
            about = {"format": "mixed", "metadata": {"job_id": job_id}}
            return {"type": "blob", "residence": self._residence, **about, **place}
        role = "log" if kind == "log" else "output"
        metadata = {
            "job_id": job_id,
            "processor": job.processor,
            "profile": job.profile,
            "worker_id": self.client.worker,
            "artifact_role": role,
        }
        about = {"name": f"{role}-{job_id[:8]}", "metadata": metadata}
        return {"type": kind, "residence": self._residence, **about, **place}

    def _put(self, artifact: str, path: str, content: bytes) -> None:
        files = f"{ARTIFACTS}/{artifact}/files"
        about = {"sha256": _hash(content), "size_bytes": len(content), "content_type": "text/plain"}
        match self._residence, self.client.generation:
            case "managed", _:
                self._check(self.client.upload(f"{files}/{path}", content), about["sha256"], len(content))
            case _, "N":
                self._check(self.client.ask("PUT", f"{files}/{path}", about), about["sha256"], len(content))
            case _, "F":
                self.client.ask("POST", files, {"path": path, **about})

    def _commit(self, artifact: str, files: Mapping[str, bytes]) -> None:
        content = b"".join(files.values())
        digest = _hash(content) if self._is_first else _tree_hash(files)
        said = self.client.ask("POST", f"{ARTIFACTS}/{artifact}/commit", {"sha256": digest, "size_bytes": len(content)})
        if self.client.generation == "N":
            assert said["status"] == "COMMITTED"
            self._check(said, digest, len(content))

    def _check(self, said: Said, digest: object, size: int) -> None:
        """The newest generation believes the server only what it knows itself."""
        if self.client.generation == "N":
            assert (said["sha256"], int(said["size_bytes"])) == (digest, size)

    def _report(self, job_id: str, status: str, verb: str = "transition", **said: Any) -> None:
        told = {name: value for name, value in said.items() if value is not None}
        body = {"status": status, "worker_id": self.client.worker, **told}
        self.client.ask("POST", f"{JOBS}/{job_id}/{verb}", body)

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except Answered as error:
            self.errors.append(str(error))


def _input_ids(generation: str, inputs: object) -> list[str]:
    """Whatever is a text in a named reference counts as an id for the newest; the others know lists only."""
    found: list[str] = []
    for each in inputs if isinstance(inputs, list) else []:
        if isinstance(each, str):
            found.append(each)
        elif "artifact_id" in each:
            found.append(each["artifact_id"])
        elif generation == "N":
            found += [value for value in each.values() if isinstance(value, str)]
    if isinstance(inputs, dict) and generation == "N":
        found += [value for value in inputs.values() if isinstance(value, str)]
    return found


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tree_hash(files: Mapping[str, bytes]) -> str:
    if len(files) == 1:
        return _hash(next(iter(files.values())))
    return _hash("".join(f"{path}:{_hash(files[path])}" for path in sorted(files)).encode())
