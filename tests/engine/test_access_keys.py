"""Access keys: whose, how far they reach, how long they live, and who may see and end them."""

from datetime import timedelta

import pytest

from cableferry.core.access import Caller, Claimant, Person, Role
from cableferry.core.errors import Forbidden, Invalid, Kind, NotFound
from cableferry.engine import access_keys, tokens, users
from cableferry.engine.access_keys import Issued, Wanted
from cableferry.store.tx import Store
from tests.engine.trusted import START, Clock, seal

ANN = Person("ann", Role.MANAGER)
BOB = Person("bob", Role.EDITOR)
ROOT = Person("root", Role.OWNER)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def people(store: Store) -> None:
    for person in (ANN, BOB, ROOT):
        store.write(lambda tx, person=person: users.create(tx, person.name, person.role, None))


def issue(store: Store, person: Person = BOB, **wanted: object) -> Issued:
    return store.write(lambda tx: access_keys.issue(tx, seal, person, Wanted(**wanted)))


def whose(store: Store, id: str) -> Caller | None:
    found = store.read(lambda tx: access_keys.proof(tx, id))
    return None if found is None else access_keys.caller(found)


def test_a_key_is_its_users_as_far_as_the_user_reaches(store: Store) -> None:
    new = issue(store, may_write=True, label="laptop")

    assert BOB == whose(store, new.key.id)
    assert (True, "laptop", "user:bob", START) == (
        new.key.may_write,
        new.key.label,
        new.key.created_by,
        new.key.created_at,
    )


def test_a_key_of_a_worker_is_the_workers(store: Store) -> None:
    new = issue(store, ANN, worker="head-1")

    assert Claimant("head-1", new.key.id) == whose(store, new.key.id)


def test_its_secret_is_sealed_for_this_key_and_shown_nowhere(store: Store) -> None:
    new = issue(store)
    proof = store.read(lambda tx: access_keys.proof(tx, new.key.id))

    assert proof is not None
    assert seal(new.secret.encode(), access_keys.about(new.key.id)) == proof.box
    assert new.secret not in repr(new)


def test_two_keys_have_nothing_in_common(store: Store) -> None:
    first, second = issue(store), issue(store)

    assert first.key.id != second.key.id
    assert first.secret != second.secret


def test_a_key_ends_when_it_said(store: Store, clock: Clock) -> None:
    new = issue(store, expires_at=START + HOUR)
    clock.passes(hours=1)

    assert whose(store, new.key.id) is None


def test_a_key_that_would_have_ended_before_it_began_is_refused(store: Store) -> None:
    with pytest.raises(Invalid):
        issue(store, expires_at=START)


def test_an_unknown_key_is_nobodys(store: Store) -> None:
    assert whose(store, "CF0") is None


def test_a_key_never_reaches_beyond_its_user(store: Store) -> None:
    new = issue(store, ANN)
    store.write(lambda tx: users.set_role(tx, "ann", Role.VIEWER))

    assert Person("ann", Role.VIEWER) == whose(store, new.key.id)


def test_a_key_does_not_grow_with_its_user(store: Store) -> None:
    new = issue(store)
    store.write(lambda tx: users.set_role(tx, "bob", Role.OWNER))

    assert BOB == whose(store, new.key.id)


def test_the_key_of_a_disabled_user_is_nobodys(store: Store) -> None:
    new = issue(store)
    store.write(lambda tx: users.disable(tx, "bob"))

    assert whose(store, new.key.id) is None


def test_a_key_made_with_a_token_neither_reaches_further_nor_lives_longer(store: Store) -> None:
    token = store.write(lambda tx: tokens.create(tx, ANN, tokens.Wanted(Role.VIEWER, None, START + HOUR))).token
    caller = Person("ann", Role.VIEWER, token=token.id)
    new = issue(store, caller, expires_at=START + HOUR)

    assert Person("ann", Role.VIEWER) == whose(store, new.key.id)
    for ends in (None, START + 2 * HOUR):
        with pytest.raises(Forbidden):
            issue(store, caller, expires_at=ends)


def test_a_key_of_a_worker_needs_a_manager(store: Store) -> None:
    with pytest.raises(Forbidden):
        issue(store, BOB, worker="head-1")


def test_a_key_of_nobody_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        issue(store, Person("ghost", Role.OWNER))


@pytest.mark.parametrize(
    ("person", "user", "worker", "seen"),
    [
        (BOB, None, None, 1),
        (BOB, "bob", None, 1),
        (ROOT, "bob", None, 1),
        (ANN, None, None, 0),
        (ANN, None, "head-1", 1),
        (ANN, None, "head-2", 0),
    ],
)
def test_everybody_sees_their_own_an_owner_all_and_a_manager_those_of_workers(
    store: Store, person: Person, user: str | None, worker: str | None, seen: int
) -> None:
    issue(store)
    issue(store, ANN, worker="head-1")

    assert seen == len(store.read(lambda tx: access_keys.find(tx, person, user, worker)))


@pytest.mark.parametrize(("person", "user", "worker"), [(ANN, "bob", None), (BOB, None, "head-1")])
def test_others_keys_are_not_shown(store: Store, person: Person, user: str | None, worker: str | None) -> None:
    with pytest.raises(Forbidden):
        store.read(lambda tx: access_keys.find(tx, person, user, worker))


@pytest.mark.parametrize(("by", "worker"), [(BOB, None), (ROOT, None), (ANN, "head-1"), (ROOT, "head-1")])
def test_a_key_is_ended_by_its_user_or_an_owner_and_a_workers_by_a_manager(
    store: Store, clock: Clock, by: Person, worker: str | None
) -> None:
    new = issue(store, ANN if worker else BOB, worker=worker)
    revoked = store.write(lambda tx: access_keys.revoke(tx, by, new.key.id))
    clock.passes(hours=1)
    again = store.write(lambda tx: access_keys.revoke(tx, by, new.key.id))

    assert whose(store, new.key.id) is None
    assert START == revoked.revoked_at == again.revoked_at


@pytest.mark.parametrize(("by", "worker"), [(ANN, None), (BOB, "head-1")])
def test_nobody_else_ends_a_key(store: Store, by: Person, worker: str | None) -> None:
    new = issue(store, ANN if worker else BOB, worker=worker)
    with pytest.raises(NotFound) as refused:
        store.write(lambda tx: access_keys.revoke(tx, by, new.key.id))

    assert Kind.UNKNOWN_ACCESS_KEY is refused.value.kind
    assert whose(store, new.key.id) is not None
