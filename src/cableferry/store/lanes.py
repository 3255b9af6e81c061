"""Which jobs are ready, lane by lane, which jobs a page shows, and how many there are of each kind."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cableferry.core.jobs import HELD, Filter, State
from cableferry.core.paging import Page
from cableferry.core.workers import Lane
from cableferry.store.tx import Row, Statement, Tx, moment, statement

_STATES = {state.value: state for state in State}
_NO_LANE: Lane = ("", None)
NOBODY = ""
"""In place of a worker: the jobs of a lane that are kept for no worker."""

# the order of a lane is decided here: priority, then age; SKIP LOCKED lets servers claim side by side.
# no profile is an empty one, as in the index, and so is nobody: Postgres would sort a whole lane found by IS NULL
_LANE = """SELECT key, priority FROM jobs
    WHERE pool = ? AND state = 'ready' AND processor = ? AND coalesce(profile, '') = ? AND coalesce(kept_for, '') = ?"""
_QUEUE = "SELECT key, priority FROM jobs WHERE pool = ? AND state = 'ready'"
_IN_ORDER = " ORDER BY priority DESC, key LIMIT ?"
_LANE_HEAD = statement("lane_head", _LANE + _IN_ORDER)
_LANE_LOCKED = statement(
    "lane_head_locked", sqlite=_LANE + _IN_ORDER, postgres=_LANE + _IN_ORDER + " FOR UPDATE SKIP LOCKED"
)
# each lane is cut to what the page can show of it, for Postgres would sort both whole
_CUT_LANE = f"SELECT key, priority FROM ({_LANE}{_IN_ORDER}) AS one_lane"
_TWO_LANES_PAGE = statement(
    "page_of_two_lanes",
    f"SELECT key, priority FROM ({_CUT_LANE} UNION ALL {_CUT_LANE}) AS two_lanes{_IN_ORDER} OFFSET ?",
)
_QUEUE_PAGE = statement("queue_page", _QUEUE + _IN_ORDER + " OFFSET ?")
_QUEUE_OF_PROFILE_PAGE = statement("queue_page_of_profile", _QUEUE + " AND profile = ?" + _IN_ORDER + " OFFSET ?")

# whatever worker a lane's jobs are kept for, the index begins with the first of those that are kept for none
_FIRST = statement(
    "first_of_lane",
    """SELECT key FROM jobs WHERE pool = ? AND state = 'ready' AND processor = ? AND coalesce(profile, '') = ?
    ORDER BY coalesce(kept_for, ''), priority DESC, key LIMIT 1""",
)
# one statement per state, since only a literal state lets a partial index answer; the plus keeps SQLite
# from reading all jobs in the order of their keys to find the few that are held
_PAGES = {
    state: statement(
        f"jobs_{state or 'of_all_states'}_page",
        f"""SELECT key FROM jobs WHERE pool = ? {f"AND state = '{state}'" if state else ""}
        AND (CAST(? AS TEXT) = '' OR processor = ?) AND (CAST(? AS TEXT) = '' OR profile = ?)
        ORDER BY {"+key" if state in HELD else "key"} LIMIT ? OFFSET ?""",
    )
    for state in (None, *State)
}

_TALLIES = statement(
    "tallies",
    sqlite="SELECT state, processor, profile, jobs FROM tallies WHERE pool = ? AND jobs <> 0",
    postgres="""SELECT state, processor, profile, sum(jobs)::bigint FROM (
        SELECT pool, state, processor, profile, jobs FROM tallies
        UNION ALL SELECT pool, state, processor, profile, jobs FROM tally_changes
    ) AS t WHERE pool = ? GROUP BY 1, 2, 3 HAVING sum(jobs) <> 0""",
)


def _oldest(name: str, which: str) -> Statement:
    """One step down the index per priority, whose first key is its oldest job, instead of a look at every ready job."""
    return statement(
        name,
        f"""WITH RECURSIVE levels (priority) AS (
            SELECT max(j.priority) FROM jobs j WHERE {which}
            UNION ALL
            SELECT (SELECT max(j.priority) FROM jobs j WHERE {which} AND j.priority < l.priority)
            FROM levels l WHERE l.priority IS NOT NULL
        ) SELECT min(created_at) FROM jobs WHERE key IN (
            SELECT (SELECT min(j.key) FROM jobs j WHERE {which} AND j.priority = l.priority) FROM levels l)""",
    )


_OLDEST = _oldest("oldest_ready", "j.pool = ? AND j.state = 'ready'")
_OLDEST_OF_LANE = _oldest(
    "oldest_of_lane",
    """j.pool = ? AND j.state = 'ready' AND j.processor = ? AND coalesce(j.profile, '') = ?
    AND coalesce(j.kept_for, '') = ?""",
)


class Tally(msgspec.Struct, frozen=True, gc=False):
    """How many jobs of one lane are in one state."""

    state: State
    processor: str
    profile: str | None
    jobs: int


def lane_head(tx: Tx, pool: str, lane: Lane, most: int, kept_for: str = NOBODY) -> list[Row]:
    """(key, priority) of the first ready jobs of a lane that are kept for this worker, or for nobody."""
    processor, profile = lane
    return tx.all(_LANE_HEAD, (pool, processor, profile or "", kept_for, most))


def lane_head_locked(tx: Tx, pool: str, lane: Lane, most: int, kept_for: str = NOBODY) -> list[Row]:
    """The same, kept from every other claim until this transaction ends."""
    processor, profile = lane
    return tx.all(_LANE_LOCKED, (pool, processor, profile or "", kept_for, most))


def page_of_two(tx: Tx, pool: str, lanes: Sequence[Lane], page: Page) -> list[int]:
    """Keys of the ready jobs of at most two lanes as one queue, however far into it."""
    first, second = (*lanes, _NO_LANE, _NO_LANE)[:2]
    end = page.offset + page.limit
    asked = [part for processor, profile in (first, second) for part in (pool, processor, profile or "", NOBODY, end)]
    return [row[0] for row in tx.all(_TWO_LANES_PAGE, (*asked, page.limit, page.offset))]


def queue_page(tx: Tx, pool: str, profile: str | None, page: Page) -> list[int]:
    """Keys of ready jobs of all processors."""
    if profile is None:
        return [row[0] for row in tx.all(_QUEUE_PAGE, (pool, page.limit, page.offset))]
    return [row[0] for row in tx.all(_QUEUE_OF_PROFILE_PAGE, (pool, profile, page.limit, page.offset))]


def page(tx: Tx, pool: str, wanted: Filter, page: Page) -> list[int]:
    """Keys of jobs in one state, or in all, the oldest first."""
    processor, profile = wanted.processor or "", wanted.profile or ""
    params = (pool, processor, processor, profile, profile, page.limit, page.offset)
    return [row[0] for row in tx.all(_PAGES[wanted.state], params)]


def tallies(tx: Tx, pool: str) -> list[Tally]:
    """How many jobs there are, by state and lane."""
    rows = tx.all(_TALLIES, (pool,))
    return [Tally(_STATES[state], processor, profile or None, jobs) for state, processor, profile, jobs in rows]


def first(tx: Tx, pool: str, lane: Lane) -> int | None:
    """The key of the job of a lane that comes next."""
    processor, profile = lane
    row = tx.one(_FIRST, (pool, processor, profile or ""))
    return row[0] if row else None


def oldest_of(tx: Tx, pool: str, lane: Lane) -> datetime | None:
    """Since when the oldest job of a lane waits, of those that are kept for no worker."""
    processor, profile = lane
    asked = (pool, processor, profile or "", NOBODY)
    row = tx.one(_OLDEST_OF_LANE, asked * 3)
    return moment(row[0]) if row else None


def oldest_ready(tx: Tx, pool: str) -> datetime | None:
    row = tx.one(_OLDEST, (pool, pool, pool))
    return moment(row[0]) if row else None
