"""What a daemon counts, and how Prometheus reads it; written by hand, since a head node has no library for it."""

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from cableferry import __version__
from cableferry.client import clock
from cableferry.client.http import Answered
from cableferry.daemon.config import Config
from cableferry.daemon.held import Held, Stage
from cableferry.schedulers.protocol import Accepted, Refused, Submission, Unknown


class Metric(msgspec.Struct, frozen=True):
    """One name, and what it tells."""

    name: str
    kind: Literal["counter", "gauge", "summary"]
    meaning: str


INFO = Metric("cableferry_daemon_info", "gauge", "1, with the daemon's version and the name of its worker")
JOBS = Metric("cableferry_daemon_jobs", "gauge", "jobs that it holds, by stage")
CLAIMS = Metric("cableferry_daemon_claims_total", "counter", "jobs that the server gave it")
SUBMISSIONS = Metric(
    "cableferry_daemon_submissions_total",
    "counter",
    "what came of submissions: accepted, refused, later or unknown",
)
ENDINGS = Metric("cableferry_daemon_endings_total", "counter", "jobs that were over, by how they ended")
COMMANDS = Metric(
    "cableferry_daemon_command_seconds", "summary", "time that commands of Slurm took, by program and outcome"
)
REQUESTS = Metric(
    "cableferry_daemon_request_seconds",
    "summary",
    "time until the server answered, by method and status, which is none if it did not; long polls wait here too",
)
LOOK_AGE = Metric("cableferry_daemon_look_age_seconds", "gauge", "time since it last saw its jobs at the scheduler")
ANSWER_AGE = Metric("cableferry_daemon_answer_age_seconds", "gauge", "time since an exchange with the server succeeded")
OUTBOX = Metric("cableferry_daemon_outbox", "gauge", "reports that the server has not taken yet")
SKEW = Metric("cableferry_daemon_clock_skew_seconds", "gauge", "how far the server's clock is ahead of this machine's")
DEGRADED = Metric(
    "cableferry_daemon_degraded", "gauge", "1 while something is in trouble, by side and reason; nothing otherwise"
)
BYTES = Metric(
    "cableferry_daemon_bytes_total", "counter", "bytes of inputs staged and of results stored over the network"
)
DISK = Metric(
    "cableferry_daemon_disk_free_bytes", "gauge", "room left for the daemon's state and for its jobs' folders"
)
EVERY = (
    INFO, JOBS, CLAIMS, SUBMISSIONS, ENDINGS, COMMANDS, REQUESTS, LOOK_AGE, ANSWER_AGE, OUTBOX, SKEW, DEGRADED, BYTES,
    DISK,
)  # fmt: skip

# an answer that was waited for says little of what time it is
_QUICK_SECONDS = 2.0
Labels = Mapping[str, str]
_Key = tuple[Metric, tuple[tuple[str, str], ...]]


class Now(msgspec.Struct, frozen=True):
    """How the daemon's loop stands; its instants are those of a clock that is never set."""

    stages: Mapping[Stage, int] = {}
    looked_at: float | None = None
    heard_at: float | None = None
    outbox: int = 0
    degraded: tuple[tuple[str, str], ...] = ()


class Metrics:
    """The numbers of one daemon; any thread may count."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._sums: dict[_Key, float] = {(CLAIMS, ()): 0}
        self._counts: dict[_Key, int] = {}
        self._skew: float | None = None
        self.now = Now()

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        key = metric, tuple(labels.items())
        with self._lock:
            self._sums[key] = self._sums.get(key, 0) + amount
            self._counts[key] = self._counts.get(key, 0) + 1

    def commanded(self, program: str, is_ok: bool, seconds: float) -> None:
        self.count(COMMANDS, seconds, program=program, outcome="ok" if is_ok else "failed")

    def answered(self, answer: Answered) -> None:
        status = "none" if answer.status is None else str(answer.status)
        self.count(REQUESTS, answer.seconds, method=answer.method, status=status)
        if answer.seconds < _QUICK_SECONDS and (skew := clock.skew_seconds(answer)) is not None:
            self._skew = skew

    def submitted(self, outcome: Submission) -> None:
        match outcome:
            case Accepted():
                self.count(SUBMISSIONS, outcome="accepted")
            case Refused(may_pass=may_pass):
                self.count(SUBMISSIONS, outcome="later" if may_pass else "refused")
            case Unknown():
                self.count(SUBMISSIONS, outcome="unknown")

    def ended(self, held: Held) -> None:
        ending = None if held.end is None else held.end.ending
        self.count(ENDINGS, ending="lost" if ending is None else ending.value)

    def page(self, now: float) -> str:
        """Everything as Prometheus reads it."""
        with self._lock:
            sums, counts = dict(self._sums), dict(self._counts)
        lines: list[str] = []
        for metric in EVERY:
            lines += [f"# HELP {metric.name} {metric.meaning}", f"# TYPE {metric.name} {metric.kind}"]
            lines += [_line(metric.name, labels, value) for labels, value in self._gauges(metric, now)]
            for key in sorted((key for key in sums if key[0] is metric), key=lambda key: key[1]):
                lines += _counted(metric, dict(key[1]), sums[key], counts.get(key, 0))
        return "\n".join(lines) + "\n"

    def _gauges(self, metric: Metric, now: float) -> Iterator[tuple[Labels, float]]:
        said = self.now
        if metric is INFO:
            yield {"version": __version__, "worker": self._config.worker_id, "backend": self._config.backend}, 1
        elif metric is JOBS:
            yield from (({"stage": stage.value}, said.stages.get(stage, 0)) for stage in Stage)
        elif metric is LOOK_AGE and said.looked_at is not None:
            yield {}, now - said.looked_at
        elif metric is ANSWER_AGE and said.heard_at is not None:
            yield {}, now - said.heard_at
        elif metric is OUTBOX:
            yield {}, said.outbox
        elif metric is SKEW and self._skew is not None:
            yield {}, self._skew
        elif metric is DEGRADED:
            yield from (({"side": side, "reason": reason}, 1) for side, reason in said.degraded)
        elif metric is DISK:
            yield from _rooms(self._config)


def _rooms(config: Config) -> Iterator[tuple[Labels, float]]:
    folders = {"state": config.state_dir} | ({} if config.backend == "simulate" else {"jobs": config.jobs_dir})
    for name, folder in folders.items():
        try:
            found = os.statvfs(folder)
        except OSError:
            # what cannot be asked is left out, and not told as full
            continue
        yield {"folder": name}, found.f_bavail * found.f_frsize


def _counted(metric: Metric, labels: Labels, total: float, count: int) -> list[str]:
    if metric.kind == "summary":
        return [_line(f"{metric.name}_sum", labels, total), _line(f"{metric.name}_count", labels, count)]
    return [_line(metric.name, labels, total)]


def _line(name: str, labels: Labels, value: float) -> str:
    said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{said}}} {value:.15g}" if said else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
