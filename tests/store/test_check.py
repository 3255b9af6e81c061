"""A database is looked over, and what is counted is what is there."""

import random

from cableferry.store import check, migrate
from cableferry.store.tx import Store, Tx, statement
from tests.store import rows

STATES = ("ready", "claimed", "running", "succeeded", "failed")
_MISCOUNT = statement("miscounted", "INSERT INTO tallies VALUES ('p', 'ready', 'y', '', 3)")
_MOVE_ALL = statement("all_moved", "UPDATE jobs SET state = ? WHERE state = ?")
_DELETE_ALL = statement("all_deleted", "DELETE FROM jobs WHERE state = ?")


def test_a_new_database_is_well(store: Store) -> None:
    newest = migrate.known("sqlite")[-1]

    assert check.check(store) == check.Checkup(newest.number, newest.name, [])


def test_tallies_equal_counts_after_any_moves_and_deletes(store: Store) -> None:
    chance = random.Random(7)
    for step in range(120):
        store.write(lambda tx, step=step: _stir(tx, chance, step))  # type: ignore[misc]  # step is bound

    assert check.check(store).problems == []


def _stir(tx: Tx, chance: random.Random, step: int) -> None:
    for n in range(3):
        profile = chance.choice((None, "small", "big"))
        rows.add_job(tx, f"j{step}-{n}", chance.choice(STATES), chance.choice("xy"), profile)
    job = f"j{chance.randrange(step + 1)}-{chance.randrange(3)}"
    tx.run(*chance.choice(((rows.MOVE_JOB, (chance.choice(STATES), job)), (rows.DELETE_JOB, (job,)))))
    if chance.random() < 0.1:
        tx.run(_MOVE_ALL, (chance.choice(STATES), chance.choice(STATES)))
    if chance.random() < 0.05:
        tx.run(_DELETE_ALL, (chance.choice(STATES),))


def test_a_tally_that_is_wrong_is_named(store: Store) -> None:
    store.write(lambda tx: tx.run(_MISCOUNT))

    assert check.check(store).problems == ["pool p has 0 jobs in state ready of y/-, its tally says 3"]
