"""The contract of container workers as a Python client, for workers and for operators."""

import time
from collections.abc import Callable, Iterator

import msgspec

from cableferry.client import verbs
from cableferry.client.caller import Caller
from cableferry.client.errors import NotFound
from cableferry.client.http import Connection
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.client.verbs import Verbs
from cableferry.wire.opeva import FENCING, bodies

NOTHING = 204
_LONGEST_END = 2 * 1024 * 1024


class Volume(msgspec.Struct, frozen=True):
    """A folder of this machine, and where the container sees it."""

    host: str
    container: str
    mode: str = "rw"


class Dispatched(msgspec.Struct, frozen=True):
    """A job as a server hands it out; servers of other generations say less."""

    job_id: str
    config_path: str
    job_name: str = ""
    image: str = ""
    command: str = ""
    container_name: str = ""
    volumes: tuple[Volume, ...] = ()
    env: dict[str, str] = {}
    attempt_number: int | None = None
    attempt_token: str | None = None

    def __repr__(self) -> str:
        return f"Dispatched({self.job_id!r})"


class Standing(msgspec.Struct, frozen=True):
    """Where a job is, as far as its worker must know."""

    status: str
    worker_id: str | None = None
    attempt_number: int | None = None


class Info(msgspec.Struct, frozen=True):
    """What a list says of a job besides where it is."""

    job_name: str = ""
    config_path: str = ""
    target_host: str = ""


class Entry(msgspec.Struct, frozen=True):
    """One job of a list."""

    job_id: str
    status: str
    job_info: Info = Info()
    submitted_at: float | None = None
    attempt_number: int | None = None


class Opeva:
    """One server; every method is one call, repeated until it is answered or patience ends."""

    def __init__(self, caller: Caller) -> None:
        self._ask = Verbs(caller, "")

    def close(self) -> None:
        self._ask.close()

    # workers

    def next_job(self, worker_id: str) -> Dispatched | None:
        reply = self._ask.tell("/api/agent/next-job", bodies.PollBody(worker_id, [FENCING]))
        return None if reply.status == NOTHING else verbs.read(reply, Dispatched)

    def report(self, said: bodies.StatusBody) -> None:
        self._ask.tell("/api/agent/job-status", said)

    def heartbeat(self, worker_id: str, info: dict[str, msgspec.Raw]) -> None:
        self._ask.tell("/api/agent/heartbeat", bodies.HeartbeatBody(worker_id, info))

    def standing(self, job: str) -> Standing | None:
        """Where a job is, None if there is none."""
        try:
            return verbs.read(self._ask.get(f"/status/{verbs.part(job)}"), Standing)
        except NotFound:
            return None

    # operators

    def jobs(self, most: int, offset: int = 0) -> list[Entry]:
        return verbs.read(self._ask.get("/jobs" + verbs.query({"limit": most, "offset": offset or None})), list[Entry])

    def status(self, job: str) -> dict[str, object]:
        return verbs.read(self._ask.get(f"/status/{verbs.part(job)}"), dict[str, object])

    def history(self, job: str) -> list[bodies.Moved]:
        return verbs.read(self._ask.get(f"/job-history/{verbs.part(job)}"), list[bodies.Moved])

    def explain(self, job: str) -> bodies.Explained:
        return verbs.read(self._ask.get(f"/job-explain/{verbs.part(job)}"), bodies.Explained)

    def log(self, job: str) -> Iterator[bytes]:
        """What a job has written so far, byte by byte as it did."""
        with self._ask.reading(f"/file-logs/{verbs.part(job)}", {}) as streaming:
            yield from streaming.pieces()

    def log_piece(self, job: str, offset: int) -> bodies.LogsChunk:
        """The text of a log from an offset on, as much as the server gives at a time."""
        return self._piece(job, {"offset": offset})

    def log_end(self, job: str, lines: int) -> bodies.LogsChunk:
        return self._piece(job, {"tail_lines": lines, "max_bytes": _LONGEST_END})

    def _piece(self, job: str, fields: dict[str, str | int | None]) -> bodies.LogsChunk:
        return verbs.read(self._ask.get(f"/logs-chunk/{verbs.part(job)}{verbs.query(fields)}"), bodies.LogsChunk)

    def requeue(self, job: str, body: bodies.RequeueBody) -> bodies.Done:
        return self._order(job, "requeue", body)

    def fail(self, job: str, body: bodies.FailBody) -> bodies.Done:
        return self._order(job, "fail", body)

    def cancel(self, job: str, body: bodies.CancelBody) -> bodies.Done:
        return self._order(job, "cancel", body)

    def stop(self, job: str, body: bodies.StopBody) -> bodies.Done:
        return self._order(job, "stop", body)

    def delete(self, job: str, *, by_force: bool) -> None:
        self._ask.delete(f"/job/{verbs.part(job)}" + verbs.query({"force": "true" if by_force else None}))

    def _order(self, job: str, order: str, body: msgspec.Struct) -> bodies.Done:
        return verbs.read(self._ask.post(f"/ops/jobs/{verbs.part(job)}/{order}", body), bodies.Done)


def connect(
    url: str,
    scheme: Scheme,
    patience: Patience | None = None,
    pause: Callable[[float], object] = time.sleep,
) -> Opeva:
    """A client of the server at an address."""
    return Opeva(Caller(Connection(url), scheme, patience, pause))
