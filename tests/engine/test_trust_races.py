"""Two at once on PostgreSQL: the last Owner stays, and a worker gets one credential."""

import threading
from collections.abc import Callable, Iterator

import pytest

from cableferry.core.access import Role
from cableferry.core.errors import Conflict
from cableferry.engine import credentials, users
from cableferry.store import credentials as rows
from cableferry.store.tx import Store, Tx
from cableferry.testing import stores
from cableferry.testing.postgres import Cluster
from tests.engine.trusted import seal

pytestmark = [pytest.mark.postgres, pytest.mark.race]
Work = Callable[[Tx], object]


@pytest.fixture
def shared(postgres_cluster: Cluster) -> Iterator[Store]:
    with stores.database(postgres_cluster) as url, stores.opened(url) as store:
        yield store


def side_by_side(store: Store, first: Work, second: Work) -> list[bool]:
    """Whether each went through, when the second begins before the first has committed."""
    begun, over = threading.Event(), threading.Event()
    outcome = [True, True]

    def hold(tx: Tx) -> None:
        first(tx)
        begun.set()
        over.wait(0.3)  # long enough for the second to finish, had nothing held it up

    def one(number: int, work: Work) -> None:
        try:
            store.write(work)
        except Conflict:
            outcome[number] = False

    def follow() -> None:
        begun.wait(20)
        one(1, second)
        over.set()

    threads = [threading.Thread(target=one, args=(0, hold)), threading.Thread(target=follow)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome


def test_two_owners_do_not_both_go(shared: Store) -> None:
    for name in ("ann", "bob"):
        shared.write(lambda tx, name=name: users.create(tx, name, Role.OWNER, None))

    outcome = side_by_side(shared, lambda tx: users.disable(tx, "ann"), lambda tx: users.disable(tx, "bob"))

    assert outcome == [True, False]


def test_there_is_one_first_owner(shared: Store) -> None:
    outcome = side_by_side(
        shared, lambda tx: users.create_first(tx, "ann", "hash"), lambda tx: users.create_first(tx, "bob", "hash")
    )

    assert outcome == [True, False]


def test_a_worker_gets_one_credential(shared: Store) -> None:
    def issue(tx: Tx) -> None:
        credentials.issue(tx, seal, credentials.Wanted("w1", "test"))

    assert side_by_side(shared, issue, issue) == [True, False]
    assert len(shared.read(lambda tx: rows.of_worker(tx, "w1"))) == 1
