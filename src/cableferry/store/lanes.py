"""Which jobs are ready, lane by lane, which jobs a page shows, and how many there are of each kind."""

from datetime import datetime

import msgspec

from cableferry.core.jobs import Filter, State
from cableferry.core.paging import Page
from cableferry.store.tx import Row, Tx, moment, statement

Lane = tuple[str, str | None]
"""The ready jobs of one (processor, profile)."""

_STATES = {state.value: state for state in State}

# the order of a lane is decided here: priority, then age; SKIP LOCKED lets servers claim side by side
_LANE = "SELECT key, priority FROM jobs WHERE pool = ? AND state = 'ready' AND processor = ? AND profile = ?"
_LANE_NONE = "SELECT key, priority FROM jobs WHERE pool = ? AND state = 'ready' AND processor = ? AND profile IS NULL"
_QUEUE = "SELECT key, priority FROM jobs WHERE pool = ? AND state = 'ready'"
_IN_ORDER = " ORDER BY priority DESC, key LIMIT ?"
_LANE_HEAD = statement("lane_head", _LANE + _IN_ORDER)
_LANE_NONE_HEAD = statement("lane_without_profile_head", _LANE_NONE + _IN_ORDER)
_LANE_LOCKED = statement(
    "lane_head_locked", sqlite=_LANE + _IN_ORDER, postgres=_LANE + _IN_ORDER + " FOR UPDATE SKIP LOCKED"
)
_LANE_NONE_LOCKED = statement(
    "lane_without_profile_head_locked",
    sqlite=_LANE_NONE + _IN_ORDER,
    postgres=_LANE_NONE + _IN_ORDER + " FOR UPDATE SKIP LOCKED",
)
_QUEUE_PAGE = statement("queue_page", _QUEUE + _IN_ORDER + " OFFSET ?")
_QUEUE_OF_PROFILE_PAGE = statement("queue_page_of_profile", _QUEUE + " AND profile = ?" + _IN_ORDER + " OFFSET ?")

# one statement per state, since only a literal state lets a partial index answer
_PAGES = {
    state: statement(
        f"jobs_{state or 'of_all_states'}_page",
        f"""SELECT key FROM jobs WHERE pool = ? {f"AND state = '{state}'" if state else ""}
        AND (CAST(? AS TEXT) = '' OR processor = ?) AND (CAST(? AS TEXT) = '' OR profile = ?)
        ORDER BY key LIMIT ? OFFSET ?""",
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
_OLDEST = statement("oldest_ready", "SELECT min(created_at) FROM jobs WHERE pool = ? AND state = 'ready'")


class Tally(msgspec.Struct, frozen=True, gc=False):
    """How many jobs of one lane are in one state."""

    state: State
    processor: str
    profile: str | None
    jobs: int


def lane_head(tx: Tx, pool: str, lane: Lane, most: int) -> list[Row]:
    """(key, priority) of the first ready jobs of a lane."""
    processor, profile = lane
    if profile is None:
        return tx.all(_LANE_NONE_HEAD, (pool, processor, most))
    return tx.all(_LANE_HEAD, (pool, processor, profile, most))


def lane_head_locked(tx: Tx, pool: str, lane: Lane, most: int) -> list[Row]:
    """The same, kept from every other claim until this transaction ends."""
    processor, profile = lane
    if profile is None:
        return tx.all(_LANE_NONE_LOCKED, (pool, processor, most))
    return tx.all(_LANE_LOCKED, (pool, processor, profile, most))


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


def oldest_ready(tx: Tx, pool: str) -> datetime | None:
    row = tx.one(_OLDEST, (pool,))
    return moment(row[0]) if row else None
