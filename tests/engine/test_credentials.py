"""Issuing, rotating and revoking the credentials of workers."""

from datetime import timedelta

import pytest

from cableferry.core.credentials import Standing, standing
from cableferry.core.errors import Conflict, Forbidden, Invalid, NotFound
from cableferry.engine import credentials
from cableferry.engine.credentials import Issued, Wanted
from cableferry.store import credentials as rows
from cableferry.store.tx import News, Store
from tests.engine.trusted import START, Clock, seal

WANTED = Wanted("w1", "user:ann", "rack 7")
NO_GRACE = timedelta(0)


def issue(store: Store, wanted: Wanted = WANTED) -> Issued:
    return store.write(lambda tx: credentials.issue(tx, seal, wanted))


def rotate(store: Store, grace: timedelta = NO_GRACE) -> Issued:
    return store.write(lambda tx: credentials.rotate(tx, seal, WANTED, grace))


def usable(store: Store, clock: Clock) -> list[str]:
    return [each.id for each in store.read(lambda tx: rows.usable(tx, "w1", clock.now))]


def test_a_secret_is_long_stored_sealed_and_in_no_repr(store: Store, clock: Clock) -> None:
    new = issue(store)

    [sealed] = store.read(lambda tx: rows.usable(tx, "w1", clock.now))
    assert len(new.secret) >= 43
    assert sealed.box == seal(new.secret.encode(), credentials.about(new.credential.id, "w1"))
    assert new.secret not in repr(new)


def test_a_second_one_beside_an_active_one_is_refused(store: Store) -> None:
    issue(store)

    with pytest.raises(Conflict, match="rotate or revoke"):
        issue(store)


def test_after_the_last_one_ended_another_is_issued(store: Store) -> None:
    first = issue(store)
    store.write(lambda tx: credentials.revoke(tx, "w1", first.credential.id))

    assert issue(store).credential.id != first.credential.id


def test_rotation_ends_the_old_one_at_once(store: Store, clock: Clock) -> None:
    issue(store)

    new = rotate(store)

    assert usable(store, clock) == [new.credential.id]


@pytest.mark.parametrize(("said", "kept"), [(None, "login node"), ("other node", "other node")])
def test_rotation_keeps_the_label_unless_it_says_another(store: Store, said: str | None, kept: str) -> None:
    first = Wanted("w1", "user:ann", "login node")
    store.write(lambda tx: credentials.issue(tx, seal, first))

    new = store.write(lambda tx: credentials.rotate(tx, seal, Wanted("w1", "user:ann", said), NO_GRACE))

    assert new.credential.label == kept


def test_rotation_with_grace_keeps_both_for_that_long(store: Store, clock: Clock) -> None:
    old = issue(store)

    new = rotate(store, timedelta(seconds=60))

    assert usable(store, clock) == [new.credential.id, old.credential.id]
    clock.passes(seconds=60)
    assert usable(store, clock) == [new.credential.id]


def test_a_second_rotation_does_not_renew_the_grace_of_the_first(store: Store, clock: Clock) -> None:
    old = issue(store)
    rotate(store, timedelta(seconds=60))
    clock.passes(seconds=30)

    rotate(store, timedelta(seconds=60))

    clock.passes(seconds=31)
    assert old.credential.id not in usable(store, clock)


def test_revoking_counts_at_once_and_twice_is_once(store: Store, clock: Clock) -> None:
    new = issue(store)

    first = store.write(lambda tx: credentials.revoke(tx, "w1", new.credential.id))
    clock.passes(seconds=5)
    second = store.write(lambda tx: credentials.revoke(tx, "w1", new.credential.id))

    assert first == second
    assert standing(second, clock.now) is Standing.REVOKED
    assert usable(store, clock) == []


def test_a_credential_of_another_worker_is_not_found(store: Store) -> None:
    new = issue(store)

    with pytest.raises(NotFound, match="w2"):
        store.write(lambda tx: credentials.revoke(tx, "w2", new.credential.id))


def test_an_end_in_the_past_is_refused(store: Store) -> None:
    with pytest.raises(Invalid, match="past"):
        issue(store, Wanted("w1", "user:ann", None, START))


def test_the_list_is_newest_first_and_knows_who_and_when(store: Store) -> None:
    old, new = issue(store), rotate(store)

    found = store.read(lambda tx: credentials.find(tx, "w1"))

    assert [each.id for each in found] == [new.credential.id, old.credential.id]
    assert (found[0].label, found[0].created_by, found[0].created_at) == ("rack 7", "user:ann", START)


def test_every_change_is_news_of_its_worker(store: Store) -> None:
    heard: list[News] = []
    store.on_news(heard.extend)

    new = issue(store)
    rotate(store)
    store.write(lambda tx: credentials.revoke(tx, "w1", new.credential.id))

    assert [(item.topic, item.subject) for item in heard] == [("credential", "w1")] * 3


def test_the_shared_secret_is_not_for_a_worker_that_ever_had_its_own(store: Store) -> None:
    store.read(lambda tx: credentials.check_shared_secret(tx, "w1"))
    new = issue(store)
    store.write(lambda tx: credentials.revoke(tx, "w1", new.credential.id))

    with pytest.raises(Forbidden, match="of its own"):
        store.read(lambda tx: credentials.check_shared_secret(tx, "w1"))
