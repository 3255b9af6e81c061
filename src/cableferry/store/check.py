"""Looks a database over: its version, its structure, and whether what is counted is what is there."""

import msgspec

from cableferry.store.tx import Store, Tx, statement

_VERSION = statement("schema_version", "SELECT number, name FROM migrations ORDER BY number DESC LIMIT 1")
# Postgres finds its own damage by checksums and keeps its references by itself
_DAMAGE = statement("damage", sqlite="PRAGMA integrity_check", postgres="SELECT 'ok'")
_ORPHANS = statement("orphans", sqlite="PRAGMA foreign_key_check", postgres="SELECT 'none', 0, 'none' WHERE false")
_KEPT = "SELECT pool, state, processor, profile, sum(jobs) AS kept, 0 AS counted FROM {} GROUP BY 1, 2, 3, 4"
_COUNTED = """SELECT pool, state, processor, coalesce(profile, ''), 0, count(*)
    FROM jobs GROUP BY pool, state, processor, profile"""
_DIFFER = """SELECT pool, state, processor, profile, sum(kept), sum(counted) FROM ({}) AS both_sides
    GROUP BY 1, 2, 3, 4 HAVING sum(kept) <> sum(counted) ORDER BY 1, 2, 3, 4"""
_WRONG_TALLIES = statement(
    "wrong_tallies",
    sqlite=_DIFFER.format(f"{_KEPT.format('tallies')} UNION ALL {_COUNTED}"),
    postgres=_DIFFER.format(
        f"{_KEPT.format('tallies')} UNION ALL {_KEPT.format('tally_changes')} UNION ALL {_COUNTED}"
    ),
)


class Checkup(msgspec.Struct, frozen=True):
    """The database's version, and what is wrong with it in sentences."""

    version: int
    name: str
    problems: list[str]


def version(tx: Tx) -> tuple[int, str]:
    """The last migration of the database and its name."""
    number, name = tx.one(_VERSION) or (0, "nothing")
    return number, name


def check(store: Store) -> Checkup:
    """Look at one snapshot; it may take a while on a big database and keeps nobody waiting."""
    return store.read(_look)


def _look(tx: Tx) -> Checkup:
    number, name = version(tx)
    damage = [f"the file is damaged: {found}" for (found,) in tx.all(_DAMAGE) if found != "ok"]
    orphans = [f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is gone" for row in tx.all(_ORPHANS)]
    tallies = [
        f"pool {pool} has {counted} jobs in state {state} of {processor}/{profile or '-'}, its tally says {kept}"
        for pool, state, processor, profile, kept, counted in tx.all(_WRONG_TALLIES)
    ]
    return Checkup(number, name, damage + orphans + tallies)
