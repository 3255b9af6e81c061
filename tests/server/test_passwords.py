"""Passwords: hashed, compared, and as slow for nobody as for somebody."""

import threading

import pytest
from argon2 import PasswordHasher

from cableferry.core.errors import Invalid
from cableferry.dialects.denials import TooMany
from cableferry.server import passwords as module
from cableferry.server.passwords import Passwords

GOOD = "the ferry leaves at dawn"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def passwords() -> Passwords:
    return Passwords(CHEAP)


def test_the_right_password_is_right(passwords: Passwords) -> None:
    stored = passwords.hash("ann", GOOD)

    assert GOOD not in stored
    assert passwords.is_right(stored, GOOD)
    assert not passwords.is_right(stored, GOOD + "x")


@pytest.mark.parametrize("stored", [None, "", "no hash"])
def test_nobody_has_a_right_password(passwords: Passwords, stored: str | None) -> None:
    assert not passwords.is_right(stored, GOOD)


def test_a_user_that_does_not_exist_costs_a_comparison_too() -> None:
    compared: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            compared.append(str(hash))
            return super().verify(hash, password)

    Passwords(Counting(time_cost=1, memory_cost=8, parallelism=1)).is_right(None, GOOD)

    assert len(compared) == 1


def test_half_a_character_is_a_wrong_password(passwords: Passwords) -> None:
    assert not passwords.is_right(passwords.hash("ann", GOOD), "\ud800")


def test_a_bad_password_is_not_hashed(passwords: Passwords) -> None:
    with pytest.raises(Invalid):
        passwords.hash("ann", "short")


def test_the_shipped_hash_is_argon2id_with_at_least_64_mib() -> None:
    stored = Passwords().hash("ann", GOOD)

    assert stored.startswith("$argon2id$")
    assert int(stored.split("m=")[1].split(",")[0]) >= 65536


def test_only_some_are_hashed_at_once() -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    class Slow(PasswordHasher):
        def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
            begun.release()
            go_on.wait(20)
            return super().hash(password, salt=salt)

    passwords = Passwords(Slow(time_cost=1, memory_cost=8, parallelism=1), patience_seconds=0.01)
    threads = [threading.Thread(target=passwords.hash, args=("ann", GOOD)) for _ in range(module.AT_ONCE)]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=20)
    try:
        with pytest.raises(TooMany):
            passwords.hash("ann", GOOD)
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
