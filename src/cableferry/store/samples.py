"""How many jobs there were in each state at earlier moments, and how much is kept now."""

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


class Sample(msgspec.Struct, frozen=True):
    """How many jobs were in a state at a moment."""

    at: datetime
    state: State
    jobs: int


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


def _second(moment: datetime) -> int:
    return int((moment - EPOCH).total_seconds())
