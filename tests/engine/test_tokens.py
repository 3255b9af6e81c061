"""API tokens: whose, how far they reach, how long they live."""

from datetime import timedelta

import pytest

from cableferry.core.access import Person, Role
from cableferry.core.errors import Forbidden, Invalid, NotFound
from cableferry.engine import tokens, users
from cableferry.engine.tokens import Created, Wanted
from cableferry.store.tx import Store
from tests.engine.trusted import START, Clock

ANN = Person("ann", Role.MANAGER)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def people(store: Store) -> None:
    for name, role in (("ann", Role.MANAGER), ("bob", Role.EDITOR), ("root", Role.OWNER)):
        store.write(lambda tx, name=name, role=role: users.create(tx, name, role, None))


def create(store: Store, person: Person = ANN, role: Role = Role.EDITOR, life: timedelta | None = None) -> Created:
    ends = None if life is None else START + life
    return store.write(lambda tx: tokens.create(tx, person, Wanted(role, "laptop", ends)))


def whose(store: Store, text: str) -> Person | None:
    found = store.read(lambda tx: tokens.person(tx, text))
    return None if found is None else found[0]


def test_a_token_is_its_users_within_its_scope(store: Store) -> None:
    new = create(store)

    assert whose(store, new.text) == Person("ann", Role.EDITOR, token=new.token.id)
    assert new.text.startswith(f"cf_{new.token.id}_")
    assert new.text not in repr(new)


def test_a_wrong_secret_is_nobodys(store: Store) -> None:
    new = create(store)

    assert whose(store, new.text[:-1] + ("a" if new.text[-1] != "a" else "b")) is None


@pytest.mark.parametrize("text", ["", "cf_", "cf__", "cf_x_y", "x", "cf_\udcff_ä"])
def test_what_is_no_token_is_nobodys(store: Store, text: str) -> None:
    assert whose(store, text) is None


def test_a_token_ends_when_it_said(store: Store, clock: Clock) -> None:
    new = create(store, life=HOUR)
    clock.passes(hours=1)

    assert whose(store, new.text) is None


def test_a_revoked_token_is_nobodys(store: Store) -> None:
    new = create(store)

    store.write(lambda tx: tokens.revoke(tx, ANN, new.token.id))

    assert whose(store, new.text) is None


def test_a_token_never_reaches_beyond_its_user(store: Store) -> None:
    new = create(store, role=Role.MANAGER)
    store.write(lambda tx: users.set_role(tx, "ann", Role.VIEWER))

    assert whose(store, new.text) == Person("ann", Role.VIEWER, token=new.token.id)


def test_the_token_of_a_disabled_user_is_nobodys(store: Store) -> None:
    new = create(store)
    store.write(lambda tx: users.disable(tx, "ann"))

    assert whose(store, new.text) is None


def test_no_token_reaches_beyond_its_maker(store: Store) -> None:
    with pytest.raises(Forbidden, match="Manager"):
        create(store, role=Role.OWNER)


def test_a_token_made_with_a_token_lives_no_longer(store: Store) -> None:
    maker = whose(store, create(store, life=HOUR).text)
    assert maker is not None
    create(store, maker, life=HOUR)

    for life in (None, 2 * HOUR):
        with pytest.raises(Forbidden, match="no later"):
            create(store, maker, life=life)


def test_an_end_in_the_past_is_refused(store: Store) -> None:
    with pytest.raises(Invalid, match="past"):
        create(store, life=-HOUR)


def test_nobody_revokes_the_token_of_another_but_an_owner(store: Store) -> None:
    new = create(store)
    with pytest.raises(NotFound):
        store.write(lambda tx: tokens.revoke(tx, Person("bob", Role.EDITOR), new.token.id))

    store.write(lambda tx: tokens.revoke(tx, Person("root", Role.OWNER), new.token.id))

    assert whose(store, new.text) is None


def test_a_token_for_nobody_is_not_made(store: Store) -> None:
    with pytest.raises(NotFound, match="nobody"):
        store.write(lambda tx: tokens.grant(tx, "nobody", Wanted(Role.VIEWER)))


def test_the_list_is_newest_first(store: Store) -> None:
    first, second = create(store), create(store)

    found = store.read(lambda tx: tokens.find(tx, "ann"))

    assert [each.id for each in found] == [second.token.id, first.token.id]
