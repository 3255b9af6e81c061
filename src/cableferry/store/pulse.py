"""The servers' pulse, and counts folded while it beats."""

from datetime import datetime

from cableferry.store.tx import Tx, micros, moment, statement

_LAST = statement(
    "last_pulse",
    sqlite="SELECT beat_at FROM pulse WHERE one = 1",
    postgres="SELECT beat_at FROM pulse WHERE one = 1 FOR UPDATE",
)
_BEAT = statement(
    "pulse_beat",
    "INSERT INTO pulse (one, beat_at) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET beat_at = excluded.beat_at",
)
FOLDED_AT_ONCE = 50_000
_FOLD = statement(
    "tally_changes_folded",
    sqlite="DELETE FROM tallies WHERE jobs = 0 RETURNING 1",
    postgres=f"""WITH gone AS (DELETE FROM tally_changes WHERE key IN (
        SELECT key FROM tally_changes ORDER BY key LIMIT {FOLDED_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING *),
    folded AS (INSERT INTO tallies (pool, state, processor, profile, jobs)
    SELECT pool, state, processor, profile, sum(jobs) FROM gone GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (pool, state, processor, profile) DO UPDATE SET jobs = tallies.jobs + excluded.jobs)
    SELECT count(*) FROM gone""",
)


def last(tx: Tx) -> datetime | None:
    row = tx.one(_LAST)
    return moment(row[0]) if row else None


def beat(tx: Tx) -> None:
    tx.run(_BEAT, (micros(tx.now),))


def fold_tallies(tx: Tx) -> int:
    """Keep the counts short: what triggers appended becomes one row per state and lane; return how many were."""
    return sum(count for (count,) in tx.all(_FOLD))
