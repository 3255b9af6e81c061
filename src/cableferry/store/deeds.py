"""Rows of what people did besides jobs."""

from datetime import datetime

import msgspec

from cableferry.store.tx import EPOCH, Row, Tx, micros, moment, statement

_ADD = statement("deed_added", "INSERT INTO deeds (at, actor, what, about) VALUES (?, ?, ?, ?)")
_RECENT = statement(
    "recent_deeds",
    """SELECT key, at, actor, what, about FROM deeds
    WHERE at >= ? AND (at, key) < (?, ?) AND (CAST(? AS TEXT) IS NULL OR actor = ?)
    ORDER BY at DESC, key DESC LIMIT ?""",
)
_FORGET = statement("old_deeds_removed", "DELETE FROM deeds WHERE at < ?")


class Deed(msgspec.Struct, frozen=True):
    """Who did what, and to what."""

    key: int
    at: datetime
    actor: str
    what: str
    about: str | None


def add(tx: Tx, actor: str, what: str, about: str | None) -> None:
    tx.run(_ADD, (micros(tx.now), actor, what, about))


def recent(tx: Tx, since: datetime, before: tuple[int, ...], actor: str | None, most: int) -> list[Deed]:
    """Since a moment and before a place, the latest first."""
    rows = tx.all(_RECENT, (micros(since), *before, actor, actor, most))
    return [_deed(row) for row in rows]


def forget(tx: Tx, before: datetime) -> int:
    return tx.run(_FORGET, (micros(before),))


def place(deed: Deed) -> tuple[int, int]:
    """Where it stands, for whoever goes on behind it."""
    return micros(deed.at) or 0, deed.key


def _deed(row: Row) -> Deed:
    return Deed(row[0], moment(row[1]) or EPOCH, *row[2:])
