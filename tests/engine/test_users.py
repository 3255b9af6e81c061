"""Accounts: the first Owner, the last Owner, and what ends with a role or a password."""

import pytest

from cableferry.core.access import Role
from cableferry.core.errors import Conflict, Invalid, NotFound
from cableferry.engine import sessions, users
from cableferry.store import users as rows
from cableferry.store.tx import Store
from tests.engine.test_sessions import opened


def create(store: Store, name: str, role: Role = Role.OWNER) -> None:
    store.write(lambda tx: users.create(tx, name, role, "hash"))


def test_the_first_user_is_an_owner(store: Store) -> None:
    user = store.write(lambda tx: users.create_first(tx, "ann", "hash"))

    assert (user.name, user.role, user.has_password) == ("ann", Role.OWNER, True)


def test_there_is_one_first_user(store: Store) -> None:
    create(store, "ann", Role.VIEWER)

    with pytest.raises(Conflict, match="users already"):
        store.write(lambda tx: users.create_first(tx, "bob", "hash"))


def test_a_name_is_taken_once(store: Store) -> None:
    create(store, "ann")

    with pytest.raises(Conflict, match="ann already"):
        create(store, "ann")


def test_a_bad_name_is_refused(store: Store) -> None:
    with pytest.raises(Invalid, match="lower-case"):
        create(store, "Ann")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.MANAGER])
def test_the_last_owner_keeps_the_role(store: Store, role: Role) -> None:
    create(store, "ann")
    create(store, "bob", Role.MANAGER)

    with pytest.raises(Conflict, match="last Owner"):
        store.write(lambda tx: users.set_role(tx, "ann", role))


def test_the_last_owner_is_not_disabled(store: Store) -> None:
    create(store, "ann")

    with pytest.raises(Conflict, match="last Owner"):
        store.write(lambda tx: users.disable(tx, "ann"))


def test_a_disabled_owner_does_not_count_as_another(store: Store) -> None:
    create(store, "ann")
    create(store, "bob")
    store.write(lambda tx: users.disable(tx, "bob"))

    with pytest.raises(Conflict, match="last Owner"):
        store.write(lambda tx: users.disable(tx, "ann"))


def test_one_of_two_owners_may_step_back(store: Store) -> None:
    create(store, "ann")
    create(store, "bob")

    assert store.write(lambda tx: users.set_role(tx, "ann", Role.VIEWER)).role is Role.VIEWER


def test_the_last_owner_may_be_made_owner_again(store: Store) -> None:
    create(store, "ann")

    assert store.write(lambda tx: users.set_role(tx, "ann", Role.OWNER)).role is Role.OWNER


def test_whoever_is_disabled_is_signed_out_and_kept_out(store: Store) -> None:
    create(store, "ann")
    create(store, "bob")
    session = opened(store, "bob")

    store.write(lambda tx: users.disable(tx, "bob"))

    assert store.read(lambda tx: sessions.visit(tx, session.text)) is None
    assert store.read(lambda tx: rows.password_of(tx, "bob")) is None


def test_whoever_is_enabled_again_signs_in_anew(store: Store) -> None:
    create(store, "ann")
    create(store, "bob")
    session = opened(store, "bob")
    store.write(lambda tx: users.disable(tx, "bob"))

    user = store.write(lambda tx: users.enable(tx, "bob"))

    assert user.disabled_at is None
    assert store.read(lambda tx: sessions.visit(tx, session.text)) is None


def test_a_new_password_ends_every_other_session(store: Store) -> None:
    create(store, "ann")
    kept, lost = opened(store, "ann"), opened(store, "ann")

    store.write(lambda tx: users.set_password(tx, "ann", "new hash", kept.session.id))

    assert store.read(lambda tx: sessions.visit(tx, kept.text)) is not None
    assert store.read(lambda tx: sessions.visit(tx, lost.text)) is None


def test_an_unknown_user_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="nobody"):
        store.read(lambda tx: users.get(tx, "nobody"))


def test_the_list_is_by_name(store: Store) -> None:
    create(store, "bob")
    create(store, "ann", Role.VIEWER)

    assert [user.name for user in store.read(users.find)] == ["ann", "bob"]
