"""How many jobs there were in each state at earlier moments, what came and went, and how much is kept now."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

import msgspec

from cableferry.core.jobs import State
from cableferry.store.tx import EPOCH, Row, Tx, statement

STEP = timedelta(minutes=1)

_STATES = {state.value: state for state in State}
_ADD = statement(
    "sample_added",
    sqlite="INSERT INTO samples (pool, at, state, jobs) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    postgres="""INSERT INTO samples (pool, at, state, jobs)
    SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::bigint[]) ON CONFLICT DO NOTHING""",
)
_SINCE = statement(
    "samples_since",
    "SELECT at, state, jobs FROM samples WHERE pool = ? AND at >= ? AND at % CAST(? AS BIGINT) = 0 ORDER BY at",
)
_FORGET = statement("old_samples_removed", "DELETE FROM samples WHERE pool = ? AND at < ?")
_CAUSES = statement(
    "latest_causes",
    """SELECT cause, count(*) FROM (SELECT cause FROM jobs WHERE pool = ? AND state = 'failed'
    ORDER BY key DESC LIMIT ?) AS latest GROUP BY cause ORDER BY 2 DESC, 1""",
)
_ARTIFACTS = statement(
    "artifacts_summed", "SELECT count(*), CAST(coalesce(sum(size_bytes), 0) AS BIGINT) FROM artifacts"
)
_BLOBS = statement("blobs_summed", "SELECT count(*), CAST(coalesce(sum(size_bytes), 0) AS BIGINT) FROM blobs")
_DATABASE = statement(
    "database_size",
    sqlite="SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    postgres="SELECT pg_database_size(current_database())",
)
_COUNT_TRAFFIC = statement(
    "traffic_counted",
    """INSERT INTO traffic (at, received, sent) VALUES (?, ?, ?) ON CONFLICT (at) DO UPDATE
    SET received = traffic.received + excluded.received, sent = traffic.sent + excluded.sent""",
)
_TRAFFIC = statement(
    "traffic_since",
    """SELECT at / CAST(? AS BIGINT) AS step, CAST(sum(received) AS BIGINT), CAST(sum(sent) AS BIGINT) FROM traffic
    WHERE at >= ? GROUP BY 1 ORDER BY 1""",
)
_FORGET_TRAFFIC = statement("old_traffic_removed", "DELETE FROM traffic WHERE at < ?")


class Sample(msgspec.Struct, frozen=True):
    """How many jobs were in a state at a moment."""

    at: datetime
    state: State
    jobs: int


class Traffic(msgspec.Struct, frozen=True):
    """How many bytes of files came and went from a moment on."""

    at: datetime
    received: int
    sent: int


class Kept(msgspec.Struct, frozen=True):
    """How much the server keeps: artifacts, the bytes that it stores for them, and its database."""

    artifacts: int
    artifact_bytes: int
    blobs: int
    blob_bytes: int
    database_bytes: int


def add(tx: Tx, pool: str, counts: Mapping[State, int]) -> int:
    """The counts of this minute, unless somebody noted them already."""
    at = _second(tx.now) // _second(EPOCH + STEP) * _second(EPOCH + STEP)
    return tx.run_many(_ADD, [(pool, at, state.value, jobs) for state, jobs in counts.items()])


def since(tx: Tx, pool: str, start: datetime, step: timedelta) -> list[Sample]:
    """What was noted at every full step from then on."""
    rows = tx.all(_SINCE, (pool, _second(start), int(step.total_seconds())))
    return [Sample(EPOCH + timedelta(seconds=at), _STATES[state], jobs) for at, state, jobs in rows]


def forget(tx: Tx, pool: str, before: datetime) -> int:
    return tx.run(_FORGET, (pool, _second(before)))


def causes(tx: Tx, pool: str, most: int) -> dict[str | None, int]:
    """Why the latest of the failed jobs failed, the commonest cause first."""
    return dict(tx.all(_CAUSES, (pool, most)))


def kept(tx: Tx) -> Kept:
    rows = [cast(Row, tx.one(asked)) for asked in (_ARTIFACTS, _BLOBS, _DATABASE)]
    return Kept(*(number for row in rows for number in row))


def count_traffic(tx: Tx, received: int, sent: int) -> None:
    """Bytes of this minute, besides those that were noted before, of whichever server."""
    minute = _second(EPOCH + STEP)
    tx.run(_COUNT_TRAFFIC, (_second(tx.now) // minute * minute, received, sent))


def traffic(tx: Tx, start: datetime, step: timedelta) -> list[Traffic]:
    """What came and went in every step that knows of any."""
    seconds = int(step.total_seconds())
    rows = tx.all(_TRAFFIC, (seconds, _second(start) // seconds * seconds))
    return [Traffic(EPOCH + timedelta(seconds=place * seconds), *counts) for place, *counts in rows]


def forget_traffic(tx: Tx, before: datetime) -> int:
    return tx.run(_FORGET_TRAFFIC, (_second(before),))


def _second(moment: datetime) -> int:
    return int((moment - EPOCH).total_seconds())
