"""What the server counts, and how Prometheus reads it."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from cableferry.core import signing
from cableferry.core.errors import Refusal
from cableferry.core.jobs import HELD, State
from cableferry.server.exchange import Reply, Request
from cableferry.store import lanes
from cableferry.store.lanes import Tally
from cableferry.store.tx import Tx
from cableferry.wire.ui.overviews import SweepItem

Name = Literal[
    "cableferry_request_seconds",  # time to answer a request, by route, method and status; long polls wait here too
    "cableferry_refusals",  # refused requests, by the problem's kind
    "cableferry_jobs",  # jobs in each state, by pool and processor
    "cableferry_oldest_pending_seconds",  # how long the job that has waited longest has waited
    "cableferry_leases",  # jobs that a worker holds
    "cableferry_waiters",  # long polls that are parked in this process, and followers
    "cableferry_commit_units",  # transactions that shared one commit
    "cableferry_commit_seconds",  # time until a commit was on disk
    "cableferry_clock_skew_seconds",  # how far a worker's clock is ahead of ours, at its latest request
    "cableferry_sweeps",  # runs of each sweep, by outcome
    "cableferry_received_bytes",  # bytes of files that came, whatever became of them
    "cableferry_sent_bytes",  # bytes of files that were asked for and found
]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_UNITS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_MOST_WORKERS = 1000


class Observed(msgspec.Struct, frozen=True):
    """What the database says at the moment of a scrape, the tallies by pool."""

    tallies: Mapping[str, list[Tally]]
    oldest_ready: datetime | None
    now: datetime


class Traffic(msgspec.Struct, frozen=True):
    """Bytes of files that came and went since this process began."""

    received: int = 0
    sent: int = 0


class Latencies(Collector):
    """Requests by route, method and status; filled on the event loop alone, so it needs no lock."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], list[int]] = {}
        self._sums: dict[tuple[str, str, int], float] = {}

    def observe(self, key: tuple[str, str, int], seconds: float) -> None:
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = [0] * (len(_SECONDS) + 1)
            self._sums[key] = 0.0
        counts[bisect_left(_SECONDS, seconds)] += 1
        self._sums[key] += seconds

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(
            _named("cableferry_request_seconds"),
            "Time to answer a request.",
            labels=("route", "method", "status"),
        )
        for (route, method, status), counts in list(self._counts.items()):
            labels = (route, method, str(status))
            family.add_metric(labels, list(_cumulated(counts)), self._sums[route, method, status])
        yield family


