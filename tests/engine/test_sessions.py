"""Browser sessions: how long they live, and how guessing is slowed."""

from datetime import timedelta

import pytest

from cableferry.core import accounts
from cableferry.core.access import Role
from cableferry.core.errors import NotFound
from cableferry.engine import sessions, users
from cableferry.engine.sessions import Attempt, Opened, Patience
from cableferry.store import users as rows
from cableferry.store.tx import Store
from tests.engine.trusted import Clock

IDLE = timedelta(hours=1)
PATIENCE = Patience(3, timedelta(minutes=15))
ANN = Attempt("ann", "10.0.0.1")


@pytest.fixture
def ann(store: Store) -> str:
    store.write(lambda tx: users.create(tx, "ann", Role.EDITOR, "hash"))
    return "ann"


def opened(store: Store, name: str) -> Opened:
    found = store.write(lambda tx: sessions.open_for(tx, name, "a browser", IDLE))
    assert found is not None
    return found


def tries(store: Store, count: int, attempt: Attempt = ANN) -> list[timedelta | None]:
    return [store.write(lambda tx: sessions.count(tx, attempt, PATIENCE)) for _ in range(count)]


def test_a_cookie_leads_to_its_user_and_role(store: Store, ann: str) -> None:
    session = opened(store, ann)

    visit = store.read(lambda tx: sessions.visit(tx, session.text))

    assert visit is not None
    assert (visit.session, visit.role) == (session.session, Role.EDITOR)
    assert session.text not in repr(session)


@pytest.mark.parametrize("text", ["", "x", "ä", "\udcff"])
def test_any_other_cookie_leads_nowhere(store: Store, ann: str, text: str) -> None:
    opened(store, ann)

    assert store.read(lambda tx: sessions.visit(tx, text)) is None


def test_a_session_ends_when_nobody_uses_it(store: Store, clock: Clock, ann: str) -> None:
    session = opened(store, ann)
    clock.passes(hours=1)

    assert store.read(lambda tx: sessions.visit(tx, session.text)) is None


def test_a_session_in_use_lives_on(store: Store, clock: Clock, ann: str) -> None:
    session = opened(store, ann)
    clock.passes(minutes=50)
    store.write(lambda tx: sessions.slide(tx, session.session, IDLE))
    clock.passes(minutes=50)

    assert store.read(lambda tx: sessions.visit(tx, session.text)) is not None


def test_a_session_in_use_ends_after_its_whole_life(store: Store, clock: Clock, ann: str) -> None:
    session = opened(store, ann)
    clock.now += accounts.SESSION_LIFE - timedelta(minutes=10)
    store.write(lambda tx: sessions.slide(tx, session.session, IDLE))
    clock.passes(minutes=10)

    assert store.read(lambda tx: sessions.visit(tx, session.text)) is None


def test_a_session_of_a_disabled_user_leads_nowhere(store: Store, clock: Clock, ann: str) -> None:
    session = opened(store, ann)
    key = store.read(lambda tx: users.get(tx, ann)).key

    store.write(lambda tx: rows.set_disabled(tx, key, clock.now))

    assert store.read(lambda tx: sessions.visit(tx, session.text)) is None
    assert store.write(lambda tx: sessions.open_for(tx, ann, None, IDLE)) is None


def test_nobody_gets_a_session_under_an_unknown_name(store: Store) -> None:
    assert store.write(lambda tx: sessions.open_for(tx, "nobody", None, IDLE)) is None


def test_signing_out_everywhere_ends_all(store: Store, ann: str) -> None:
    opened(store, ann)
    opened(store, ann)

    assert store.write(lambda tx: sessions.end_all(tx, ann)) == 2
    assert store.read(lambda tx: sessions.find(tx, ann)) == []


def test_nobody_ends_the_session_of_another(store: Store, ann: str) -> None:
    session = opened(store, ann)

    with pytest.raises(NotFound):
        store.write(lambda tx: sessions.end(tx, "bob", session.session.id))

    assert len(store.read(lambda tx: sessions.find(tx, ann))) == 1


def test_some_failures_are_free_and_then_each_wait_is_longer(store: Store, clock: Clock) -> None:
    assert tries(store, 4) == [None, None, None, timedelta(seconds=1)]

    waits = []
    for _ in range(4):
        clock.passes(minutes=2)
        waits += tries(store, 2)[1:]

    assert waits == [timedelta(seconds=seconds) for seconds in (2, 4, 8, 16)]


def test_a_try_while_blocked_is_not_counted(store: Store, clock: Clock) -> None:
    tries(store, 10)
    clock.passes(seconds=1)

    assert tries(store, 1) == [None]


def test_a_right_password_starts_the_account_afresh(store: Store) -> None:
    tries(store, 2)
    store.write(lambda tx: sessions.forgive(tx, ANN))

    assert tries(store, 3) == [None] * 3


def test_one_account_from_many_addresses_is_slowed(store: Store) -> None:
    waits = [tries(store, 1, Attempt("ann", f"10.0.0.{n}"))[0] for n in range(4)]

    assert waits == [None, None, None, timedelta(seconds=1)]


def test_many_accounts_from_one_address_are_slowed(store: Store) -> None:
    waits = [tries(store, 1, Attempt(f"user{n}", "10.0.0.1"))[0] for n in range(13)]

    assert waits == [None] * 12 + [timedelta(seconds=1)]


def test_a_right_password_does_not_wash_an_address_clean(store: Store) -> None:
    for n in range(11):
        tries(store, 1, Attempt(f"user{n}", ANN.address))
    tries(store, 1)
    store.write(lambda tx: sessions.forgive(tx, ANN))
    tries(store, 1, Attempt("other", ANN.address))

    assert tries(store, 1, Attempt("another", ANN.address)) == [timedelta(seconds=1)]


def test_failures_are_forgotten_after_an_hour(store: Store, clock: Clock) -> None:
    tries(store, 3)
    clock.passes(hours=1, seconds=1)

    assert tries(store, 3) == [None] * 3


def test_what_has_ended_is_purged(store: Store, clock: Clock, ann: str) -> None:
    opened(store, ann)
    tries(store, 1)
    clock.passes(hours=2)

    assert store.write(sessions.purge) == 3
