"""A server with our extensions: one round trip per cycle, and long polls between them."""

from collections.abc import Collection, Sequence

import msgspec

from cableferry.client.answers import Job
from cableferry.client.emx2 import Emx2, Filter
from cableferry.daemon.journal import Entry
from cableferry.daemon.upstreams import plain
from cableferry.daemon.upstreams.protocol import Get, Give
from cableferry.wire.emx2.bodies import (
    LONGEST_TROUBLE,
    Extensions,
    Gone,
    NoClaims,
    ReportResult,
    SyncBody,
    SyncReport,
    TransitionBody,
)

# often enough to stop a job within a second, and to keep a session alive
BUSY_SECONDS = 0.5
IDLE_SECONDS = 20.0
# what a server takes in one round trip, and gives: the next one brings the rest
MOST_CLAIMS = 250
MOST_HELD = 10_000

_REVOKED = "session-revoked"
# after these a lease is no longer ours, whatever we still run
_LOST = frozenset({"stale-lease", "already-ended", "unknown-job", "deleted-job"})


class Synced:
    """One worker at one server."""

    def __init__(self, client: Emx2, worker_id: str, extensions: Extensions) -> None:
        self._client = client
        self.has_logs = extensions.logs is not None
        self._worker_id = worker_id
        self._told = 0
        self._wait_seconds = min(50, extensions.long_poll_seconds)

    def exchange(self, give: Give) -> Get:
        reports = [_report(entry) for entry in give.reports]
        trouble = None if give.trouble is None else give.trouble.replace("\0", "")[:LONGEST_TROUBLE]
        body = SyncBody(reports, self._page(give.holding), min(give.room, MOST_CLAIMS), trouble)
        answer = self._client.sync(self._worker_id, body)
        results = list(zip(give.reports, answer.reports, strict=False))
        return Get(
            frozenset(entry.number for entry, result in results if result.code < 500),
            tuple(answer.claimed),
            _stopped(answer.stop, [result for _, result in results]),
            frozenset(answer.watched),
            _displaced(answer.no_claims),
        )

    def _page(self, holding: Sequence[str]) -> list[str]:
        """As many as a server hears of at once, another part of them each time."""
        if len(holding) <= MOST_HELD:
            return list(holding)
        begin = self._told % len(holding)
        self._told = begin + MOST_HELD
        return [*holding, *holding][begin : self._told]

    def wait(self, processor: str) -> bool:
        return bool(self._client.page(Filter("PENDING", processor), 1, wait=self._wait_seconds).items)

    def mine(self, but: Collection[str]) -> list[Job]:
        return plain.held_by(self._client, self._worker_id, but)

    def pause_seconds(self, is_busy: bool) -> float:
        return BUSY_SECONDS if is_busy else IDLE_SECONDS


def _report(entry: Entry[TransitionBody]) -> SyncReport:
    return SyncReport(job_id=entry.job, **msgspec.structs.asdict(entry.report))


def _displaced(no_claims: NoClaims | None) -> str | None:
    """Who has our place, if that is why nothing could be claimed; a drained daemon keeps its own."""
    return no_claims.detail if no_claims is not None and no_claims.kind == _REVOKED else None


def _stopped(gone: list[Gone], results: list[ReportResult]) -> frozenset[str]:
    return frozenset({one.job_id for one in gone} | {one.job_id for one in results if one.kind in _LOST})
