"""Rows and places that nothing refers to any more: found a page at a time, and forgotten before they are removed."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import cast

import msgspec

from cableferry.store import files
from cableferry.store.tx import Row, Tx, micros, statement

_KEYS = "(SELECT value FROM json_each(?))"
_PG_KEYS = "(SELECT json_array_elements_text(?::json)::bigint)"
_PLACES = _KEYS
_PG_PLACES = "(SELECT json_array_elements_text(?::json))"
_NOBODY = "NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_key = {})"

# a page of all blobs, not of the loose ones: then a page costs the same however few of those there are
_LOOK = statement(
    "blobs_looked_at",
    f"""SELECT b.key, b.size_bytes, {_NOBODY.format("b.key")} FROM
    (SELECT key, size_bytes FROM blobs WHERE key > ? ORDER BY key LIMIT ?) AS b ORDER BY b.key""",
)
# whoever has one locked is about to refer to it
_LOCK = statement(
    "blobs_locked",
    sqlite=f"SELECT key FROM blobs WHERE key IN {_KEYS}",
    postgres=f"SELECT key FROM blobs WHERE key IN {_PG_KEYS} FOR UPDATE SKIP LOCKED",
)
_STILL_LOOSE = statement(
    "blobs_still_loose",
    sqlite=f"SELECT key FROM blobs WHERE key IN {_KEYS} AND {_NOBODY.format('blobs.key')}",
    postgres=f"SELECT key FROM blobs WHERE key IN {_PG_KEYS} AND {_NOBODY.format('blobs.key')}",
)
_BURY_PIECES = statement(
    "blob_pieces_buried",
    sqlite=f"""INSERT INTO dead_places (place, at) SELECT place, ? FROM blob_pieces WHERE blob_key IN {_KEYS}
    ON CONFLICT DO NOTHING""",
    postgres=f"""INSERT INTO dead_places (place, at) SELECT place, ? FROM blob_pieces WHERE blob_key IN {_PG_KEYS}
    ON CONFLICT DO NOTHING""",
)
_FORGET = statement(
    "blobs_forgotten",
    sqlite=f"DELETE FROM blobs WHERE key IN {_KEYS}",
    postgres=f"DELETE FROM blobs WHERE key IN {_PG_KEYS}",
)

_KNOWN = statement(
    "places_known",
    sqlite=f"""SELECT place FROM blob_pieces WHERE place IN {_PLACES}
    UNION ALL SELECT place FROM upload_pieces WHERE place IN {_PLACES}
    UNION ALL SELECT place FROM dead_places WHERE place IN {_PLACES}""",
    postgres=f"""SELECT place FROM blob_pieces WHERE place IN {_PG_PLACES}
    UNION ALL SELECT place FROM upload_pieces WHERE place IN {_PG_PLACES}
    UNION ALL SELECT place FROM dead_places WHERE place IN {_PG_PLACES}""",
)
# whoever is about to refer to a place is waited for, and whoever comes later sees that it is dead
_ALONE = statement("burying_alone", sqlite="SELECT 1", postgres=f"SELECT pg_advisory_xact_lock({files.REFERRING})")
_BURY = statement(
    "orphans_buried",
    sqlite="""INSERT INTO dead_places (place, at) SELECT value, 0 FROM json_each(?) WHERE true
    ON CONFLICT DO NOTHING""",
    postgres="""INSERT INTO dead_places (place, at) SELECT json_array_elements_text(?::json), 0
    ON CONFLICT DO NOTHING""",
)
_DEAD = statement("dead_places_due", "SELECT place FROM dead_places WHERE at <= ? ORDER BY at, place LIMIT ?")
_DEAD_COUNT = statement("dead_places_count", "SELECT count(*) FROM dead_places WHERE at <= ?")
# not one that another collection has just removed and remembers
_REMOVED = statement(
    "dead_places_removed",
    sqlite=f"DELETE FROM dead_places WHERE place IN {_PLACES} AND at > 0 AND at <= ?",
    postgres=f"DELETE FROM dead_places WHERE place IN {_PG_PLACES} AND at > 0 AND at <= ?",
)
_REMEMBER = statement(
    "orphans_remembered",
    sqlite=f"UPDATE dead_places SET at = ? WHERE place IN {_PLACES} AND at = 0",
    postgres=f"UPDATE dead_places SET at = ? WHERE place IN {_PG_PLACES} AND at = 0",
)
# somebody may still want to refer to what was taken for an orphan, if his server had to wait or was suspended
REMEMBERED = timedelta(days=1)


class Looked(msgspec.Struct, frozen=True):
    """A page of blobs: those that no file refers to with their sizes, and the last key, None behind the end."""

    loose: dict[int, int]
    last: int | None


def look_at_blobs(tx: Tx, after: int, most: int) -> Looked:
    rows = tx.all(_LOOK, (after, most))
    return Looked({key: size for key, size, is_loose in rows if is_loose}, rows[-1][0] if rows else None)


def bury_blobs(tx: Tx, keys: Collection[int]) -> list[int]:
    """Forget those of these blobs that nothing refers to; their places are to be removed once this is on disk."""
    locked = [row[0] for row in tx.all(_LOCK, (_json(keys),))]
    # asked again: an upload of the same bytes may have come between the look and the lock
    loose = [row[0] for row in tx.all(_STILL_LOOSE, (_json(locked),))]
    if loose:
        tx.run(_BURY_PIECES, (micros(tx.now), _json(loose)))
        tx.run(_FORGET, (_json(loose),))
    return loose


def unknown(tx: Tx, places: Collection[str]) -> set[str]:
    """Those of these places that no row refers to."""
    asked = _json(places)
    return set(places) - {row[0] for row in tx.all(_KNOWN, (asked, asked, asked))}


def bury_orphans(tx: Tx, places: Collection[str]) -> set[str]:
    """Give up those of these places that no row refers to; nobody can be reading them."""
    tx.one(_ALONE)
    orphans = unknown(tx, places)
    if orphans:
        tx.run(_BURY, (_json(orphans),))
    return orphans


def dead(tx: Tx, before: datetime, most: int) -> list[str]:
    """Places that were given up by then, the oldest first."""
    return [row[0] for row in tx.all(_DEAD, (micros(before), most))]


def dead_count(tx: Tx, before: datetime | None = None) -> int:
    """How many places that were given up by then, or by now, are still to be removed."""
    return int(cast(Row, tx.one(_DEAD_COUNT, (micros(before or tx.now),)))[0])


def forget_places(tx: Tx, places: Collection[str], before: datetime) -> None:
    """Note that what was given up by then is removed; of an orphan it is remembered for a while that it is dead."""
    tx.run(_REMOVED, (_json(places), micros(before)))
    tx.run(_REMEMBER, (micros(tx.now + REMEMBERED), _json(places)))


def _json(values: Collection[str] | Collection[int]) -> str:
    return msgspec.json.encode(list(values)).decode()
