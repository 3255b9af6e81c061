"""A nonce signs one request, in whichever process and after any restart."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from cableferry.store import nonces
from cableferry.store.tx import Store, Tx, micros, statement
from cableferry.testing import stores

NOW = datetime(2031, 5, 6, tzinfo=UTC)
_CREDENTIAL = statement(
    "credential",
    """INSERT INTO credentials (id, worker, sealed, created_at, revoked_at, expires_at)
    VALUES (?, 'w', ?, 0, ?, ?) RETURNING key""",
)
_REVOKE = statement("credential_revoked", "UPDATE credentials SET revoked_at = 1 WHERE key = ?")


def _spend(store: Store, credential: str, nonce: str, now: datetime = NOW) -> bool:
    return store.write(lambda tx: nonces.spend(tx, credential, nonce, now))


def _issue(store: Store, revoked_at: datetime | None = None, expires_at: datetime | None = None) -> int:
    row = store.write(lambda tx: tx.one(_CREDENTIAL, ("c", b"x", micros(revoked_at), micros(expires_at))))
    assert row is not None
    return int(row[0])


def _spend_valid(store: Store, key: int, nonce: str) -> int:
    return store.write(lambda tx: nonces.spend_with_credential(tx, key, nonce, NOW))


def test_a_nonce_is_spent_once(store: Store) -> None:
    assert [_spend(store, "a", "n"), _spend(store, "a", "n"), _spend(store, "a", "m")] == [True, False, True]


def test_two_credentials_may_choose_the_same_nonce(store: Store) -> None:
    assert [_spend(store, "a", "bc"), _spend(store, "ab", "c"), _spend(store, "b", "bc")] == [True] * 3


def test_a_nonce_stays_spent_after_a_restart(url: str) -> None:
    with stores.opened(url) as store:
        _spend(store, "a", "n")

    with stores.opened(url) as again:
        assert _spend(again, "a", "n") is False


def test_of_many_at_once_one_wins_in_two_processes(url: str) -> None:
    with stores.opened(url) as one, stores.opened(url) as two, ThreadPoolExecutor(8) as pool:
        won = pool.map(lambda n: _spend((one, two)[n % 2], "a", f"{n // 8}"), range(80))

        assert sum(won) == 10


def test_what_no_signature_can_use_any_more_is_forgotten(store: Store) -> None:
    for age in (20, 15, 1):
        _spend(store, "a", f"{age}", NOW - timedelta(minutes=age))

    forgotten = store.write(lambda tx: [nonces.purge(tx, NOW - timedelta(minutes=10), most) for most in (1, 10, 10)])

    assert forgotten == [1, 1, 0]
    assert _spend(store, "a", "1") is False


def test_a_valid_credential_spends_its_nonce_once(store: Store) -> None:
    key = _issue(store, expires_at=NOW + timedelta(seconds=1))

    assert [_spend_valid(store, key, "n"), _spend_valid(store, key, "n")] == [1, 0]


@pytest.mark.parametrize(("revoked_at", "expires_at"), [(NOW, None), (None, NOW)], ids=["revoked", "expired"])
def test_a_credential_that_is_not_valid_spends_nothing(
    store: Store, revoked_at: datetime | None, expires_at: datetime | None
) -> None:
    key = _issue(store, revoked_at, expires_at)

    assert _spend_valid(store, key, "n") == 0


def test_an_unknown_credential_spends_nothing(store: Store) -> None:
    assert _spend_valid(store, 99, "n") == 0


def test_a_revocation_counts_at_once_in_another_process(url: str) -> None:
    with stores.opened(url) as one, stores.opened(url) as two:
        key = _issue(one)
        before = _spend_valid(two, key, "n")
        one.write(lambda tx: tx.run(_REVOKE, (key,)))

        assert (before, _spend_valid(two, key, "m")) == (1, 0)


def test_a_refused_request_has_spent_its_nonce(store: Store) -> None:
    def spend(tx: Tx) -> None:
        nonces.spend(tx, "a", "n", NOW)

    def refuse(tx: Tx) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        store.write(refuse, guard=spend)

    assert _spend(store, "a", "n") is False
