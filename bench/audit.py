"""What a database really holds once a benchmark is over."""

from cableferry.store import connect
from cableferry.store.tx import Tx, statement

_MOVES = statement("moves", "SELECT new, count(*) FROM transitions WHERE old <> new GROUP BY new")


def moves(database: str) -> dict[str, int]:
    """How many state changes its history tells of, by the state they led to."""
    store = connect.open_store(database)
    try:
        return dict(store.read(_moves))
    finally:
        store.close()


def _moves(tx: Tx) -> list[tuple[str, int]]:
    return [(str(new), int(count)) for new, count in tx.all(_MOVES)]


def check(database: str, expected: int) -> None:
    """Stop the benchmark unless the database holds exactly the changes that were acknowledged."""
    if (held := sum(moves(database).values())) != expected:
        raise RuntimeError(f"{expected} changes were acknowledged and the database holds {held}")