def _cumulated(counts: Iterable[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip([*map(str, _SECONDS), "+Inf"], counts, strict=True):
        total += count
        yield bound, float(total)


class Metrics:
    """The numbers of one server process."""

    def __init__(self, waiters: Callable[[], float]) -> None:
        self._registry = registry = CollectorRegistry()
        self._latencies = Latencies()
        registry.register(self._latencies)
        self._refusals = Counter(_named("cableferry_refusals"), "Refused requests.", ["kind"], registry=registry)
        self._jobs = Gauge(_named("cableferry_jobs"), "Jobs.", ["pool", "state", "processor"], registry=registry)
        self._oldest = Gauge(
            _named("cableferry_oldest_pending_seconds"), "Age of the oldest waiting job.", registry=registry
        )
        self._leases = Gauge(_named("cableferry_leases"), "Jobs that a worker holds.", registry=registry)
        Gauge(_named("cableferry_waiters"), "Parked long polls.", registry=registry).set_function(waiters)
        self._units = Histogram(
            _named("cableferry_commit_units"), "Transactions in one commit.", buckets=_UNITS, registry=registry
        )
        self._commits = Histogram(
            _named("cableferry_commit_seconds"), "Time to commit.", buckets=_SECONDS, registry=registry
        )
        self._skew = Gauge(
            _named("cableferry_clock_skew_seconds"), "Clock ahead of ours.", ["worker"], registry=registry
        )
        self._sweeps = Counter(_named("cableferry_sweeps"), "Sweeps.", ["sweep", "outcome"], registry=registry)
        self._received = Counter(_named("cableferry_received_bytes"), "Bytes of files that came.", registry=registry)
        self._sent = Counter(_named("cableferry_sent_bytes"), "Bytes of files that went.", registry=registry)
        self._clocks: dict[str, tuple[bytes, float]] = {}
        self._runs: dict[str, SweepItem] = {}
        self.traffic = Traffic()

    def answered(self, request: Request, reply: Reply) -> None:
        route = request.route.template if request.route else "none"
        method = request.method if request.route else "any"
        self._latencies.observe((route, method, reply.status), time.perf_counter() - request.started)
        if request.is_stream or reply.streamed is not None:
            self._carried(request.streamed_bytes, reply.streamed.size_bytes if reply.streamed else 0)
        if reply.kind is not None:
            self._refusals.labels(reply.kind).inc()
        elif request.worker is not None and reply.status < 300:
            self._heard(request.worker, request.headers.get(b"x-timestamp"))

    def committed(self, units: int, seconds: float) -> None:
        self._units.observe(units)
        self._commits.observe(seconds)

    def swept(self, sweep: str, outcome: Literal["done", "failed"], seconds: float = 0.0, did: int = 0) -> None:
        self._sweeps.labels(sweep, outcome).inc()
        now, before = datetime.now(UTC), self._runs.get(sweep)
        runs, in_all = (before.runs, before.did_in_all) if before else (0, 0)
        failed_at = before.failed_at if before else None
        self._runs[sweep] = SweepItem(
            sweep, now, round(seconds, 4), did, runs + 1, in_all + did, now if outcome == "failed" else failed_at
        )

    def sweeps(self) -> list[SweepItem]:
        """The latest run of each sweep."""
        return [self._runs[name] for name in sorted(self._runs)]

    def _carried(self, received: int, sent: int) -> None:
        self._received.inc(received)
        self._sent.inc(sent)
        self.traffic = Traffic(self.traffic.received + received, self.traffic.sent + sent)

    def _heard(self, worker: str, timestamp: bytes | None) -> None:
        """Kept as it came and read at the next scrape; a made-up name gets no label of its own for ever."""
        if timestamp is not None and (worker in self._clocks or len(self._clocks) < _MOST_WORKERS):
            self._clocks[worker] = (timestamp, time.time())

    def page(self, observed: Observed) -> bytes:
        """Everything as Prometheus reads it."""
        self._jobs.clear()
        for pool, tallies in observed.tallies.items():
            for tally in tallies:
                self._jobs.labels(pool, tally.state.value, tally.processor).inc(tally.jobs)
        counted = [tally for tallies in observed.tallies.values() for tally in tallies]
        self._leases.set(sum(tally.jobs for tally in counted if tally.state in HELD))
        age = observed.now - observed.oldest_ready if observed.oldest_ready else timedelta(0)
        self._oldest.set(age.total_seconds())
        for worker, (timestamp, heard) in self._clocks.items():
            if (skew := _skew(timestamp, heard)) is not None:
                self._skew.labels(worker).set(skew)
        return generate_latest(self._registry)


def _skew(timestamp: bytes, heard: float) -> float | None:
    """How far a worker's clock is ahead; a timestamp is checked only where the protocol asks for one."""
    try:
        sent = signing.parse_timestamp(timestamp.decode("latin-1"))
    except Refusal:
        return None
    return round(signing.skew(sent, datetime.fromtimestamp(heard, UTC)), 1)


def observe(tx: Tx, pools: Iterable[str]) -> Observed:
    tallies = {pool: lanes.tallies(tx, pool) for pool in pools}
    waiting = [pool for pool, counted in tallies.items() if any(tally.state is State.READY for tally in counted)]
    oldest = [moment for pool in waiting if (moment := lanes.oldest_ready(tx, pool)) is not None]
    return Observed(tallies, min(oldest, default=None), tx.now)


def _named(name: Name) -> Name:
    """A name from the list above, checked by the type."""
    return name
