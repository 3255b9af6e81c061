"""One collection: what stalled fails, what was kept long enough goes, and bytes that nothing refers to are removed.

Rows are forgotten before bytes are removed, and places are noted as dead in between: whatever dies half-way, no row
refers to bytes that are gone, and the next collection goes on. Places are never used again, so removing one twice is
fine, and so are several collections at once.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from cableferry.core.retention import Failures, Retention
from cableferry.engine import retention
from cableferry.engine.reading import Depot
from cableferry.engine.retention import Due
from cableferry.store import leftovers
from cableferry.store.blobs import Found
from cableferry.store.tx import Tx

BLOBS_AT_ONCE = 500
PLACES_AT_ONCE = 500
# how many things a report names; it counts them all
MOST_NAMED = 1000


class Keeping(msgspec.Struct, frozen=True):
    """How long everything is kept.

    `grace` is for those who read what was just given up. An orphan is a place that no row knows: `orphans` is longer
    than any upload rests between two pieces, since another server's upload is not known here before it is whole.
    """

    retention: Retention = Retention((Failures(timedelta(days=7)),))
    patience: timedelta = timedelta(days=1)
    grace: timedelta = timedelta(hours=1)
    orphans: timedelta = timedelta(days=1)


class Orphan(msgspec.Struct, frozen=True):
    """Bytes in the store that no row knows."""

    place: str
    size_bytes: int
    modified_at: datetime


class Collected(msgspec.Struct):
    """What was done, or what would be: the first ones by name, and all of them counted."""

    failed: int = 0
    deleted: int = 0
    due: list[Due] = []
    blobs: int = 0
    blob_bytes: int = 0
    places_removed: int = 0
    places_waiting: int = 0
    orphans: int = 0
    orphan_bytes: int = 0
    orphaned: list[Orphan] = []

    def add(self, due: Due) -> None:
        self.failed += due.becomes == "failed"
        self.deleted += due.becomes == "deleted"
        if len(self.due) < MOST_NAMED:
            self.due.append(due)

    def add_blobs(self, sizes: Sequence[int]) -> None:
        self.blobs += len(sizes)
        self.blob_bytes += sum(sizes)

    def add_orphan(self, found: Found) -> None:
        self.orphans += 1
        self.orphan_bytes += found.size_bytes
        if len(self.orphaned) < MOST_NAMED:
            self.orphaned.append(Orphan(found.place, found.size_bytes, found.modified_at))


async def collect(depot: Depot, keeping: Keeping) -> Collected:
    """Everything that is due by now."""
    done = Collected()
    await _fail_stalled(depot, keeping, done)
    await _delete_due(depot, keeping, done)
    await _bury_blobs(depot, done)
    async for batch in _orphans(depot, keeping):
        buried = await depot.store.awrite(partial(leftovers.bury_orphans, places=list(batch)))
        for place in sorted(buried):
            done.add_orphan(batch[place])
    await _remove_dead(depot, keeping, done)
    done.places_waiting = await depot.store.aread(leftovers.dead_count)
    return done


async def foretell(depot: Depot, keeping: Keeping) -> Collected:
    """What a collection would do now; nothing is changed."""
    told = Collected()
    stalled = await depot.store.aread(lambda tx: retention.stalled(tx, keeping.patience, MOST_NAMED))
    for due in stalled:
        told.add(due)
    async for page in _due(depot, keeping):
        for due in page:
            told.add(due)
    async for loose in _loose(depot):
        told.add_blobs(list(loose.values()))
    async for batch in _orphans(depot, keeping):
        for found in batch.values():
            told.add_orphan(found)
    told.places_removed, all_dead = await depot.store.aread(
        lambda tx: (leftovers.dead_count(tx, tx.now - keeping.grace), leftovers.dead_count(tx))
    )
    told.places_waiting = all_dead - told.places_removed
    return told


async def _fail_stalled(depot: Depot, keeping: Keeping, done: Collected) -> None:
    while failed := await depot.store.awrite(lambda tx: retention.fail_stalled(tx, keeping.patience)):
        for due in failed:
            done.add(due)


async def _delete_due(depot: Depot, keeping: Keeping, done: Collected) -> None:
    async for page in _due(depot, keeping):
        for each in page:
            # one at a time: an artifact may have hundreds of thousands of files
            work = partial(retention.delete_due, kept=keeping.retention, id=each.artifact.id)
            due = await depot.store.awrite(work)
            if due is not None:
                done.add(due)


async def _due(depot: Depot, keeping: Keeping) -> AsyncIterator[list[Due]]:
    after: int | None = 0
    while after is not None:
        page = await depot.store.aread(partial(retention.look, kept=keeping.retention, after=after))
        if page.due:
            yield page.due
        after = page.last


async def _bury_blobs(depot: Depot, done: Collected) -> None:
    async for loose in _loose(depot):
        buried = await depot.store.awrite(partial(leftovers.bury_blobs, keys=list(loose)))
        done.add_blobs([loose[key] for key in buried])


async def _loose(depot: Depot) -> AsyncIterator[dict[int, int]]:
    """Blobs that no file refers to, with their sizes."""
    after: int | None = 0
    while after is not None:
        page = await depot.store.aread(partial(leftovers.look_at_blobs, after=after, most=BLOBS_AT_ONCE))
        if page.loose:
            yield page.loose
        after = page.last


async def _orphans(depot: Depot, keeping: Keeping) -> AsyncIterator[dict[str, Found]]:
    """Old places that no row knows; the store is listed first, so what becomes known meanwhile is seen to be."""
    async for batch in _old_places(depot, datetime.now(UTC) - keeping.orphans):
        under_way = depot.blobs.under_way()
        places = [place for place in batch if place not in under_way]
        unknown = await depot.store.aread(partial(leftovers.unknown, places=places))
        if unknown:
            yield {place: batch[place] for place in unknown}


async def _old_places(depot: Depot, cut: datetime) -> AsyncIterator[dict[str, Found]]:
    batch: dict[str, Found] = {}
    async for found in depot.blobs.places():
        if found.modified_at <= cut:
            batch[found.place] = found
        if len(batch) >= PLACES_AT_ONCE:
            yield batch
            batch = {}
    if batch:
        yield batch


async def _remove_dead(depot: Depot, keeping: Keeping, done: Collected) -> None:
    """Bytes first, then the note that they were to go: a removal that is not noted is done again."""

    def forget(tx: Tx, places: Sequence[str]) -> None:
        leftovers.forget_places(tx, places, tx.now - keeping.grace)

    while dead := await depot.store.aread(lambda tx: leftovers.dead(tx, tx.now - keeping.grace, PLACES_AT_ONCE)):
        await depot.blobs.delete(dead)
        await depot.store.awrite(partial(forget, places=dead))
        done.places_removed += len(dead)
